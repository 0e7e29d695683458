"""How commands end: codes, lines and documents."""

import json
from pathlib import Path

import pytest
import typer

from askbook import __version__, errors
from askbook.cli import main as cli
from askbook.cli.output import fail, print_json

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (errors.ConfigurationError("Wrong.", "Mend it."), 2),
        (errors.EmbedderMismatch("Other.", "Set it back."), 2),
        (errors.ServiceUnavailable("Away.", "Start it."), 3),
        (errors.DataDirectoryBusy("Busy.", "Wait."), 3),
        (errors.InvalidInput("Bad.", "Do better."), 4),
        (errors.NotFound("Gone.", "Look elsewhere."), 4),
        (errors.Conflict("Taken.", "Choose another."), 4),
        (errors.ValidationFailed("Short.", "Improve."), 5),
        (KeyboardInterrupt(), 130),
        (typer.Abort(), 130),
        (typer.Exit(7), 7),
    ],
)
def test_every_end_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, raised: BaseException, code: int
) -> None:
    def app(**_: object) -> None:
        raise raised

    monkeypatch.setattr(cli, "app", app)
    assert cli._run(["status"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    if isinstance(raised, errors.AskbookError):
        assert err == f"askbook: {raised.message} {raised.suggestion}\n"


@pytest.mark.parametrize(("returned", "code"), [(0, 0), (1, 1), (5, 5), (None, 0)])
def test_a_commands_own_code_is_kept(
    monkeypatch: pytest.MonkeyPatch, returned: int | None, code: int
) -> None:
    monkeypatch.setattr(cli, "app", lambda **_: returned)
    assert cli._run([]) == code


def test_errors_are_documents_with_json(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def app(**_: object) -> None:
        raise errors.NotFound("Gone.", "Look elsewhere.", {"book_id": "x"})

    monkeypatch.setattr(cli, "app", app)
    assert cli._run(["status", "--json"]) == 4
    out, err = capsys.readouterr()
    assert json.loads(out) == {
        "error": "not_found",
        "message": "Gone.",
        "suggestion": "Look elsewhere.",
        "details": {"book_id": "x"},
    }
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nonsense"], "No such command 'nonsense'. See `askbook --help`."),
        (["ask"], "Missing argument"),
        (["status", "--nonsense"], "No such option"),
        (["ask", "x", "--top-k", "many"], "integer. See `askbook --help`."),
        (["ingest", ".", "--mode", "sometimes"], "--mode"),
    ],
)
def test_bad_arguments_are_one_line_and_exit_code_4(
    capsys: Captured, arguments: list[str], told: str
) -> None:
    assert cli._run(arguments) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert len(err.strip().splitlines()) == 1


def test_the_version_is_told(capsys: Captured) -> None:
    assert cli._run(["--version"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["ask", "--help"]])
def test_help_is_exit_code_0(capsys: Captured, arguments: list[str]) -> None:
    assert cli._run(arguments) == 0
    assert "Usage:" in capsys.readouterr().out


def test_config_shows_names_and_values(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli._run(["config", "--data-dir", "somewhere"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "ASKBOOK_DATA_DIR=somewhere" in lines
    assert "AGENT_TOP_K=5" in lines
    assert "ASKBOOK_DATABASE_URL=" in lines


def test_documents_keep_their_characters(capsys: Captured) -> None:
    print_json({"text": "Größe › ✓"})
    out = capsys.readouterr().out
    assert "Größe › ✓" in out
    assert json.loads(out) == {"text": "Größe › ✓"}


def test_a_failure_without_advice_has_no_trailing_space(capsys: Captured) -> None:
    fail("Only this.", "", "conflict", as_json=False)
    assert capsys.readouterr().err == "askbook: Only this.\n"
