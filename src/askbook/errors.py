"""Every error a user can meet, with what happened and what to do next.

AskbookError
├── ConfigurationError        a setting, manifest or data directory is wrong          exit 2
│   └── EmbedderMismatch      the index was built with another embedder               exit 2
├── ServiceUnavailable        something that should be running is not                 exit 3
│   ├── DataDirectoryBusy     another process holds the data directory                exit 3
│   ├── EmbedderBusy          the embedder asks for a pause                           exit 3
│   ├── DataDirectoryCorrupt  the data directory cannot be read                       exit 3
│   └── StorageFull           the disk has no room for a write                        exit 3
├── InvalidInput              an argument, question or request body is not acceptable exit 4
│   └── NotFound              a book, lesson, chunk, session or job that is not there exit 4
├── Forbidden                 this caller may not do that                             exit 4
├── Unauthorized              nobody knows who asks                                   exit 4
├── Conflict                  the request contradicts the current state               exit 4
├── IllegalTransition         a job or turn was asked to skip a state                 exit 4
└── ValidationFailed          an audit or evaluation fell short                       exit 5

HTTP statuses live in `askbook.api.errors`; exit codes are here because every front end shares them.
"""

from typing import ClassVar


class AskbookError(Exception):
    """Base of all errors: one sentence on what happened, one on what to do next."""

    code: ClassVar[str] = "internal_error"
    exit_code: ClassVar[int] = 3

    def __init__(
        self, message: str, suggestion: str = "", details: dict[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.suggestion = suggestion
        self.details: dict[str, object] = details or {}

    def __str__(self) -> str:
        return f"{self.message} {self.suggestion}".strip()


class ConfigurationError(AskbookError):
    code = "configuration_error"
    exit_code = 2


class EmbedderMismatch(ConfigurationError):
    code = "embedder_mismatch"


class ServiceUnavailable(AskbookError):
    code = "service_unavailable"
    exit_code = 3


class DataDirectoryBusy(ServiceUnavailable):
    code = "data_directory_busy"


class EmbedderBusy(ServiceUnavailable):
    """Raised after the embedder's own retries; `retry_after` is the pause it asked for, in seconds."""

    code = "embedder_busy"

    def __init__(
        self,
        message: str,
        suggestion: str = "",
        details: dict[str, object] | None = None,
        *,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, suggestion, details)
        self.retry_after = retry_after


class DataDirectoryCorrupt(ServiceUnavailable):
    code = "data_directory_corrupt"


class StorageFull(ServiceUnavailable):
    code = "storage_full"


class InvalidInput(AskbookError):
    code = "invalid_input"
    exit_code = 4


class NotFound(InvalidInput):
    code = "not_found"


class Forbidden(AskbookError):
    code = "forbidden"
    exit_code = 4


class Unauthorized(AskbookError):
    code = "unauthorized"
    exit_code = 4


class Conflict(AskbookError):
    code = "conflict"
    exit_code = 4


class IllegalTransition(AskbookError):
    code = "illegal_transition"
    exit_code = 4


class ValidationFailed(AskbookError):
    code = "validation_failed"
    exit_code = 5
