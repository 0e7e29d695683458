"""Question sets and corpora as they lie in a folder: `docs/` or `corpus.jsonl`, `questions.jsonl`, `qrels.tsv`."""

import gzip
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from askbook.errors import InvalidInput
from askbook.ingestion.readers.plain import READ

SEED = 20
LAYOUT = "A dataset folder holds docs/ or corpus.jsonl[.gz], questions.jsonl[.gz] and, if it has grades, qrels.tsv."


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """Characters of a document that answer a question."""

    doc_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class GoldPage:
    """A page of a PDF, counted from 1, that answers a question."""

    doc_id: str
    page: int


@dataclass(frozen=True, slots=True)
class Question:
    """One row: what is asked, whether the corpus answers it, and where."""

    qid: str
    text: str
    answerable: bool | None
    answers: tuple[str, ...] = ()
    grades: Mapping[str, int] = field(default_factory=dict[str, int])
    spans: tuple[GoldSpan, ...] = ()
    pages: tuple[GoldPage, ...] = ()
    history: tuple[str, ...] = ()
    """What the user said before, oldest first."""
    groups: tuple[str, ...] = ()
    """The breakdowns this row counts in, as `field=value`."""

    @property
    def stands_alone(self) -> bool:
        """Not one that needs its choices to be understood."""
        return "self_contained=false" not in self.groups


@dataclass(frozen=True, slots=True)
class Passage:
    """One line of a corpus file."""

    doc_id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A named question set with the place of its corpus: a folder to ingest, or a file of passages."""

    name: str
    questions: tuple[Question, ...]
    corpus: Path


def load_dataset(
    folder: Path, *, questions: Sequence[Path] = (), docs: Path | None = None
) -> Dataset:
    """Read a dataset folder; `questions` replaces its own list, `docs` its corpus."""
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is not a folder.", LAYOUT)
    files = list(questions) or [_existing(folder, "questions.jsonl")]
    grades = _read_qrels(folder / "qrels.tsv")
    rows: list[Question] = []
    for file in files:
        rows.extend(_question(row, grades) for row in _rows(file))
    if not rows:
        raise InvalidInput(f"There is no question in {', '.join(map(str, files))}.", LAYOUT)
    return Dataset(folder.resolve().name, tuple(rows), find_corpus(docs or folder))


def find_corpus(folder: Path) -> Path:
    """The corpus of a dataset: a file of passages, or a folder to be ingested as a book."""
    if folder.is_file() and ".jsonl" in folder.suffixes:
        return folder
    for name in ("corpus.jsonl", "corpus.jsonl.gz"):
        if (folder / name).is_file():
            return folder / name
    if not folder.is_dir() or not any(
        path.is_dir() or path.name.lower().endswith(READ) for path in folder.iterdir()
    ):
        raise InvalidInput(
            f"{folder} holds no documents.", "Name a corpus with --docs DIR. " + LAYOUT
        )
    return folder


def read_passages(file: Path) -> Iterator[Passage]:
    """The passages of a corpus file, in its order."""
    for row in _rows(file):
        yield Passage(str(row["doc_id"]), str(row.get("title") or ""), str(row["text"]))


def sample(
    questions: Sequence[Question], limit: int | None, seed: int = SEED
) -> tuple[Question, ...]:
    """At most `limit` questions, the same ones every time, in their own order."""
    if limit is None or limit >= len(questions):
        return tuple(questions)
    chosen = sorted(random.Random(seed).sample(range(len(questions)), limit))  # noqa: S311  # a sample, not a secret
    return tuple(questions[i] for i in chosen)


class _Span(BaseModel):
    doc_id: str
    start: int
    end: int


class _Page(BaseModel):
    doc_id: str
    page: int


class _Row(BaseModel):
    """The fields we read; sets carry many more of their own."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    qid: str
    question: str = Field(min_length=1)
    answerable: bool | None = None
    answers: list[str] | None = None
    gold_docs: list[str] | None = None
    gold_spans: list[_Span] | None = None
    gold_pages: list[_Page] | None = None
    history: list[dict[str, Any]] | None = None
    history_user: list[str] | None = None
    kind: str | None = None
    self_contained: bool | None = None


def _question(raw: dict[str, Any], grades: Mapping[str, Mapping[str, int]]) -> Question:
    try:
        row = _Row.model_validate(raw)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise InvalidInput(
            f"Question {raw.get('qid')!r}: {where}: {problem['msg']}.", LAYOUT
        ) from error
    gold = grades.get(row.qid) or dict.fromkeys(row.gold_docs or (), 1)
    said = [str(t.get("text", "")) for t in row.history or () if t.get("speaker") == "user"]
    named = {
        "kind": row.kind,
        "self_contained": None if row.self_contained is None else str(row.self_contained).lower(),
    }
    return Question(
        qid=row.qid,
        text=row.question,
        answerable=row.answerable,
        answers=tuple(row.answers or ()),
        grades=gold if row.answerable is not False else {},
        spans=tuple(GoldSpan(s.doc_id, s.start, s.end) for s in row.gold_spans or ()),
        pages=tuple(GoldPage(p.doc_id, p.page) for p in row.gold_pages or ()),
        history=tuple(row.history_user or said),
        groups=tuple(f"{name}={value}" for name, value in named.items() if value is not None),
    )


def _read_qrels(path: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines()[1:]:
            qid, doc_id, score = line.split("\t")
            grades.setdefault(qid, {})[doc_id] = int(score)
    return grades


def _existing(folder: Path, name: str) -> Path:
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise InvalidInput(
        f"There is no {name} in {folder}.", "Name a list with --questions FILE. " + LAYOUT
    )


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    try:
        text = (
            gzip.decompress(file.read_bytes()).decode()
            if file.suffix == ".gz"
            else file.read_text(encoding="utf-8")
        )
        # Not splitlines(): passages may hold other line separators inside their JSON strings.
        for line in text.split("\n"):
            if line.strip():
                yield json.loads(line)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}.", LAYOUT) from error
