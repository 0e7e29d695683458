"""YAML within limits: a few bytes of nested aliases or brackets must neither freeze nor crash the reader."""

from collections.abc import Iterator
from typing import Any

import yaml

MAX_DEPTH = 100
MAX_NODES = 100_000
"""Values after every alias is replaced by what it stands for."""
_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str, loader: Any = _PARSER) -> object:
    """Load one document; raise `yaml.YAMLError` with the place where it goes beyond a limit."""
    _check(text)
    return yaml.load(text, Loader=loader)  # noqa: S506 - callers hand over safe loaders


def _check(text: str) -> None:
    """Count depth and values from the events alone, which no nesting makes recursive."""
    sizes: dict[str, int] = {}
    stack: list[tuple[str | None, int]] = [(None, 0)]
    for event in _events(text):
        size = 0
        anchor: str | None = getattr(event, "anchor", None)
        if isinstance(event, yaml.CollectionStartEvent):
            stack.append((anchor, 1))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, size = stack.pop()
        elif isinstance(event, yaml.AliasEvent):
            size = sizes.get(anchor or "", 1)
        elif isinstance(event, yaml.ScalarEvent):
            size = 1
        if anchor and size and not isinstance(event, yaml.AliasEvent):
            sizes[anchor] = size
        stack[-1] = (stack[-1][0], stack[-1][1] + size)
        if len(stack) > MAX_DEPTH or stack[-1][1] > MAX_NODES:
            what = (
                f"values more than {MAX_DEPTH} deep"
                if len(stack) > MAX_DEPTH
                else f"more than {MAX_NODES:,} values once its aliases are replaced"
            )
            raise yaml.MarkedYAMLError(None, None, f"it has {what}", event.start_mark)


def _events(text: str) -> Iterator[Any]:
    yield from yaml.parse(text, Loader=_PARSER)  # pyright: ignore[reportUnknownMemberType] - PyYAML's stubs leave it untyped
