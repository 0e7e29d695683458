"""`GET /health` (the process is up) and `GET /ready` (each part answers)."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from askbook.api.dependencies import Running
from askbook.bootstrap import check_parts

router = APIRouter(tags=["health"])


@router.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@router.get("/ready")
async def ready(askbook: Running) -> JSONResponse:
    """200 when every part answers, else 503 with the fix for each that does not."""
    checks = await check_parts(askbook)
    body: dict[str, Any] = {
        "status": "ready" if all(check.ok for check in checks) else "unavailable",
        "checks": [check.to_json() for check in checks],
    }
    return JSONResponse(body, status_code=200 if body["status"] == "ready" else 503)
