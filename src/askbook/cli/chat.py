"""`askbook chat`: a conversation at the terminal, kept in the data directory."""

import asyncio
import sys
import uuid
from contextlib import AsyncExitStack, aclosing, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askbook.cli import scope
from askbook.cli.ask import print_as_it_comes, show_places
from askbook.cli.output import (
    AsJson,
    DataDir,
    begin_loading_models,
    note,
    print_json,
    settings_for,
)
from askbook.errors import AskbookError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from askbook.agent.response import AgentResponse
    from askbook.bootstrap import Askbook, Scope
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
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """Talk with the book; it knows what was said before.

    /sources shows where the last answer comes from, /new begins anew, /quit leaves.
    """
    settings = settings_for(data_dir)
    begin_loading_models(settings)
    where = scope.scope_of(
        book=book,
        module=None,
        tier=tier,
        chapter_min=None,
        chapter_max=None,
        lesson=None,
        proficiency=None,
        layer=None,
    )
    from askbook.bootstrap.logs import configure_logs

    configure_logs()
    talk = _Talk(settings, where, session, as_json)
    try:
        talk.begin()
        talk.go_on()
    finally:
        talk.end()
    if as_json:
        print_json({"session_id": talk.session_id, "answers": talk.answers})
    return 0


class _Talk:
    """A conversation from prompt to prompt.

    The event loop runs only while there is something to do: a prompt that waits inside it could not be interrupted.
    """

    def __init__(
        self, settings: "Settings", where: "Scope", session_id: str | None, as_json: bool
    ) -> None:
        self._settings = settings
        self._scope = where
        self._as_json = as_json
        self._runner = asyncio.Runner()
        self._open = AsyncExitStack()
        self._askbook: Askbook | None = None
        self._last: AgentResponse | None = None
        self._given = session_id
        self.session_id = session_id or str(uuid.uuid4())
        self.answers: list[dict[str, Any]] = []

    def begin(self) -> None:
        self._askbook = self._runner.run(self._opened())
        if self._given is not None:
            self.session_id, turns = self._runner.run(self._joined(self._askbook, self._given))
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
            self._runner.run(self._open.aclose())

    def _read(self) -> str | None:
        seen = sys.stdin.isatty() and sys.stdout.isatty() and not self._as_json
        try:
            return input("\n> " if seen else "")
        except EOFError:
            return None

    def _answer(self, question: str) -> None:
        """One turn; Ctrl-C breaks it off, and a failure is told, without ending the conversation."""
        if self._askbook is None:
            raise RuntimeError("A conversation begins before it goes on.")
        try:
            self._last = self._runner.run(self._turn(self._askbook, question))
        except KeyboardInterrupt:
            note("\nStopped.")
        except AskbookError as error:
            note(f"askbook: {error}")
        else:
            self.answers.append({"session_id": self.session_id, **self._last.to_json()})

    def _show_sources(self) -> None:
        if self._last is None or not self._last.citations:
            note("The last answer has no sources." if self._last else "Nothing was asked yet.")
        elif not self._as_json:
            show_places(self._last, quotes=True)

    def _opened(self) -> "Coroutine[Any, Any, Askbook]":
        from askbook.bootstrap import Askbook

        return self._open.enter_async_context(Askbook(self._settings))

    async def _joined(self, askbook: "Askbook", given: str) -> tuple[str, int]:
        """The session in its one spelling, and how many questions it holds."""
        await askbook.check_turn(given, self._scope)
        dialogue = await askbook.conversations.dialogue(given)
        return dialogue.session_id, dialogue.thread.turn_count if dialogue.thread else 0

    async def _turn(self, askbook: "Askbook", question: str) -> "AgentResponse":
        turn = askbook.converse(question, self.session_id, self._scope)
        async with aclosing(turn) as events:
            return await print_as_it_comes(events, silent=self._as_json)
