"""`GET /` and `GET /author` with their assets, and `GET /widget.js`: what people look at."""

import json
import re
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from askbook.api.dependencies import Caller, Requires, Running
from askbook.errors import NotFound

WEB = Path(__file__).parents[2] / "web"
EVALUATION = "evaluation.html"
WIDGET_MODULES = ("dom.js", "api.js", "answer.js", "turns.js", "widget.js")
WIDGET_STYLES = ("tokens.css", "answer.css", "widget.css")
_REM = re.compile(r"(\d*\.?\d+)rem\b")
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)

router = APIRouter(include_in_schema=False)


@router.get("/")
async def chat_page() -> FileResponse:
    return FileResponse(WEB / "index.html", media_type="text/html")


@router.get("/author")
async def author_page() -> FileResponse:
    """The page is for everybody, what it shows is asked for with the author's key."""
    return FileResponse(WEB / "author.html", media_type="text/html")


@router.get("/evaluation", dependencies=[Requires("admin")])
async def evaluation_report(askbook: Running, caller: Caller) -> FileResponse:
    """The report that `askbook eval … --out` left in the data directory; it names no book, so it is for keys of all."""
    report = askbook.settings.storage.data_dir / EVALUATION
    if caller.books is not None:
        raise NotFound(
            "There is no evaluation report for this key.",
            "It may be about any book: ask with a key made without --book.",
        )
    if not report.is_file():
        raise NotFound(
            "There is no evaluation report yet.",
            f"Make one with `askbook eval DATASET --out {report}`.",
        )
    headers = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
    return FileResponse(report, media_type="text/html", headers=headers)


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
