"""What a Qdrant server's failures mean for askbook, over HTTP and gRPC alike."""

import json
from typing import Any, cast

import grpc
import httpx
from pydantic import ValidationError
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from askbook.errors import AskbookError, ConfigurationError, ServiceUnavailable, StorageFull
from askbook.remote import Failure

_TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_STATUS_OF_CODE = {
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.INTERNAL: 500,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
    grpc.StatusCode.ABORTED: 503,
    grpc.StatusCode.CANCELLED: 503,
    grpc.StatusCode.UNKNOWN: 500,
}


class CollectionGone(ServiceUnavailable):
    """The collection is not there (any more)."""


class CollectionExists(ServiceUnavailable):
    """Another process made the collection first."""


class ServerErrors:
    """Translates the failures of one server; its key is never part of a message."""

    def __init__(self, url: str, collection: str, api_key: str | None) -> None:
        self._url = url
        self._collection = collection
        self._api_key = api_key

    def translate(self, error: Exception) -> Failure | None:
        """What `error` means; None if it does not come from the server."""
        match error:
            case ResourceExhaustedResponse():
                busy = self._unavailable(f"is busy: {error.message.strip()}")
                return Failure(busy, transient=True, retry_after=float(error.retry_after_s))
            case UnexpectedResponse():
                return self._answered(error.status_code or 0, _message(error.content))
            case grpc.aio.AioRpcError():
                status = _STATUS_OF_CODE.get(error.code(), 500)
                return self._answered(status, error.details() or error.code().name)
            case ResponseHandlingException():
                return self._not_answered(error.source)
            case json.JSONDecodeError() | AssertionError():
                # The client asserts that an answer holds a result.
                return self._not_answered(error)
            case _:
                return None

    def _answered(self, status: int, said: str) -> Failure:
        said = self._masked(said)
        if status in (401, 403):
            key = "refused QDRANT_API_KEY" if self._api_key else "needs a key"
            return Failure(
                ConfigurationError(
                    f"The Qdrant server at {self._url} {key} (status {status}).",
                    "Set QDRANT_API_KEY to a key that may read and write the collection "
                    f"{self._collection!r}.",
                )
            )
        if "No space left" in said or status == 507:
            return Failure(
                StorageFull(
                    f"The Qdrant server at {self._url} has no space left.",
                    "Free some space there and run the same command again.",
                )
            )
        if status in _TRANSIENT_STATUSES:
            return Failure(self._unavailable(f"answered {status}: {said}"), transient=True)
        if status == 404 and "No point" not in said:
            return Failure(
                CollectionGone(
                    f"The collection {self._collection!r} is not on the Qdrant server at "
                    f"{self._url}: {said}.",
                    "If it was removed, fill it again with `askbook ingest PATH --mode full`; "
                    "else check QDRANT_URL and QDRANT_COLLECTION_NAME.",
                )
            )
        if status == 409:
            return Failure(
                CollectionExists(
                    f"The collection {self._collection!r} is already on the Qdrant server at "
                    f"{self._url}.",
                    "Run the same command again.",
                )
            )
        return Failure(
            ServiceUnavailable(
                f"The Qdrant server at {self._url} refused a request (status {status}): {said}.",
                "Run `askbook doctor`; if the collection was changed by hand, "
                "index again with `askbook ingest PATH --mode recreate`.",
            )
        )

    def _not_answered(self, source: Exception) -> Failure:
        match source:
            case httpx.UnsupportedProtocol() | httpx.InvalidURL():
                return Failure(
                    ConfigurationError(
                        f"QDRANT_URL = {self._url!r} is not an address.",
                        "Write it as http://host:6333 or https://host:6333.",
                    )
                )
            case httpx.TimeoutException():
                late = self._unavailable("did not answer in time")
                return Failure(late, transient=True)
            case httpx.TransportError():
                away = self._unavailable(f"cannot be reached: {_cause(source)}")
                return Failure(away, transient=True)
            case ValidationError() | json.JSONDecodeError() | AssertionError():
                return Failure(
                    ServiceUnavailable(
                        f"What answers at {self._url} does not speak as Qdrant does.",
                        "Check QDRANT_URL: it must be Qdrant's own address (port 6333), "
                        "not that of its dashboard or of another service.",
                    )
                )
            case _:
                return Failure(self._unavailable(f"failed: {_cause(source)}"))

    def _unavailable(self, what: str) -> AskbookError:
        return ServiceUnavailable(
            f"The Qdrant server at {self._url} {self._masked(what)}.".replace("..", "."),
            "Check that it is running and that QDRANT_URL is right, then try again.",
        )

    def _masked(self, text: str) -> str:
        return text.replace(self._api_key, "********") if self._api_key else text


def _message(content: bytes) -> str:
    """The reason in an error body; Qdrant answers JSON, and plain text where a key is missing."""
    text = content.decode("utf-8", "replace").strip()
    try:
        body: Any = json.loads(text)
    except json.JSONDecodeError:
        return text[:200] or "no reason given"
    status: Any = cast(dict[str, Any], body).get("status") if isinstance(body, dict) else None
    if isinstance(status, dict) and "error" in status:
        return str(cast(dict[str, Any], status)["error"])
    return text[:200]


def _cause(error: Exception) -> str:
    return str(error) or type(error).__name__
