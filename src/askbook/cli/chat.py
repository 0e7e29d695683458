"""`askbook chat`: a conversation at the terminal, kept in the data directory."""

import asyncio
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, suppress
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from askbook.cli import scope
from askbook.cli.answers import Sentence, ShownAnswer, pieces_of, printed, show_places
from askbook.cli.output import (
    AsJson,
    DataDir,
    note,
    print_json,
)
from askbook.cli.server import Server, Url, reach
from askbook.errors import AskbookError

if TYPE_CHECKING:
    from askbook.bootstrap import Scope
    from askbook.config import Settings

HELP = "/sources shows where the last answer comes from, /new begins anew, /quit leaves."


def register(app: typer.Typer) -> None:
    app.command("chat")(chat)


def chat(
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Continue this conversation.")
    ] = None,
    book: scope.BookId = None,
    tier: scope.Tier = None,
    url: Url = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """Talk with the book; it knows what was said before.

    /sources shows where the last answer comes from, /new begins anew, /quit leaves.
    """
    settings, address = reach(url, data_dir)
    where = scope.scope_of(book=book, tier=tier)
    from askbook.bootstrap.logs import configure_logs

    configure_logs()
    partner = _Here(settings, where) if address is None else _There(settings, where, address)
    talk = _Talk(partner, session, as_json)
    try:
        talk.begin()
        talk.go_on()
    finally:
        talk.end()
    if as_json:
        print_json({"session_id": talk.session_id, "answers": talk.answers})
    return 0


class _Partner(Protocol):
    """Who answers: the data directory, or a server."""

    async def open(self, doors: AsyncExitStack) -> None: ...

    async def join(self, given: str) -> tuple[str, int]:
        """The session in its one spelling, and how many questions it holds."""
        ...

    def turn(self, question: str, session_id: str) -> AsyncIterator[Sentence | ShownAnswer]: ...


class _Here:
    """Answers from the data directory."""

    def __init__(self, settings: "Settings", where: "Scope") -> None:
        self._settings = settings
        self._scope = where

    async def open(self, doors: AsyncExitStack) -> None:
        from askbook.bootstrap import Askbook

        self._askbook: Askbook = await doors.enter_async_context(Askbook(self._settings))

    async def join(self, given: str) -> tuple[str, int]:
        await self._askbook.check_turn(given, self._scope)
        dialogue = await self._askbook.conversations.dialogue(given)
        return dialogue.session_id, dialogue.thread.turn_count if dialogue.thread else 0

    async def turn(self, question: str, session_id: str) -> AsyncIterator[Sentence | ShownAnswer]:
        events = self._askbook.converse(question, session_id, self._scope)
        async with aclosing(events) as turn:
            async for piece in pieces_of(turn):
                yield piece


class _There:
    """Has a server answer."""

    def __init__(self, settings: "Settings", where: "Scope", address: str) -> None:
        self._settings = settings
        self._scope = where
        self._address = address

    async def open(self, doors: AsyncExitStack) -> None:
        self._server = await doors.enter_async_context(Server.opened(self._settings, self._address))

    async def join(self, given: str) -> tuple[str, int]:
        from askbook.conversations import check_session_id

        session_id = check_session_id(given)
        return session_id, await self._server.turn_count(session_id)

    def turn(self, question: str, session_id: str) -> AsyncIterator[Sentence | ShownAnswer]:
        return self._server.ask(question, self._scope, session_id=session_id)


class _Talk:
    """A conversation from prompt to prompt.

    The event loop runs only while there is something to do: a prompt that waits inside it could not be interrupted.
    """

    def __init__(self, partner: _Partner, session_id: str | None, as_json: bool) -> None:
        self._partner = partner
        self._as_json = as_json
        self._runner = asyncio.Runner()
        self._doors = AsyncExitStack()
        self._last: ShownAnswer | None = None
        self._given = session_id
        self.session_id = session_id or str(uuid.uuid4())
        self.answers: list[dict[str, Any]] = []

    def begin(self) -> None:
        self._runner.run(self._partner.open(self._doors))
        if self._given is not None:
            self.session_id, turns = self._runner.run(self._partner.join(self._given))
            note(f"Session {self.session_id}, questions so far: {turns}. {HELP}")
        else:
            note(f"Session {self.session_id}. {HELP}")
        if sys.stdin.isatty():
            with suppress(ImportError):
                import readline  # noqa: F401  # pyright: ignore[reportUnusedImport]  # gives `input` its line editing

    def go_on(self) -> None:
        """Read and answer until the reader leaves."""
        while (line := self._read()) is not None:
            match line.strip():
                case "":
                    continue
                case "/quit":
                    return
                case "/new":
                    self._last, self.session_id = None, str(uuid.uuid4())
                    note(f"Session {self.session_id}.")
                case "/sources":
                    self._show_sources()
                case command if command.startswith("/") and " " not in command:
                    note(f"There is no command {command}. {HELP}")
                case question:
                    self._answer(question)

    def end(self) -> None:
        with self._runner:
            self._runner.run(self._doors.aclose())

    def _read(self) -> str | None:
        seen = sys.stdin.isatty() and sys.stdout.isatty() and not self._as_json
        try:
            return input("\n> " if seen else "")
        except EOFError:
            return None

    def _answer(self, question: str) -> None:
        """One turn; Ctrl-C breaks it off, and a failure is told, without ending the conversation."""
        try:
            self._last = self._runner.run(self._turn(question))
        except KeyboardInterrupt:
            note("\nStopped.")
        except AskbookError as error:
            note(f"askbook: {error}")
        else:
            self.answers.append({"session_id": self.session_id, **self._last.document})

    def _show_sources(self) -> None:
        if self._last is None or not self._last.citations:
            note("The last answer has no sources." if self._last else "Nothing was asked yet.")
        elif not self._as_json:
            show_places(self._last, quotes=True)

    async def _turn(self, question: str) -> ShownAnswer:
        pieces = self._partner.turn(question, self.session_id)
        return await printed(pieces, silent=self._as_json)
