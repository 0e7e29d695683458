"""What readers think of answers: taken with the exchange it is about, listed for the author."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from askbook.conversations import Conversations
from askbook.errors import NotFound
from askbook.gaps.cleaning import REMOVED, cleaned
from askbook.storage.feedback import FeedbackStore, Rating, Vote


@dataclass(frozen=True, slots=True)
class FeedbackList:
    """The votes of one kind on answers of one book, and how many there are of each."""

    book_id: str
    up: int
    down: int
    votes: tuple[Vote, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "book_id": self.book_id,
            "up": self.up,
            "down": self.down,
            "votes": [
                {
                    "rating": vote.rating,
                    "question": vote.question,
                    "answer": vote.answer,
                    "comment": vote.comment,
                    "turn": vote.turn,
                    "given_at": vote.given_at.isoformat(),
                }
                for vote in self.votes
            ],
        }


async def rate_answer(
    conversations: Conversations,
    store: FeedbackStore,
    owner: str,
    session_id: str,
    rating: Rating,
    comment: str | None,
    turn: int | None,
) -> None:
    """Keep an owner's vote on an exchange of a session, the last one unless another is named."""
    history = await conversations.history(session_id, owner, archived=turn is not None)
    thread, spoken = history.thread, (*history.earlier, *history.messages)
    number = thread.turn_count if turn is None else turn
    if not 1 <= number <= thread.turn_count:
        raise NotFound(
            f"The conversation {thread.thread_id} has no exchange {number}.",
            f"It has {thread.turn_count}; leave turn out to rate the last one.",
        )
    # Counted from the end: without the earlier messages the newest are all there is.
    at = len(spoken) - 2 * (thread.turn_count - number + 1)
    kept = await store.save(
        Vote(
            thread_id=thread.thread_id,
            turn=number,
            book_id=thread.book_id,
            rating=rating,
            comment=comment,
            question=cleaned(spoken[at].content) or REMOVED,
            answer=spoken[at + 1].content,
            given_at=datetime.now(UTC),
        )
    )
    if not kept:
        raise NotFound(f"There is no conversation {session_id}.", "It was deleted meanwhile.")


async def list_votes(
    store: FeedbackStore, book_id: str, rating: Rating, limit: int
) -> FeedbackList:
    """The newest votes of one kind, for the author; whose they are is not told."""
    totals = await store.totals(book_id)
    votes = await store.votes(book_id, rating, limit)
    return FeedbackList(book_id, totals["up"], totals["down"], tuple(votes))
