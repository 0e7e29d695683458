"""The extractive answer under the contract of a streamed one: sources, then sentences."""

import re
from collections.abc import AsyncGenerator, Iterator

from askbook.agent.events import SentenceVerified, SourcesFound
from askbook.agent.extractive import answer_extractively, unescape_marks
from askbook.agent.guardrails import gives_orders, orders_in
from askbook.book import Book
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.judging import Judge


async def quote(
    context: RetrievalContext, book: Book, judge: Judge | None, said: str = "", heard: str = ""
) -> AsyncGenerator[SourcesFound | SentenceVerified]:
    """What the book says, word for word; nothing of what speaks to an assistant instead of to the reader."""
    judging = judge if context.was_judged else None
    answer = await answer_extractively(context, book, judging, said, heard)
    if answer is None:
        return
    yield SourcesFound(answer.citations)
    by_number = {citation.n: citation for citation in answer.citations}
    texts = {result.chunk_id: result.text for result in answer.cited}
    is_first = True
    for joint, text, numbers in _pieces(answer.text):
        citations = tuple(by_number[n] for n in numbers if n in by_number)
        if any(_is_order(text, texts[citation.chunk_id]) for citation in citations):
            continue
        yield SentenceVerified(text, "" if is_first else joint, citations)
        is_first = False


_MARKED_END = re.compile(r"(?:\s?\[\d{1,3}\])+(?=\s|$)")


def _pieces(text: str) -> Iterator[tuple[str, str, list[int]]]:
    """A quoted answer at its citation marks: the gap before, the text with its marks, their numbers."""
    position = 0
    for match in _MARKED_END.finditer(text):
        piece = text[position : match.end()]
        body = piece.lstrip()
        numbers = [int(n) for n in re.findall(r"\d+", match.group())]
        yield piece[: len(piece) - len(body)], body, numbers
        position = match.end()
    if rest := text[position:].strip():
        gap = text[position:]
        yield gap[: len(gap) - len(gap.lstrip())], rest, []


def _is_order(quoted: str, passage: str) -> bool:
    """Whether a quotation comes from a paragraph that speaks to an assistant instead of to the reader."""
    words = unescape_marks(_MARKED_END.sub("", quoted)).removeprefix("- ").strip()
    at = passage.find(words.splitlines()[0][:80]) if words else -1
    return gives_orders(words) or any(start <= at < end for start, end in orders_in(passage))
