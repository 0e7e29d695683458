"""The built-in weights as package data: where they are, and proof that they are what their cards say."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from askbook.errors import ConfigurationError

ModelName: TypeAlias = Literal["embed", "judge"]

_WEIGHTS, _TOKENIZER = "model_int8.onnx", "tokenizer.json"
_SHA256: dict[ModelName, dict[str, str]] = {
    "embed": {
        _WEIGHTS: "d15060f81062111b9ce9c4365a5298fbd3806d73099a13b0786db195a7737425",
        _TOKENIZER: "620a1afb42d1c3e8754ab267805cfa690915ec1dca11d06e246a5bb398962fc6",
    },
    "judge": {
        _WEIGHTS: "6411419aad17fa41012757ec9260709e24e36a8b36bb6e9b71314c57606bd9b1",
        _TOKENIZER: "6681992d43e581b35b3dd61f3c81ee0f891fbf13ad54f8b692ea868bd46b066b",
    },
}


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What is known of a built-in model before its weights are read."""

    name: ModelName
    config: dict[str, Any]
    revision: str


def load_card(name: ModelName, folder: Path | None = None) -> ModelCard:
    """The model's settings, and its revision: the beginning of its weights' checksum."""
    path = (folder or Path(__file__).parent) / name / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"The built-in model file {name}/config.json cannot be read: {error}.",
            "Install askbook again; the weights are part of the package.",
        ) from error
    return ModelCard(name, config, _SHA256[name][_WEIGHTS][:12])


def load_weights(name: ModelName, folder: Path | None = None) -> bytes:
    return _checked(name, _WEIGHTS, folder)


def load_tokenizer(name: ModelName, folder: Path | None = None) -> str:
    return _checked(name, _TOKENIZER, folder).decode("utf-8")


def _checked(name: ModelName, file: str, folder: Path | None) -> bytes:
    """A model's file, if it is what its card says; a damaged installation is refused."""
    path = (folder or Path(__file__).parent) / name / file
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"The built-in model file {name}/{file} is missing: {error.strerror}.",
            "Install askbook again; the weights are part of the package.",
        ) from error
    found, expected = hashlib.sha256(data).hexdigest(), _SHA256[name][file]
    if found != expected:
        raise ConfigurationError(
            f"The built-in model file {name}/{file} is damaged "
            f"(sha256 {found[:12]}…, expected {expected[:12]}…).",
            "Install askbook again; the weights are part of the package.",
        )
    return data


def load_reference(name: ModelName) -> list[dict[str, Any]]:
    """Inputs with the outputs a sound installation gives for them."""
    return json.loads((Path(__file__).parent / name / "reference.json").read_text(encoding="utf-8"))
