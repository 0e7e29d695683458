"""What reaches the log, and what must not."""

import json

import pytest
import structlog

from askbook.bootstrap.logs import configure_logs


@pytest.fixture(autouse=True)
def _restore():
    yield
    structlog.reset_defaults()


def test_a_traceback_shows_no_local_variables(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs()

    def answer(question: str) -> None:
        raise RuntimeError("the model is gone")

    try:
        answer("a question nobody else should read")
    except RuntimeError as error:
        structlog.get_logger("test").error("failed", exc_info=error)
    out, err = capsys.readouterr()
    assert out == ""
    assert "the model is gone" in err
    told = json.loads(err)["exception"]
    assert "nobody else" not in told.replace('answer("a question nobody else should read")', "")


def test_quieter_levels_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("warning")
    log = structlog.get_logger("test")
    log.info("left_out")
    log.warning("kept", chunk=3)
    assert "left_out" not in capsys.readouterr().err
    log.warning("kept", chunk=3)
    assert '"event": "kept"' in capsys.readouterr().err
