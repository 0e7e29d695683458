"""`GET /health` (the process is up) and `GET /ready` (each part answers)."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from askbook.api.dependencies import Running
from askbook.bootstrap import Askbook, Check, check_models, check_stores

router = APIRouter(tags=["health"])


class PartBody(BaseModel):
    part: str
    ok: bool
    finding: str
    fix: str | None


class Readiness(BaseModel):
    """Whether each part answers."""

    status: str
    checks: list[PartBody]


@router.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@router.get(
    "/ready",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "A part does not answer."}},
)
async def ready(request: Request, askbook: Running) -> JSONResponse:
    """200 when every part answers, else 503 with the fix for each that does not."""
    checks = [*await check_stores(askbook), *await _models(request, askbook)]
    body: dict[str, Any] = {
        "status": "ready" if all(check.ok for check in checks) else "unavailable",
        "checks": [check.to_json() for check in checks],
    }
    return JSONResponse(body, status_code=200 if body["status"] == "ready" else 503)


async def _models(request: Request, askbook: Askbook) -> list[Check]:
    """Return what the first probe found of the models; what was not sound is checked again."""
    state = request.app.state
    known: list[Check] | None = getattr(state, "sound_models", None)
    if known is not None:
        return known
    found = await check_models(askbook)
    if all(check.ok for check in found):
        state.sound_models = found
    return found
