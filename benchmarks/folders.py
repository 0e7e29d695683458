"""Which question lists are put to which corpora: every folder of the development data, and the lists that travel."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from askbook.evaluation.datasets import Dataset, Question, load_dataset

REPOSITORY = Path(__file__).resolve().parent.parent
SAMPLE_BOOK = REPOSITORY / "examples" / "physical-ai-book"
DATA = REPOSITORY.parent / "shared" / "data" / "dev"
TRAINED = REPOSITORY.parent / "shared" / "models" / "embed"
"""The embedder as training left it."""
WITH_ANSWERS = (
    "clapnq_unanswerable",
    "docs_site_chunks",
    "hf_deep_rl_mdx",
    "multiturn_doc2dial",
    "multiturn_mtrag_un",
    "robotics_course",
    "rust_book",
    "squad2_unanswerable",
)
"""Folders whose questions have gold answers."""
OFF_TOPIC = "refusal_offtopic"
OFF_TOPIC_BOOKS = ("robotics_course", "robotics_docusaurus", "rust_book", "hf_deep_rl_mdx")
ABSENT = "absent_chapter_questions.jsonl"

Kind = Literal["near_miss", "off_topic", "adversarial"]


@dataclass(frozen=True, slots=True)
class RefusalSet:
    """Answerable and unanswerable questions for one corpus."""

    name: str
    kind: Kind
    dataset: Dataset


def folders(data: Path) -> Iterator[tuple[Path, str | None]]:
    """Every folder with questions of its own, and why it is left out if it is."""
    for folder in sorted(path for path in data.iterdir() if path.is_dir()):
        if folder.name == OFF_TOPIC:
            continue
        needs_pypdf = any((folder / "docs").rglob("*.pdf")) and find_spec("pypdf") is None
        yield folder, "its PDFs need `pip install 'askbook[pdf]'`" if needs_pypdf else None


def refusal_sets(data: Path) -> Iterator[RefusalSet]:
    """Everything that measures refusal: near misses, an adversarial set, foreign questions."""
    labelled: dict[str, Kind] = {
        "clapnq_unanswerable": "near_miss",
        "multiturn_mtrag_un": "near_miss",
        "squad2_unanswerable": "adversarial",
    }
    for name, kind in labelled.items():
        if (data / name).is_dir():
            yield RefusalSet(name, kind, load_dataset(data / name))
    course = data / "robotics_course"
    if (course / ABSENT).is_file():
        lists = [course / "questions.jsonl", course / ABSENT]
        absent = load_dataset(course, questions=lists)
        yield RefusalSet("absent_chapters", "near_miss", _keeping(absent, lambda q: q.stands_alone))
    for name in OFF_TOPIC_BOOKS:
        if (data / name).is_dir() and (data / OFF_TOPIC).is_dir():
            yield RefusalSet(f"off_topic × {name}", "off_topic", off_topic_on(data, name))


def off_topic_on(data: Path, name: str) -> Dataset:
    """A book's own questions that stand alone, and foreign ones (Rust quiz rows are foreign to robotics only)."""
    lists = [data / name / "questions.jsonl", data / OFF_TOPIC / "questions.jsonl"]
    dataset = load_dataset(data / name, questions=lists)
    own = "robotics" in name

    def keep(question: Question) -> bool:
        if question.answerable:
            return question.stands_alone
        return own or not question.qid.startswith("rust-")

    return replace(_keeping(dataset, keep), name=f"off_topic × {name}")


def folder_of(name: str, kind: Kind, *, answerable: bool) -> str:
    """The folder a question of a refusal set comes from."""
    if kind == "off_topic":
        return name.split(" × ")[1] if answerable else OFF_TOPIC
    return "robotics_course" if name == "absent_chapters" else name


def _keeping(dataset: Dataset, keep: Callable[[Question], bool]) -> Dataset:
    return replace(dataset, questions=tuple(q for q in dataset.questions if keep(q)))


def balanced(questions: Sequence[Question], limit: int, seed: int) -> tuple[Question, ...]:
    """At most `limit` of each kind, answerable and not."""
    from askbook.evaluation.datasets import sample

    answerable = [q for q in questions if q.answerable]
    foreign = [q for q in questions if q.answerable is False]
    return sample(answerable, limit, seed) + sample(foreign, limit, seed)
