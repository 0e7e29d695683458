"""Split a lesson into chunks: whole sections where they fit, balanced parts where they do not.

Every visible character of the lesson lands in exactly one chunk. Sizes are real tokens of what is
embedded: breadcrumb, newline, text and the embedder's two special tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from askbook.book import (
    Block,
    Book,
    DocumentChunk,
    DocumentMetadata,
    Heading,
    Lesson,
    Section,
    chunk_id,
    content_hash,
    parent_doc_id,
)
from askbook.book.chunk import MIN_TEXT_LENGTH
from askbook.ingestion.breadcrumbs import breadcrumb
from askbook.ingestion.packing import Atom, pack
from askbook.ingestion.pieces import BLANK_LINE, CountTokens, at_the_margin, cut_block, joined

SPLITTER_VERSION = 2
"""Raise it when the same lesson gives other chunks: lessons are then split again."""

SPECIAL_TOKENS = 2
_LEAD_IN_TOKENS = 60
_BLANK_LINE = 2
# Sums of separately counted pieces differ from the count of the whole by at most a few tokens.
_DOUBT = 24


@dataclass(frozen=True, slots=True)
class _Part:
    """Blocks that become one chunk, with the headings they stand under."""

    blocks: tuple[Block, ...]
    path: tuple[Heading, ...]
    estimate: int


def split_lesson(
    lesson: Lesson,
    *,
    book: Book,
    count_tokens: CountTokens,
    created_at: datetime,
    updated_at: datetime,
    version: int = 1,
    target: int = 400,
    maximum: int = 512,
) -> list[DocumentChunk]:
    """The chunks of a lesson in order; none when it has fewer than ten visible characters."""
    if len("".join(block.text.strip() for block in lesson.blocks)) < MIN_TEXT_LENGTH:
        return []
    parts = _parts(lesson, count_tokens, target, maximum)
    texts = [joined(part.blocks) for part in parts]
    hashes = [content_hash(text) for text in texts]
    slot = lesson.slot
    place = (book.book_id, slot.module, slot.chapter, slot.lesson)
    seen: dict[str, int] = {}
    ids: list[str] = []
    for each in hashes:
        ids.append(chunk_id(*place, each, seen.get(each, 0)))
        seen[each] = seen.get(each, 0) + 1
    parent = parent_doc_id(*place)
    chunks: list[DocumentChunk] = []
    for index, (part, text) in enumerate(zip(parts, texts, strict=True)):
        nearest = part.path[-1] if part.path else None
        pages = [block.page for block in part.blocks if block.page is not None]
        anchor = nearest.anchor if nearest else ""
        if pages:
            anchor = f"page={min(pages)}"  # viewers of PDF open it there
        chunks.append(
            DocumentChunk(
                ids[index],
                text,
                DocumentMetadata(
                    book_id=book.book_id,
                    module=slot.module,
                    chapter=slot.chapter,
                    lesson=slot.lesson,
                    hardware_tier=lesson.hardware_tier,
                    proficiency_level=lesson.proficiency_level,
                    layer=lesson.layer,
                    source_file=lesson.source_file,
                    source_file_hash=lesson.source_file_hash,
                    parent_doc_id=parent,
                    chunk_index=index,
                    total_chunks=len(parts),
                    content_hash=hashes[index],
                    page_title=lesson.page_title,
                    chapter_title=lesson.chapter_title,
                    section_title=nearest.title if nearest else None,
                    breadcrumb=breadcrumb(lesson, part.path),
                    url=f"{lesson.url}#{anchor}" if anchor else lesson.url,
                    char_start=min(block.start for block in part.blocks),
                    char_end=max(block.end for block in part.blocks),
                    page_start=min(pages) if pages else None,
                    page_end=max(pages) if pages else None,
                    prev_chunk_id=ids[index - 1] if index else None,
                    next_chunk_id=ids[index + 1] if index + 1 < len(ids) else None,
                    created_at=created_at,
                    updated_at=updated_at,
                    version=version,
                ),
                _sections(part.blocks),
            )
        )
    return chunks


def _sections(blocks: Sequence[Block]) -> tuple[Section, ...]:
    """The headings inside a chunk, without one that it begins with."""
    if all(block.heading is None for block in blocks[1:]):
        return ()
    texts = at_the_margin(blocks)
    sections: list[Section] = []
    start = -_indent(texts[0])  # a chunk's text is stripped
    for index, (block, text) in enumerate(zip(blocks, texts, strict=True)):
        if index and block.heading is not None:
            place = start + _indent(text)
            sections.append(Section(place, block.heading.title, block.heading.anchor))
        start += len(text) + len(BLANK_LINE)
    return tuple(sections)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _parts(lesson: Lesson, count_tokens: CountTokens, target: int, maximum: int) -> list[_Part]:
    paths = _heading_paths(lesson.blocks)
    crumb_of = {path: breadcrumb(lesson, path) + "\n" for path in dict.fromkeys(paths)}
    crumbs = [crumb_of[path] for path in paths]
    unique = list(dict.fromkeys(crumbs))
    counts = count_tokens([*unique, *(block.text for block in lesson.blocks)])
    overhead_of = {
        crumb: count + SPECIAL_TOKENS for crumb, count in zip(unique, counts, strict=False)
    }
    atoms = _atoms(
        lesson.blocks,
        paths,
        crumbs,
        overhead_of,
        counts[len(unique) :],
        count_tokens,
        target,
        maximum,
    )
    groups = pack(atoms, target, maximum)
    parts = [
        _Part(
            tuple(block for atom in group for block in atom.blocks),
            group[0].path,
            sum(atom.tokens for atom in group) + group[0].overhead,
        )
        for group in groups
    ]
    return _checked(parts, lesson, count_tokens, maximum)


def _heading_paths(blocks: Sequence[Block]) -> list[tuple[Heading, ...]]:
    """For each block the headings it stands under; a heading stands under itself."""
    paths: list[tuple[Heading, ...]] = []
    path: tuple[Heading, ...] = ()
    for block in blocks:
        path = _under(path, block)
        paths.append(path)
    return paths


def _under(path: tuple[Heading, ...], block: Block) -> tuple[Heading, ...]:
    if block.heading is None:
        return path
    return (*(above for above in path if above.level < block.heading.level), block.heading)


def _atoms(
    blocks: Sequence[Block],
    paths: Sequence[tuple[Heading, ...]],
    crumbs: Sequence[str],
    overhead_of: dict[str, int],
    counts: Sequence[int],
    count_tokens: CountTokens,
    target: int,
    maximum: int,
) -> list[Atom]:
    """Blocks that must stay together, each group within the maximum; bigger blocks are cut."""
    atoms: list[Atom] = []
    held: list[Block] = []  # headings and lead-ins that wait for what they introduce
    held_tokens = held_from = 0

    def release(block: Block | None, tokens: int, index: int) -> None:
        nonlocal held, held_tokens
        members = (*held, block) if block is not None else tuple(held)
        first = held_from if held else index
        if members:
            atoms.append(
                Atom(members, held_tokens + tokens, overhead_of[crumbs[first]], paths[first])
            )
        held, held_tokens = [], 0

    for index, (block, tokens) in enumerate(zip(blocks, counts, strict=True)):
        room = maximum - overhead_of[crumbs[held_from if held else index]]
        tokens += _BLANK_LINE
        following = index + 1 < len(blocks)
        fits_alone = held_tokens + tokens > room >= tokens and block.kind != "heading"
        if fits_alone and all(member.kind != "heading" for member in held):
            release(None, 0, index)
            room = maximum - overhead_of[crumbs[index]]
        if held_tokens + tokens > room:
            fits = maximum - overhead_of[crumbs[index]] - _BLANK_LINE
            aim = target - overhead_of[crumbs[index]] - _BLANK_LINE
            first = room - held_tokens - _BLANK_LINE
            for piece, size in cut_block(block, count_tokens, fits, aim, first):
                release(piece, size + _BLANK_LINE, index)
            continue
        introduces = block.kind == "heading" or (
            tokens <= _LEAD_IN_TOKENS and block.kind == "text" and _is_lead_in(block.text)
        )
        if introduces and following:
            if not held:
                held_from = index
            held.append(block)
            held_tokens += tokens
        else:
            release(block, tokens, index)
    release(None, 0, len(blocks) - 1)
    return _without_tiny(atoms)


def _is_lead_in(text: str) -> bool:
    stripped = text.rstrip()
    return stripped.endswith(":") or (
        stripped.startswith("**") and stripped.endswith("**") and "\n" not in stripped
    )


def _without_tiny(atoms: list[Atom]) -> list[Atom]:
    """Join what is under ten characters to its neighbour; it can never be a chunk of its own."""
    merged: list[Atom] = []
    for atom in atoms:
        if merged and (_is_tiny(atom) or _is_tiny(merged[-1])):
            merged[-1] = merged[-1].joined_with(atom)
        else:
            merged.append(atom)
    return merged


def _is_tiny(atom: Atom) -> bool:
    longest = max(len(block.text.strip()) for block in atom.blocks)
    return longest < MIN_TEXT_LENGTH and len(joined(atom.blocks)) < MIN_TEXT_LENGTH


def _checked(
    parts: list[_Part], lesson: Lesson, count_tokens: CountTokens, maximum: int
) -> list[_Part]:
    """Count what will be embedded where the estimate comes near the maximum; halve what exceeds it."""
    doubtful = [part for part in parts if part.estimate + _DOUBT > maximum]
    while doubtful:
        sizes = count_tokens(
            [f"{breadcrumb(lesson, p.path)}\n{joined(p.blocks)}" for p in doubtful]
        )
        too_big = [
            part
            for part, size in zip(doubtful, sizes, strict=True)
            if size + SPECIAL_TOKENS > maximum
        ]
        doubtful = list[_Part]()
        for part in too_big:
            halves = _halved(part, count_tokens)
            at = next(index for index, each in enumerate(parts) if each is part)
            parts[at : at + 1] = halves
            doubtful.extend(halves if len(halves) > 1 else [])
    return parts


def _halved(part: _Part, count_tokens: CountTokens) -> list[_Part]:
    """Two parts, cut between blocks near the middle, else inside the biggest block."""
    blocks = part.blocks
    middle = sum(len(block.text) for block in blocks) / 2
    chosen: tuple[float, int] | None = None
    before = 0
    for index in range(1, len(blocks)):
        before += len(blocks[index - 1].text)
        sides = (joined(blocks[:index]), joined(blocks[index:]))
        if blocks[index - 1].kind != "heading" and min(map(len, sides)) >= MIN_TEXT_LENGTH:
            distance = abs(before - middle)
            if chosen is None or distance < chosen[0]:
                chosen = (distance, index)
    if chosen is None:
        biggest = max(range(len(blocks)), key=lambda index: len(blocks[index].text))
        (size,) = count_tokens([blocks[biggest].text])
        pieces = [
            piece for piece, _ in cut_block(blocks[biggest], count_tokens, size // 2 + 8, size // 2)
        ]
        if len(pieces) < 2:
            return [part]
        whole = (*blocks[:biggest], *pieces, *blocks[biggest + 1 :])
        return _halved(_Part(whole, part.path, part.estimate), count_tokens)
    first, second = blocks[: chosen[1]], blocks[chosen[1] :]
    path = part.path
    for block in first if second[0].heading is None else (*first, second[0]):
        path = _under(path, block)
    half = part.estimate
    return [_Part(first, part.path, half), _Part(second, path, half)]
