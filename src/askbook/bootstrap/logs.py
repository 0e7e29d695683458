"""Logs go to stderr as events with fields: lines for a terminal, JSON for programs.

No local variables stand in tracebacks and known shapes of secrets are masked, so that no question and no key gets there.
"""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Literal

import structlog

Level = Literal["debug", "info", "warning", "error"]
MASKED = "********"
_SECRET_NAME = re.compile(r"(?:^|_)(?:key|secret|token|password|authorization)$")
_SECRET = re.compile(
    r"\bsk-[\w-]{8,}|\b(?:Bearer|Basic)\s+[\w.~+/=-]{8,}|(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"
)


def configure_logs(level: Level = "info") -> None:
    """Set up logging for this process; stdout belongs to results."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso"),
        structlog.processors.format_exc_info,
        mask_secrets,
    ]
    renderer: Any = structlog.processors.JSONRenderer(ensure_ascii=False, default=str)
    if sys.stderr.isatty():
        renderer = structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"])
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
    _join_libraries(shared, renderer)


def mask_secrets(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """The event without what looks like a key, by its name or by its shape."""
    for name, value in event.items():
        if _SECRET_NAME.search(name) and value is not None:
            event[name] = MASKED
        elif isinstance(value, str):
            event[name] = _SECRET.sub(MASKED, value)
    return event


class _Stderr(logging.Handler):
    """Writes to what stderr is at the moment."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(self.format(record) + "\n")


def _join_libraries(shared: list[Any], renderer: Any) -> None:
    """What libraries log, from warnings on, in the same form."""
    handler = _Stderr()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    for former in [h for h in root.handlers if isinstance(h, _Stderr)]:
        root.removeHandler(former)
    root.addHandler(handler)
