"""Logs go to stderr as plain events: no local variables in tracebacks, so that no question and no key gets there."""

import sys
from typing import Literal

import structlog

Level = Literal["debug", "info", "warning", "error"]


def configure_logs(level: Level = "info") -> None:
    """Set up logging for this process; stdout belongs to results."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
