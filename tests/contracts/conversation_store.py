"""What every store of conversations must do. A store's test class inherits this and says how to open one."""

import asyncio
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from askbook.conversations import Conversations, ConversationStore, Message, Retrieval
from askbook.errors import Conflict, InvalidInput, NotFound

NOW = datetime(2026, 1, 2, 12, 0, 0, 123456, tzinfo=UTC)
MINE, YOURS = "mine", "yours"


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


def new_id() -> str:
    return str(uuid.uuid4())


class ConversationStoreContract:
    """Inherit it and define the fixture `store`."""

    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def conversations(self, store: ConversationStore, clock: Clock) -> Conversations:
        return Conversations(store, clock)

    async def say(
        self,
        conversations: Conversations,
        session_id: str,
        question: str = "What is a topic?",
        *,
        owner: str = MINE,
        book_id: str = "robots",
        metadata: dict[str, Any] | None = None,
    ) -> bool:
        async with conversations.turn(session_id, owner, metadata) as dialogue:
            dialogue.book(book_id)
            now: datetime = conversations._clock()
            return await dialogue.append(
                Message(role="user", content=question, timestamp=now),
                f"Answer to: {question}",
                book_id=book_id,
                confidence=0.5,
                retrievals=(
                    Retrieval(query=question, results_count=5, avg_similarity=0.25, timestamp=now),
                ),
            )

    @pytest.mark.spec("D24", "D29", "D30", "D37", "D38", "B36", "B39", "B40", "B47")
    async def test_the_first_message_begins_a_thread_and_each_other_joins_it(
        self, conversations: Conversations, clock: Clock
    ) -> None:
        session = new_id()
        async with conversations.turn(session, MINE) as dialogue:
            assert dialogue.history == ()
        with pytest.raises(NotFound):
            await conversations.history(session, MINE)
        await self.say(conversations, session, "First?")
        clock.now += timedelta(minutes=5)
        await self.say(conversations, session, "Second?")
        history = await conversations.history(session, MINE)
        assert [m.content for m in history.messages] == [
            *("First?", "Answer to: First?", "Second?", "Answer to: Second?")
        ]
        assert (history.thread.created_at, history.thread.updated_at) == (NOW, clock.now)
        assert history.thread.created_at.utcoffset() == timedelta(0)
        assert (history.thread.turn_count, history.thread.book_id) == (2, "robots")
        async with conversations.turn(session, MINE) as dialogue:
            assert dialogue.history == history.messages

    @pytest.mark.spec("B37", "B41", "D27", "D28", "D34", "D35", "D36")
    async def test_messages_come_back_as_they_were_said(self, conversations: Conversations) -> None:
        session = new_id()
        text = "Größe, \n日本語 and 🤖?"
        await self.say(conversations, session, text)
        asked, answered = (await conversations.history(session, MINE)).messages
        assert (asked.role, asked.content, asked.confidence) == ("user", text, None)
        assert (answered.role, answered.confidence) == ("assistant", 0.5)
        assert asked.timestamp == answered.timestamp == NOW

    async def test_characters_that_databases_refuse_are_replaced(
        self, conversations: Conversations
    ) -> None:
        session = new_id()
        await self.say(
            conversations, session, "a\x00b\ud800c", metadata={"k\x00": ["\x00", {"n": 1.5}]}
        )
        history = await conversations.history(session, MINE)
        assert history.messages[0].content == "a\ufffdb\ufffdc"
        assert history.thread.metadata == {"k\ufffd": ["\ufffd", {"n": 1.5}]}

    @pytest.mark.spec("B38", "B42", "B43", "B44", "B45", "B46")
    async def test_every_retrieval_is_remembered(self, conversations: Conversations) -> None:
        session = new_id()
        for n in range(30):
            await self.say(conversations, session, f"Question {n}?")
        history = await conversations.history(session, MINE, archived=True)
        assert [r.query for r in history.retrieval_history] == [f"Question {n}?" for n in range(30)]
        first = history.retrieval_history[0]
        assert (first.tool_name, first.results_count) == ("retrieve_documentation", 5)
        assert (first.avg_similarity, first.timestamp) == (0.25, NOW)

    @pytest.mark.spec("D25", "D26", "D27", "D28")
    async def test_the_newest_fifty_messages_stay_and_older_ones_are_put_aside(
        self, conversations: Conversations, clock: Clock
    ) -> None:
        session = new_id()
        for n in range(40):
            clock.now += timedelta(seconds=1)
            await self.say(conversations, session, f"Question {n}?")
        newest = await conversations.history(session, MINE)
        assert len(newest.messages) == 50
        assert newest.messages[0].content == "Question 15?"
        assert (newest.archived_count, newest.thread.turn_count) == (30, 40)
        whole = await conversations.history(session, MINE, archived=True)
        spoken = [*whole.earlier, *whole.messages]
        assert [m.content for m in spoken[::2]] == [f"Question {n}?" for n in range(40)]
        assert {m.role for m in spoken[::2]} == {"user"}
        assert {m.role for m in spoken[1::2]} == {"assistant"}
        assert [m.timestamp for m in spoken] == sorted(m.timestamp for m in spoken)

    async def test_a_clock_that_goes_back_does_not_reorder_messages(
        self, conversations: Conversations, clock: Clock
    ) -> None:
        session = new_id()
        await self.say(conversations, session)
        clock.now -= timedelta(minutes=30)
        await self.say(conversations, session, "And now?")
        history = await conversations.history(session, MINE)
        assert {m.timestamp for m in history.messages} == {NOW}

    @pytest.mark.spec("D31", "D32")
    async def test_from_the_fifth_exchange_on_there_is_a_topic(
        self, conversations: Conversations
    ) -> None:
        session = new_id()
        found: list[str | None] = []
        for n in range(6):
            await self.say(conversations, session, f"Which gearbox has torque {n}? {'x' * 300}")
            found.append((await conversations.history(session, MINE)).thread.topic_summary)
        assert found[:4] == [None] * 4
        assert all(summary and "gearbox" in summary for summary in found[4:])
        assert all(len(summary or "") <= 200 for summary in found)

    @pytest.mark.spec("D33")
    async def test_metadata_is_empty_at_first_and_grows_by_name(
        self, conversations: Conversations
    ) -> None:
        session = new_id()
        await self.say(conversations, session)
        assert (await conversations.history(session, MINE)).thread.metadata == {}
        await self.say(conversations, session, metadata={"tags": ["a"], "user_id": "u"})
        await self.say(conversations, session, metadata={"tags": ["b"]})
        known = (await conversations.history(session, MINE)).thread.metadata
        assert known == {"tags": ["b"], "user_id": "u"}
        with pytest.raises(InvalidInput, match="at most 50"):
            await self.say(conversations, session, metadata={str(n): n for n in range(49)})
        assert (await conversations.history(session, MINE)).thread.turn_count == 3

    @pytest.mark.spec("D39")
    async def test_an_idle_thread_is_archived_and_its_next_message_brings_it_back(
        self, conversations: Conversations, clock: Clock
    ) -> None:
        session, fresh = new_id(), new_id()
        await self.say(conversations, session)
        clock.now += timedelta(hours=1)
        assert await conversations.archive_idle() == 0
        clock.now += timedelta(seconds=1)
        await self.say(conversations, fresh)
        assert await conversations.archive_idle() == 1
        [active] = await conversations.sessions(MINE)
        [archived] = await conversations.sessions(MINE, archived=True)
        assert (active.thread_id, archived.thread_id) == (fresh, session)
        assert archived.archived_at == clock.now
        await self.say(conversations, new_id(), owner=YOURS)
        assert await conversations.active() == 2
        history = await conversations.history(session, MINE)
        assert len(history.messages) == 2
        await self.say(conversations, session, "Still there?")
        history = await conversations.history(session, MINE)
        assert (history.thread.archived_at, len(history.messages)) == (None, 4)
        assert [t.thread_id for t in await conversations.sessions(MINE)][-1:] != []
        assert await conversations.sessions(MINE, archived=True) == []

    async def test_threads_are_listed_the_last_used_first(
        self, conversations: Conversations, clock: Clock
    ) -> None:
        sessions = [new_id() for _ in range(4)]
        for session in sessions:
            clock.now += timedelta(seconds=1)
            await self.say(conversations, session)
        clock.now += timedelta(seconds=1)
        await self.say(conversations, sessions[1])
        listed = [t.thread_id for t in await conversations.sessions(MINE)]
        assert listed == [sessions[1], sessions[3], sessions[2], sessions[0]]
        page = await conversations.sessions(MINE, limit=2, offset=1)
        assert [t.thread_id for t in page] == listed[1:3]

    @pytest.mark.spec("D40")
    async def test_a_deleted_thread_is_gone_with_all_its_messages(
        self, conversations: Conversations, store: ConversationStore
    ) -> None:
        session = new_id()
        for n in range(27):
            await self.say(conversations, session, f"Question {n}?")
        assert len(await store.archived(MINE, session)) == 4
        await conversations.delete(session, MINE)
        with pytest.raises(NotFound):
            await conversations.history(session, MINE)
        with pytest.raises(NotFound):
            await conversations.delete(session, MINE)
        await self.say(conversations, session, "Anew?")
        whole = await conversations.history(session, MINE, archived=True)
        assert [m.content for m in (*whole.earlier, *whole.messages)] == [
            *("Anew?", "Answer to: Anew?")
        ]

    async def test_to_others_a_thread_does_not_exist(
        self, conversations: Conversations, store: ConversationStore
    ) -> None:
        session = new_id()
        for n in range(26):
            await self.say(conversations, session, f"Question {n}?")
        before = await store.read(MINE, session)
        with pytest.raises(NotFound):
            await conversations.history(session, YOURS, archived=True)
        with pytest.raises(NotFound):
            await conversations.delete(session, YOURS)
        with pytest.raises(NotFound):
            await self.say(conversations, session, owner=YOURS)
        assert await conversations.sessions(YOURS) == []
        assert await conversations.sessions(YOURS, archived=True) == []
        assert await store.archived(YOURS, session) == []
        assert before is not None
        assert not await store.write(replace(before, owner=YOURS, version=before.version + 1))
        assert not await store.write(replace(before, owner=YOURS, version=1))
        assert await store.read(MINE, session) == before

    async def test_a_thread_stays_with_its_book(self, conversations: Conversations) -> None:
        session = new_id()
        await self.say(conversations, session)
        with pytest.raises(Conflict, match="'robots', not 'cooking'"):
            await self.say(conversations, session, book_id="cooking")
        assert (await conversations.history(session, MINE)).thread.turn_count == 1

    async def test_only_the_next_version_is_written(
        self, conversations: Conversations, store: ConversationStore
    ) -> None:
        session = new_id()
        await self.say(conversations, session)
        await self.say(conversations, session)
        now = await store.read(MINE, session)
        assert now is not None
        assert now.version == 2
        for version in (1, 2, 4):
            assert not await store.write(replace(now, version=version, metadata={"wrong": True}))
        begun_again = replace(now, version=3, created_at=NOW - timedelta(days=1))
        assert not await store.write(begun_again)
        assert await store.read(MINE, session) == now
        assert await store.write(replace(now, version=3))

    async def test_turns_of_one_session_follow_each_other(
        self, conversations: Conversations
    ) -> None:
        session, seen = new_id(), list[int]()

        async def turn(n: int) -> None:
            async with conversations.turn(session, MINE) as dialogue:
                seen.append(len(dialogue.history))
                await asyncio.sleep(0.002)
                asked = Message(role="user", content=f"Question {n}?", timestamp=NOW)
                await dialogue.append(asked, "Yes.", book_id="robots", confidence=1.0)

        await asyncio.gather(*(turn(n) for n in range(10)))
        assert seen == list(range(0, 20, 2))

    async def test_turns_of_several_processes_lose_nothing(
        self, store: ConversationStore, clock: Clock
    ) -> None:
        """Each process has its own locks; only the version stands between them."""
        session = new_id()
        processes = [Conversations(store, clock) for _ in range(6)]

        async def talk(n: int) -> None:
            for turn in range(6):
                assert await self.say(processes[n], session, f"Question {n}.{turn}?")

        await asyncio.gather(*(talk(n) for n in range(6)))
        whole = await processes[0].history(session, MINE, archived=True)
        spoken = [*whole.earlier, *whole.messages]
        asked = [m.content for m in spoken[::2]]
        assert sorted(asked) == [f"Question {n}.{turn}?" for n in range(6) for turn in range(6)]
        assert [m.content for m in spoken[1::2]] == [f"Answer to: {a}" for a in asked]
        assert whole.thread.turn_count == 36

    async def test_an_interrupted_turn_leaves_nothing(self, conversations: Conversations) -> None:
        session = new_id()
        await self.say(conversations, session)
        with pytest.raises(asyncio.CancelledError):
            async with conversations.turn(session, MINE):
                raise asyncio.CancelledError
        assert (await conversations.history(session, MINE)).thread.turn_count == 1
        assert await self.say(conversations, session)

    async def test_a_turn_does_not_bring_back_what_was_deleted_meanwhile(
        self, conversations: Conversations
    ) -> None:
        session = new_id()
        await self.say(conversations, session, "A secret?")
        async with conversations.turn(session, MINE) as dialogue:
            await conversations.delete(session, MINE)
            asked = Message(role="user", content="More?", timestamp=NOW)
            assert not await dialogue.append(asked, "No.", book_id="robots", confidence=1.0)
        with pytest.raises(NotFound):
            await conversations.history(session, MINE)

    @pytest.mark.spec("D4", "D24")
    @pytest.mark.parametrize("wrong", ["", "mine", "17b317fa-e144-11f1-8dbc-02fc00000001"])
    async def test_a_session_is_a_uuid4(self, conversations: Conversations, wrong: str) -> None:
        with pytest.raises(InvalidInput, match="UUID v4"):
            await conversations.history(wrong, MINE)
        with pytest.raises(InvalidInput, match="UUID v4"):
            await self.say(conversations, wrong)
