"""Settings come from the environment; a mistake is told in one line."""

from pathlib import Path

import pytest

from askbook.config import describe_settings, load_settings
from askbook.errors import ConfigurationError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No `.env` of the developer's."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_defaults_need_no_environment() -> None:
    settings = load_settings()
    assert settings.storage.data_dir == Path(".askbook")
    assert settings.storage.database_url is None
    assert settings.embedder.embedder == "builtin"
    assert (settings.retrieval.top_k, settings.retrieval.score_threshold) == (5, 0.0)
    assert settings.confidence.policy == "calibrated"
    assert settings.confidence.answerable_prior == 0.85
    confidence = settings.confidence
    assert (confidence.high, confidence.medium, confidence.low) == (0.85, 0.75, 0.60)
    assert (confidence.similarity_threshold, confidence.min_relevance_score) == (0.7, 0.3)
    assert confidence.strict is False
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 8321)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ASKBOOK_DATA_DIR", "elsewhere/data", "elsewhere/data"),
        ("AGENT_TOP_K", "7", 7),
        ("AGENT_SCORE_THRESHOLD", "0.25", 0.25),
        ("ASKBOOK_KEEP_GAPS", "false", False),
        ("ASKBOOK_DENSE_WEIGHT", "3", 3.0),
        ("ASKBOOK_SPARSE_WEIGHT", "0.5", 0.5),
        ("ASKBOOK_JUDGE", "false", False),
        ("ASKBOOK_CONFIDENCE_POLICY", "threshold", "threshold"),
        ("ASKBOOK_STRICT", "true", True),
        ("ASKBOOK_ANSWERABLE_PRIOR", "0.5", 0.5),
        ("ASKBOOK_CONFIDENCE_HIGH", "0.9", 0.9),
        ("ASKBOOK_CONFIDENCE_MEDIUM", "0.8", 0.8),
        ("ASKBOOK_CONFIDENCE_LOW", "0.1", 0.1),
        ("ASKBOOK_SIMILARITY_THRESHOLD", "0.4", 0.4),
        ("ASKBOOK_MIN_RELEVANCE_SCORE", "0.2", 0.2),
        ("ASKBOOK_HOST", "0.0.0.0", "0.0.0.0"),
        ("ASKBOOK_PORT", "9000", 9000),
        ("ASKBOOK_LOG_LEVEL", "debug", "debug"),
    ],
)
def test_each_name_is_read_and_shown(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: object
) -> None:
    monkeypatch.setenv(name, value)
    assert describe_settings(load_settings())[name] == expected


def test_dotenv_is_read_and_the_environment_wins(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere / ".env").write_text("AGENT_TOP_K=8\nASKBOOK_PORT=9001\nUNRELATED=x\n")
    monkeypatch.setenv("ASKBOOK_PORT", "9002")
    settings = load_settings()
    assert (settings.retrieval.top_k, settings.server.port) == (8, 9002)


def test_overrides_win_and_none_leaves_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBOOK_PORT", "9001")
    assert load_settings(port=9003, host=None).server.port == 9003
    assert load_settings(port=None).server.port == 9001


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("AGENT_TOP_K", "many", "integer"),
        ("AGENT_TOP_K", "0", "greater than or equal to 1"),
        ("AGENT_TOP_K", "101", "less than or equal to 100"),
        ("AGENT_SCORE_THRESHOLD", "high", "number"),
        ("AGENT_SCORE_THRESHOLD", "1.5", "less than or equal to 1"),
        ("ASKBOOK_EMBEDDER", "word2vec", "'builtin'"),
        ("ASKBOOK_CONFIDENCE_POLICY", "vibes", "'calibrated' or 'threshold'"),
        ("ASKBOOK_ANSWERABLE_PRIOR", "1", "less than 1"),
        ("ASKBOOK_STRICT", "perhaps", "boolean"),
        ("ASKBOOK_DENSE_WEIGHT", "-1", "greater than or equal to 0"),
        ("ASKBOOK_PORT", "70000", "less than or equal to 65535"),
        ("ASKBOOK_LOG_LEVEL", "loud", "'debug'"),
    ],
)
def test_a_bad_value_is_one_line_with_name_value_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    [line] = caught.value.message.splitlines()
    assert line.startswith(f"{name} = {value!r}: ")
    assert allowed in line
    assert caught.value.suggestion


def test_every_mistake_has_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AGENT_TOP_K", "ASKBOOK_PORT", "ASKBOOK_ANSWERABLE_PRIOR"):
        monkeypatch.setenv(name, "nonsense")
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    lines = caught.value.message.splitlines()
    assert sorted(line.split(" ")[0] for line in lines) == [
        "AGENT_TOP_K",
        "ASKBOOK_ANSWERABLE_PRIOR",
        "ASKBOOK_PORT",
    ]


def test_a_bad_override_is_told_by_its_environment_name() -> None:
    with pytest.raises(ConfigurationError, match="ASKBOOK_PORT = 0"):
        load_settings(port=0)


def test_levels_must_rise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBOOK_CONFIDENCE_LOW", "0.8")
    with pytest.raises(ConfigurationError, match=r"0\.8, 0\.75, 0\.85, but must rise"):
        load_settings()


def test_secrets_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBOOK_DATABASE_URL", "postgresql://me:hunter2@db/books")
    settings = load_settings()
    described = describe_settings(settings)
    assert described["ASKBOOK_DATABASE_URL"] == "********"
    assert "hunter2" not in f"{settings!r} {described!r}"
    url = settings.storage.database_url
    assert url is not None
    assert "hunter2" in url.get_secret_value()


def test_a_secret_that_is_wrong_is_not_shown_either() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(database_url=["hunter2"])
    assert caught.value.message.startswith("ASKBOOK_DATABASE_URL = ********: ")
    assert "hunter2" not in str(caught.value)


def test_settings_cannot_be_changed() -> None:
    settings = load_settings()
    with pytest.raises(Exception, match="frozen"):
        settings.server.port = 1  # pyright: ignore[reportAttributeAccessIssue]  # on purpose


@pytest.mark.parametrize(
    "url",
    ["foo", "mysql://u:hidden@h/n", "sqlite:///x.db", "postgresql://u:hidden@h:abc/n", "http://h"],
)
def test_a_database_that_is_no_postgresql_is_refused(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("ASKBOOK_DATABASE_URL", url)
    with pytest.raises(ConfigurationError, match=r"ASKBOOK_DATABASE_URL.*postgresql://") as caught:
        load_settings()
    assert "hidden" not in str(caught.value)
    assert "/name is needed. Correct these settings" in str(caught.value)
    assert "Value error" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["postgresql://u:p@h:5432/n", "postgres://h/n", "postgresql://u@/n?host=/tmp/socket"]
)
def test_an_address_of_postgresql_is_taken(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("ASKBOOK_DATABASE_URL", url)
    assert load_settings().storage.database_url is not None
