"""`GET /` and `GET /author` with their assets, and `GET /widget.js`: what people look at."""

import json
import re
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

WEB = Path(__file__).parents[2] / "web"
WIDGET_MODULES = ("dom.js", "api.js", "answer.js", "turns.js", "widget.js")
WIDGET_STYLES = ("tokens.css", "answer.css", "widget.css")
_REM = re.compile(r"(\d*\.?\d+)rem\b")
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)

router = APIRouter(include_in_schema=False)


@router.get("/")
async def chat_page() -> FileResponse:
    return FileResponse(WEB / "index.html", media_type="text/html")


@router.get("/widget.js")
async def widget() -> Response:
    """The widget as one script that needs nothing else; any site may load it."""
    headers = {
        "Cache-Control": "public, max-age=300",
        "Cross-Origin-Resource-Policy": "cross-origin",
    }
    return Response(widget_script(), media_type="text/javascript", headers=headers)


def assets() -> StaticFiles:
    """The pages' own files: scripts, styles, icon."""
    return StaticFiles(directory=WEB)


@cache
def widget_script() -> str:
    """The widget's modules, which it shares with the chat page, in one function: it leaves no global behind."""
    styles = "".join((WEB / name).read_text(encoding="utf-8") for name in WIDGET_STYLES)
    # A site may set the size that "rem" stands for; the widget keeps its own.
    styles = _REM.sub(lambda size: f"{float(size[1]) * 16:g}px", styles)
    modules = [(WEB / name).read_text(encoding="utf-8") for name in WIDGET_MODULES]
    body = "\n".join(_EXPORT.sub("", _IMPORT.sub("", module)) for module in modules)
    return f'(() => {{\n"use strict";\nconst STYLES = {json.dumps(styles)};\n{body}}})();\n'
