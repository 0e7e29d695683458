"""A running server as commands use it, with --url or ASKBOOK_URL: the same questions, over HTTP."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askbook.cli.answers import Sentence, ShownAnswer, at_addresses
from askbook.cli.output import begin_loading_models, settings_for
from askbook.errors import AskbookError, InvalidInput, NotFound, ServiceUnavailable

if TYPE_CHECKING:
    import httpx

    from askbook.bootstrap import Scope
    from askbook.config import Settings

Url = Annotated[
    str | None,
    typer.Option("--url", help="Ask a running server instead [or ASKBOOK_URL, ASKBOOK_KEY]."),
]
CHAT_FILTERS = frozenset({"book_id", "module", "hardware_tier", "proficiency_levels", "layer"})
SEARCH_NAMES = {
    "hardware_tier": "hardware_tier_filter",
    "module": "module_filter",
    "lesson": "lesson_filter",
    "layer": "layer_filter",
}
ANSWER_TIMEOUT = 120.0


def reach(url: str | None, data_dir: Path | None) -> "tuple[Settings, str | None]":
    """The settings, and the server to ask if one is meant; without one, the models begin to load.

    A data directory given by hand comes before ASKBOOK_URL.
    """
    settings = settings_for(data_dir, url=url)
    if settings.client.url is not None and (url is not None or data_dir is None):
        return settings, settings.client.url
    begin_loading_models(settings)
    return settings, None


class Server:
    """A server's client; open it with `opened`."""

    def __init__(self, http: "httpx.AsyncClient", address: str) -> None:
        self._http = http
        self._address = f"{address}/"

    @classmethod
    @asynccontextmanager
    async def opened(cls, settings: "Settings", address: str) -> "AsyncGenerator[Server]":
        import httpx

        key = settings.client.key
        headers = {} if key is None else {"Authorization": f"Bearer {key.get_secret_value()}"}
        async with httpx.AsyncClient(
            base_url=address,
            headers=headers,
            timeout=ANSWER_TIMEOUT,
            # No proxy leads to a server on this machine.
            mounts={f"all://{host}": None for host in ("127.0.0.1", "localhost", "[::1]")},
        ) as http:
            yield cls(http, address)

    async def search(
        self, text: str, where: "Scope", top_k: int | None, mode: str, explain: bool
    ) -> dict[str, Any]:
        filters = {SEARCH_NAMES.get(name, name): value for name, value in _given(where).items()}
        body = {"text": text, "mode": mode, "explain": explain, **filters}
        if top_k is not None:
            body["limit"] = top_k
        found = (await self._request("POST", "/search", body)).json()
        return {**found, "results": at_addresses(found["results"], self._address)}

    async def ask(
        self,
        question: str,
        where: "Scope",
        *,
        session_id: str | None = None,
        top_k: int | None = None,
        selected_text: str | None = None,
    ) -> AsyncIterator[Sentence | ShownAnswer]:
        """The answer as it comes."""
        body: dict[str, Any] = {"message": question, **_chat_filters(where)}
        for name, value in (
            ("session_id", session_id),
            ("top_k", top_k),
            ("selected_text", selected_text),
        ):
            if value is not None:
                body[name] = value
        async for event, data in self._events("/chat/stream", body):
            if event == "sentence":
                yield Sentence(data["joint"] + data["text"])
            elif event == "done":
                yield ShownAnswer.served(data, question, self._address)
            elif event == "error":
                raise _raised(data)

    async def ask_once(
        self, question: str, where: "Scope", *, top_k: int | None, selected_text: str | None
    ) -> AsyncIterator[Sentence | ShownAnswer]:
        """The answer as it comes, to a question that begins no conversation: none is left behind."""
        async for piece in self.ask(question, where, top_k=top_k, selected_text=selected_text):
            if isinstance(piece, ShownAnswer):
                session = piece.document.pop("session_id")
                await self._request("DELETE", f"/session/{session}")
            yield piece

    async def turn_count(self, session_id: str) -> int:
        """How many questions a session holds."""
        try:
            history = await self._request("GET", f"/session/{session_id}/history")
        except NotFound:
            return 0
        return history.json()["turn_count"]

    async def _request(self, method: str, path: str, body: Any = None) -> "httpx.Response":
        import httpx

        try:
            response = await self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise self._away(error) from error
        if not response.is_success:
            raise self._refusal(response.status_code, response.content)
        return response

    async def _events(self, path: str, body: Any) -> AsyncIterator[tuple[str, Any]]:
        import httpx

        try:
            async with self._http.stream("POST", path, json=body) as response:
                if not response.is_success:
                    raise self._refusal(response.status_code, await response.aread())
                event = ""
                async for line in response.aiter_lines():
                    name, _, value = line.partition(": ")
                    if name == "event":
                        event = value
                    elif name == "data":
                        yield event, json.loads(value)
        except httpx.HTTPError as error:
            raise self._away(error) from error

    def _away(self, error: Exception) -> ServiceUnavailable:
        return ServiceUnavailable(
            f"No answer comes from {self._address}: {error or type(error).__name__}.",
            "Start the server with `askbook serve`, or correct --url or ASKBOOK_URL.",
        )

    def _refusal(self, status: int, content: bytes) -> AskbookError:
        try:
            body = json.loads(content)
            return _raised(body)
        except (ValueError, KeyError, TypeError):
            return ServiceUnavailable(
                f"{self._address} answered {status}, not as an askbook server does.",
                "Correct --url or ASKBOOK_URL.",
            )


def _given(where: "Scope") -> dict[str, Any]:
    values = {field.name: getattr(where, field.name) for field in fields(where)}
    return {name: value for name, value in values.items() if value is not None}


def _chat_filters(where: "Scope") -> dict[str, Any]:
    given = _given(where)
    if unknown := sorted(set(given) - CHAT_FILTERS):
        options = ", ".join(f"--{name.replace('_', '-')}" for name in unknown)
        raise InvalidInput(
            f"{options} cannot be used with a server.", "Leave it out, or ask without --url."
        )
    return given


def _raised(body: dict[str, Any]) -> AskbookError:
    """A server's error as ours, with its exit code."""
    kinds: dict[str, type[AskbookError]] = {}
    waiting: list[type[AskbookError]] = [AskbookError]
    while waiting:
        kind = waiting.pop()
        kinds.setdefault(kind.code, kind)
        waiting += kind.__subclasses__()
    kind = kinds.get(body["error"], ServiceUnavailable)
    # Some are made from more than was sent.
    error = kind.__new__(kind)
    AskbookError.__init__(error, body["message"], body["suggestion"], body.get("details"))
    return error
