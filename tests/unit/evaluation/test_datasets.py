import gzip
import json
from pathlib import Path

import pytest

from askbook.errors import InvalidInput
from askbook.evaluation.corpus import as_markdown, prepare_corpus
from askbook.evaluation.datasets import Passage, find_corpus, load_dataset, read_passages, sample


def write_rows(path: Path, *rows: dict[str, object]) -> Path:
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_rows(
        tmp_path / "corpus.jsonl.gz", {"doc_id": "a#1", "title": "A", "text": "Alpha.\u2028Beta."}
    )
    write_rows(
        tmp_path / "questions.jsonl",
        {"qid": 1, "question": "What is alpha?", "answerable": True, "gold_docs": ["a#1", "b"]},
        {
            "qid": 2,
            "question": "And beta?",
            "answerable": False,
            "history": [
                {"speaker": "user", "text": "Alpha?"},
                {"speaker": "agent", "text": "Yes."},
            ],
            "kind": "near_miss",
        },
        {"qid": 3, "question": "Gamma?", "history_user": ["One", "Two"], "self_contained": False},
    )
    return tmp_path


def test_reads_questions_with_gold_history_and_groups(folder: Path) -> None:
    first, second, third = load_dataset(folder).questions
    assert (first.qid, first.answerable, dict(first.grades)) == ("1", True, {"a#1": 1, "b": 1})
    assert (second.history, second.groups) == (("Alpha?",), ("kind=near_miss",))
    assert (third.answerable, third.history, third.groups) == (
        None,
        ("One", "Two"),
        ("self_contained=false",),
    )


def test_gold_pages_are_read_and_a_folder_of_pdfs_is_a_corpus(tmp_path: Path) -> None:
    page = {"doc_id": "a.pdf", "page": 7}
    write_rows(tmp_path / "questions.jsonl", {"qid": 1, "question": "What?", "gold_pages": [page]})
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4")
    dataset = load_dataset(tmp_path)
    assert [(p.doc_id, p.page) for p in dataset.questions[0].pages] == [("a.pdf", 7)]
    assert dataset.corpus == tmp_path


def test_grades_come_from_qrels_when_there_are_any(folder: Path) -> None:
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta#1\t4\n", encoding="utf-8")
    assert dict(load_dataset(folder).questions[0].grades) == {"a#1": 4}


def test_other_lists_and_documents_replace_the_folders_own(folder: Path, tmp_path: Path) -> None:
    other = write_rows(
        tmp_path / "other.jsonl", {"qid": "x", "question": "Foreign?", "answerable": False}
    )
    book = tmp_path / "book"
    (book / "docs").mkdir(parents=True)
    dataset = load_dataset(folder, questions=[other], docs=book)
    assert [q.qid for q in dataset.questions] == ["x"]
    assert dataset.corpus == book


def test_line_separators_inside_a_passage_do_not_end_it(folder: Path) -> None:
    [passage] = read_passages(find_corpus(folder))
    assert passage.text == "Alpha.\u2028Beta."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{not json", "cannot be read"),
        ('{"qid": "1"}', "question: Field required"),
        ("", "no question"),
    ],
)
def test_a_bad_list_is_refused_with_its_reason(folder: Path, content: str, message: str) -> None:
    (folder / "questions.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match=message):
        load_dataset(folder)


def test_a_folder_without_documents_asks_for_some(tmp_path: Path) -> None:
    write_rows(tmp_path / "questions.jsonl", {"qid": "1", "question": "Foreign?"})
    with pytest.raises(InvalidInput, match="--docs"):
        load_dataset(tmp_path)


def test_a_sample_is_the_same_every_time_and_keeps_the_order(folder: Path) -> None:
    questions = load_dataset(folder).questions * 20
    chosen = sample(questions, 10)
    assert chosen == sample(questions, 10)
    assert len(chosen) == 10
    assert sample(questions, None) == questions


@pytest.mark.parametrize(
    "text", ["---\nfoo: bar\n---\nText", "{x} <b>bold</b>", "# A\n\n> b", "  indented\r\nlines"]
)
def test_odd_passages_keep_their_text_and_its_place(text: str) -> None:
    lesson, offset = as_markdown(Passage("d", 'A "quoted": title', text))
    assert lesson[offset:] == text
    assert lesson.startswith('---\ntitle: "A \\"quoted\\": title"\n---\n')


def test_passages_become_files_that_know_their_document(folder: Path, tmp_path: Path) -> None:
    corpus = prepare_corpus(find_corpus(folder), tmp_path / "cache", "embedder")
    [file] = (corpus.folder / "docs").iterdir()
    place = corpus.place(file.name)
    assert place.doc_id == "a#1"
    assert file.read_bytes().decode()[place.offset :] == "Alpha.\u2028Beta."


def test_another_content_or_embedder_gets_another_index(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = prepare_corpus(find_corpus(folder), cache, "one").data_dir
    assert prepare_corpus(find_corpus(folder), cache, "one").data_dir == first
    assert prepare_corpus(find_corpus(folder), cache, "two").data_dir != first
    write_rows(folder / "corpus.jsonl.gz", {"doc_id": "b", "text": "Other text."})
    assert prepare_corpus(find_corpus(folder), cache, "one").data_dir != first
