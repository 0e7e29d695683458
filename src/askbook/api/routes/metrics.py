"""`GET /metrics`: what this process counted, for Prometheus. For administrators."""

from fastapi import APIRouter, Request, Response

from askbook.api.dependencies import Requires, Running
from askbook.api.errors import refusals
from askbook.api.metrics import Metrics

router = APIRouter(tags=["health"], dependencies=[Requires("admin")], responses=refusals())


@router.get("/metrics", response_class=Response)
async def metrics(request: Request, askbook: Running) -> Response:
    """Requests, turns, stages, tokens, declines, ingests and sessions."""
    counted: Metrics = request.app.state.metrics
    body, content_type = counted.exposed(
        request.headers.get("accept", ""), await askbook.conversations.active()
    )
    return Response(body, media_type=content_type)
