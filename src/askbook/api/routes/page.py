"""`GET /` and its assets: the chat page."""

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

WEB = Path(__file__).parents[2] / "web"

router = APIRouter(include_in_schema=False)


@router.get("/")
async def chat_page() -> FileResponse:
    return FileResponse(WEB / "index.html", media_type="text/html")


def assets() -> StaticFiles:
    """The page's own files: scripts, styles, icon."""
    return StaticFiles(directory=WEB)
