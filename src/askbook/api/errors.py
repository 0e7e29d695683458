"""Error bodies and HTTP statuses: one shape for every failure, never a stack trace."""

import math
from typing import Any

import structlog
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as StarletteHTTPException

from askbook.agent.response import READING
from askbook.api.identity import path_of, root_from
from askbook.api.rendering import render_failure
from askbook.api.schemas import iso_now
from askbook.errors import AskbookError, Unauthorized

log = structlog.get_logger(__name__)

STATUS: dict[str, int] = {
    "invalid_input": 422,
    "not_found": 404,
    "forbidden": 403,
    "unauthorized": 401,
    "rate_limited": 429,
    "conflict": 409,
    "illegal_transition": 409,
    "configuration_error": 500,
    "embedder_mismatch": 503,
    "service_unavailable": 503,
    "data_directory_busy": 503,
    "data_directory_corrupt": 503,
    "storage_full": 503,
    "embedder_busy": 503,
    "validation_failed": 422,
}
_CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
}


_WHEN = {
    400: "The body is no JSON.",
    401: "No key, or one that does not hold.",
    403: "The key was not made for this, or not for pages of this origin.",
    404: "It is not there, or not there for this caller.",
    409: "It contradicts the current state.",
    413: "The body is too large.",
    422: "A field is missing, unknown or out of range.",
    429: "Too many requests; `Retry-After` says when the next may come.",
    503: "A part is down or too slow; the message says which.",
}
_ANYWHERE = (401, 403, 422, 429, 503)


class ErrorBody(BaseModel):
    """What every failure looks like."""

    error: str = Field(description="A code for programs.", examples=["not_found"])
    message: str = Field(description="What happened.")
    suggestion: str = Field(description="What to do next; may be empty.")
    details: dict[str, Any]
    timestamp: str
    request_id: str


def refusals(
    *statuses: int, of_page: bool = False, is_open: bool = False
) -> dict[int | str, dict[str, Any]]:
    """The failures of a route, for its description: those of every route behind the gate, and its own.

    A model is described in the type of the route's answers; a page fails as a page, or in JSON where no page was
    asked for, and says so itself.
    """
    shape: dict[str, Any] = {"model": ErrorBody}
    if of_page:
        shape = {
            "content": {
                "application/json": {"schema": ErrorBody.model_json_schema()},
                "text/html": {"schema": {"type": "string"}},
            }
        }
    return {
        status: {**shape, "description": _WHEN[status]}
        for status in sorted({*(() if is_open else _ANYWHERE), *statuses})
    }


def install(app: FastAPI) -> None:
    """Answer every failure of `app` in the one shape."""
    app.add_exception_handler(AskbookError, _askbook_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(StarletteHTTPException, _http_error)


async def answer_error(request: Request, error: Exception) -> Response:
    """The answer to any failure, for routes that give it another shape."""
    if isinstance(error, AskbookError):
        return await _askbook_error(request, error)
    if isinstance(error, RequestValidationError):
        return await _validation_error(request, error)
    if isinstance(error, StarletteHTTPException):
        return await _http_error(request, error)
    return unexpected(request, error)


def error_response(
    request: Request,
    status: int,
    code: str,
    message: str,
    suggestion: str = "",
    details: object = None,
) -> Response:
    path = path_of(request.scope)
    is_page = path.startswith(READING)
    vary = {"Vary": "Accept"} if is_page else None
    if is_page and "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(render_failure(message, suggestion, root_from(path)), status, vary)
    return JSONResponse(
        {
            "error": code,
            "message": message,
            "suggestion": suggestion,
            "details": details or {},
            "timestamp": iso_now(),
            "request_id": getattr(request.state, "request_id", ""),
        },
        status_code=status,
        headers=vary,
    )


async def _askbook_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, AskbookError):
        raise error
    return answer_to(request, error)


def answer_to(request: Request, error: AskbookError) -> Response:
    """The answer to a failure that is known, also for those outside any route."""
    status = STATUS.get(error.code, 500)
    if status >= 500:
        log.error("request_failed", code=error.code, message=error.message)
    response = error_response(
        request, status, error.code, error.message, error.suggestion, error.details
    )
    if isinstance(error, Unauthorized):
        response.headers["WWW-Authenticate"] = 'Bearer realm="askbook"'
    pause = getattr(error, "retry_after", None)
    if pause is not None:
        response.headers["Retry-After"] = str(math.ceil(pause))
    return response


async def _validation_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    problems = [
        {
            "field": ".".join(str(part) for part in item["loc"] if part != "body") or "body",
            "message": item["msg"],
        }
        for item in error.errors()
    ]
    first = problems[0] if problems else {"field": "body", "message": "is not valid"}
    # A body that is no JSON at all is a bad request; one with wrong values is unprocessable.
    malformed = any(item["type"] == "json_invalid" for item in error.errors())
    return error_response(
        request,
        400 if malformed else 422,
        "bad_request" if malformed else "invalid_input",
        f"{first['field']}: {first['message']}.",
        "Correct the request; GET /docs describes every field.",
        {"problems": problems},
    )


async def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException | StarletteHTTPException):
        raise error
    response = error_response(
        request, error.status_code, _CODES.get(error.status_code, "http_error"), f"{error.detail}."
    )
    response.headers.update(error.headers or {})
    return response


def unexpected(request: Request, error: Exception) -> Response:
    """The answer to a bug. The middleware gives it: a handler's would bypass ids and headers."""
    log.error("unexpected_error", exc_info=error)
    return error_response(
        request,
        500,
        "internal_error",
        "Something went wrong on our side.",
        "Try again; if it stays, look for the request id in the server's log.",
    )
