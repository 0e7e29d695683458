"""Settings of the language model."""

import pytest

from askbook.config import describe_settings, load_settings
from askbook.errors import ConfigurationError


@pytest.mark.spec("A42", "B6", "B8", "E40")
def test_defaults() -> None:
    model = load_settings().model
    assert (model.openai_model, model.temperature, model.max_tokens) == ("gpt-4o-mini", 0.0, None)
    assert (model.answer_timeout, model.max_tool_calls) == (60.0, 3)


@pytest.mark.spec("A42", "B7", "B69")
def test_values_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_MODEL", "llama3.1")
    monkeypatch.setenv("ASKBOOK_TEMPERATURE", "0.7")
    monkeypatch.setenv("ASKBOOK_MAX_TOOL_CALLS", "0")
    monkeypatch.setenv("OPENAI_API_KEY", "not-like-a-key")
    settings = load_settings()
    assert (settings.model.openai_model, settings.model.temperature) == ("llama3.1", 0.7)
    assert settings.model.max_tool_calls == 0
    shown = describe_settings(settings)
    assert shown["OPENAI_API_KEY"] == "********"
    assert "not-like-a-key" not in str(shown)


@pytest.mark.spec("A46", "B7")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ASKBOOK_TEMPERATURE", "1.5"),
        ("ASKBOOK_TEMPERATURE", "warm"),
        ("ASKBOOK_MAX_TOKENS", "0"),
        ("ASKBOOK_MODEL_TIMEOUT", "0"),
        ("ASKBOOK_MAX_TOOL_CALLS", "-1"),
        ("OPENAI_BASE_URL", "not a url"),
    ],
)
def test_a_malformed_value_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=name):
        load_settings()
