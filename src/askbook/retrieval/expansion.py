"""What stands around a hit: its neighbours by the chain, and hits that touch made one passage."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from askbook.book import DocumentChunk
from askbook.index import ChunkFilter
from askbook.storage.library import Library


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive chunks of one lesson, in reading order; `hits` are those the search found."""

    chunks: tuple[DocumentChunk, ...]
    hits: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n\n".join(chunk.text for chunk in self.chunks)


async def surroundings(
    library: Library, where: ChunkFilter, chunk_id: str, reach: int = 1
) -> Passage | None:
    """A chunk with up to `reach` neighbours on each side, as far as the filter admits them."""
    found = await library.chunks(where.book_id, [chunk_id])
    centre = found.get(chunk_id)
    if centre is None or not where.admits(centre.metadata):
        return None
    before, after = [centre], [centre]
    for _ in range(reach):
        wanted = [before[-1].metadata.prev_chunk_id, after[-1].metadata.next_chunk_id]
        loaded = await library.chunks(where.book_id, [i for i in wanted if i is not None])
        for side, neighbour_id in ((before, wanted[0]), (after, wanted[1])):
            neighbour = loaded.get(neighbour_id or "")
            if neighbour is not None and where.admits(neighbour.metadata):
                side.append(neighbour)
    return Passage((*reversed(before[1:]), *after), (chunk_id,))


async def passages_of(
    library: Library,
    where: ChunkFilter,
    hits: Sequence[DocumentChunk],
    *,
    budget: int,
    count_tokens: Callable[[Sequence[str]], list[int]],
    reach: int = 1,
) -> list[Passage]:
    """The hits with their neighbours, within a budget of tokens, touching ones merged.

    Hits come first, best first; what is left of the budget goes to neighbours, those of the best hits first.
    """
    around: dict[str, DocumentChunk] = {}
    near: list[str] = []
    for hit in hits:
        passage = await surroundings(library, where, hit.id, reach)
        chunks = () if passage is None else passage.chunks
        around.update({chunk.id: chunk for chunk in chunks})
        near += [chunk.id for chunk in sorted(chunks, key=_distance_from(hit))]
    order = list(dict.fromkeys([*(hit.id for hit in hits if hit.id in around), *near]))
    sizes = dict(zip(order, count_tokens([around[i].text for i in order]), strict=True))
    kept: dict[str, DocumentChunk] = {}
    for chunk_id in order:
        if sizes[chunk_id] <= budget:
            budget -= sizes[chunk_id]
            kept[chunk_id] = around[chunk_id]
    return merge(list(kept.values()), [hit.id for hit in hits if hit.id in kept])


def merge(chunks: Sequence[DocumentChunk], hits: Sequence[str]) -> list[Passage]:
    """Consecutive chunks of a lesson become one passage; passages are ordered by their best hit."""
    runs: list[list[DocumentChunk]] = []
    for chunk in sorted(chunks, key=lambda c: (c.metadata.parent_doc_id, c.metadata.chunk_index)):
        if runs and runs[-1][-1].metadata.next_chunk_id == chunk.id:
            runs[-1].append(chunk)
        else:
            runs.append([chunk])
    rank = {chunk_id: position for position, chunk_id in enumerate(hits)}
    passages = [
        Passage(
            tuple(run), tuple(sorted((c.id for c in run if c.id in rank), key=rank.__getitem__))
        )
        for run in runs
    ]
    return sorted((passage for passage in passages if passage.hits), key=lambda p: rank[p.hits[0]])


def _distance_from(hit: DocumentChunk) -> Callable[[DocumentChunk], int]:
    return lambda chunk: abs(chunk.metadata.chunk_index - hit.metadata.chunk_index)
