"""What a Qdrant server's failures mean, as HTTP and as gRPC show them."""

import json

import grpc
import httpx
import pytest
from grpc.aio import AioRpcError, Metadata
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from askbook.errors import ConfigurationError, ServiceUnavailable, StorageFull
from askbook.index.server_errors import CollectionExists, CollectionGone, ServerErrors
from askbook.remote import Failure

KEY = "qdrant-secret-key"
ERRORS = ServerErrors("https://qdrant.example:6333", "documentation", KEY)


def http(status: int, reason: str = "reason") -> Exception:
    body = json.dumps({"status": {"error": reason}, "time": 0.1}).encode()
    return UnexpectedResponse(status, "", body, httpx.Headers())


def rpc(code: grpc.StatusCode, details: str = "reason") -> Exception:
    return AioRpcError(code, Metadata(), Metadata(), details)


def translated(error: Exception) -> Failure:
    failure = ERRORS.translate(error)
    assert failure is not None
    assert KEY not in str(failure.error)
    assert failure.error.suggestion
    return failure


@pytest.mark.parametrize(
    ("over_http", "over_grpc", "kind", "transient"),
    [
        (401, grpc.StatusCode.UNAUTHENTICATED, ConfigurationError, False),
        (403, grpc.StatusCode.PERMISSION_DENIED, ConfigurationError, False),
        (404, grpc.StatusCode.NOT_FOUND, CollectionGone, False),
        (409, grpc.StatusCode.ALREADY_EXISTS, CollectionExists, False),
        (400, grpc.StatusCode.INVALID_ARGUMENT, ServiceUnavailable, False),
        (429, grpc.StatusCode.RESOURCE_EXHAUSTED, ServiceUnavailable, True),
        (500, grpc.StatusCode.INTERNAL, ServiceUnavailable, True),
        (503, grpc.StatusCode.UNAVAILABLE, ServiceUnavailable, True),
        (504, grpc.StatusCode.DEADLINE_EXCEEDED, ServiceUnavailable, True),
    ],
)
def test_both_protocols_mean_the_same(
    over_http: int, over_grpc: grpc.StatusCode, kind: type[Exception], transient: bool
) -> None:
    for error in (http(over_http, f"reason {KEY}"), rpc(over_grpc, f"reason {KEY}")):
        failure = translated(error)
        assert type(failure.error) is kind
        assert failure.transient == transient


def test_the_key_setting_is_named() -> None:
    assert "QDRANT_API_KEY" in translated(http(401)).error.suggestion
    keyless = ServerErrors("http://localhost:6333", "documentation", None)
    failure = keyless.translate(http(401))
    assert failure is not None
    assert "needs a key" in failure.error.message


def test_a_missing_point_is_not_a_missing_collection() -> None:
    error = translated(http(404, "Not found: No point with id 7 found")).error
    assert not isinstance(error, CollectionGone)
    assert "No point with id 7" in error.message


def test_a_full_disk_is_told_apart() -> None:
    for error in (http(500, "No space left on device"), http(507)):
        failure = translated(error)
        assert isinstance(failure.error, StorageFull)
        assert not failure.transient


def test_a_pause_the_server_asks_for_is_passed_on() -> None:
    failure = translated(ResourceExhaustedResponse("Too many requests", 7))
    assert failure.transient
    assert failure.retry_after == 7.0


@pytest.mark.parametrize(
    ("source", "words", "transient"),
    [
        (httpx.ReadTimeout("slow"), "did not answer in time", True),
        (httpx.ConnectTimeout("slow"), "did not answer in time", True),
        (httpx.ConnectError("refused"), "cannot be reached: refused", True),
        (httpx.RemoteProtocolError("closed"), "cannot be reached: closed", True),
        (httpx.ReadError(""), "cannot be reached: ReadError", True),
        (httpx.UnsupportedProtocol("ftp"), "is not an address", False),
        (json.JSONDecodeError("x", "y", 0), "does not speak as Qdrant does", False),
    ],
)
def test_no_answer_at_all(source: Exception, words: str, transient: bool) -> None:
    failure = translated(ResponseHandlingException(source))
    assert words in failure.error.message
    assert failure.transient == transient


def test_a_plain_text_body_is_shown_briefly() -> None:
    error = UnexpectedResponse(400, "", b"x" * 5000, httpx.Headers())
    assert len(translated(error).error.message) < 500


def test_what_is_not_the_server_s_is_left_alone() -> None:
    assert ERRORS.translate(KeyError("bug")) is None
