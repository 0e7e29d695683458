"""`askbook calibrate` as an author runs it, on the sample book with the built-in embedder."""

from pathlib import Path

from command_line import askbook


def test_a_book_is_calibrated_and_says_so(data_dir: Path) -> None:
    ended = askbook("calibrate", "--json", data_dir=data_dir)
    assert ended.code == 0, ended.err
    document = ended.json
    assert document["calibrated"] is True
    assert document["fingerprint"].startswith("askbook-embed/384/")
    assert document["own_cosine"] > document["foreign_cosine"]
    assert document["auroc"] > 0.9
    assert document["samples"] > 100
    assert document["measured_on"] == "questions made from the book"
    # What is shipped for the built-in embedder was fitted with readers' questions, and goes first.
    assert document["in_use"] == "shipped for this embedder"
    shown = askbook("calibrate", data_dir=data_dir)
    assert shown.code == 0
    assert "AUROC" in shown.out
    assert "made from the book" in shown.out
    status = askbook("status", "--json", data_dir=data_dir).json
    assert status["books"][0]["calibration"] == "shipped for this embedder"


def test_a_small_book_is_told_that_it_is(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "a.md").write_text("# Nodes\n\nA node is a process of a robot.\n")
    assert askbook("ingest", tmp_path / "book", data_dir=tmp_path / "data").code == 0
    ended = askbook("calibrate", "--json", data_dir=tmp_path / "data")
    assert ended.code == 0, ended.err
    assert ended.json["calibrated"] is False
    assert "too small" in ended.json["shortfall"]
    assert "The shipped calibration stays in use." in ended.complaint


def test_without_a_book_there_is_nothing_to_calibrate(tmp_path: Path) -> None:
    ended = askbook("calibrate", data_dir=tmp_path / "data")
    assert ended.code != 0
    assert "ingest" in ended.complaint
