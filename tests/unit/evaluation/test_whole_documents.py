"""The floor that ranks whole files reads every format."""

from pathlib import Path

from askbook.evaluation.datasets import Dataset
from askbook.evaluation.questioning import _documents
from ebooks import document, epub, lines, pdf


def test_whole_files_of_every_format_are_documents(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\n*Words* of Markdown.", encoding="utf-8")
    (docs / "b.pdf").write_bytes(pdf([lines("Words on page one."), lines("Words on page two.")]))
    pages = {"c.xhtml": document("<p>Words of one.</p>"), "d.xhtml": document("<p>And two.</p>")}
    (docs / "e.epub").write_bytes(epub({**pages, "f.xhtml": document("<p>And of three.</p>")}))
    (docs / "notes.txt").write_text("not read", encoding="utf-8")
    found = {each.doc_id: each.text for each in _documents(Dataset("x", (), tmp_path))}
    assert found == {
        "a.md": "# A\n\n*Words* of Markdown.",
        "b.pdf": "Words on page one.\n\nWords on page two.",
        "e.epub": "Words of one.\n\nAnd of three.",
    }
