"""Reads and splits planned lessons into batches that can be embedded and switched. Synchronous: run it in a thread."""

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime

from askbook.book import DocumentChunk, content_hash, parent_doc_id
from askbook.ingestion.planning import (
    IncludeHashes,
    PlannedLesson,
    Unit,
    inputs_hash,
    place_to_json,
    reason,
)
from askbook.ingestion.readers.base import Reader
from askbook.ingestion.splitting import split_lesson
from askbook.storage.rows import ShelvedLesson

BATCH_CHUNKS = 128
"""Enough to keep every core busy, few enough that little is lost when the process dies."""
BATCH_REMOVALS = 200


@dataclass(frozen=True, slots=True)
class PreparedLesson:
    """A lesson in its new form; `whole` when nothing of its old form is to be relied on."""

    lesson: ShelvedLesson
    chunks: tuple[DocumentChunk, ...]
    whole: bool = False


@dataclass(slots=True)
class Batch:
    """Whole units that are embedded and switched together."""

    lessons: list[PreparedLesson] = field(default_factory=list[PreparedLesson])
    removed: list[str] = field(default_factory=list[str])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    warnings: list[str] = field(default_factory=list[str])
    text_hashes: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def chunks(self) -> list[DocumentChunk]:
        return [chunk for prepared in self.lessons for chunk in prepared.chunks]

    def is_full(self) -> bool:
        return len(self.text_hashes) >= BATCH_CHUNKS or len(self.removed) >= BATCH_REMOVALS


def prepare(
    reader: Reader,
    units: list[Unit],
    count_tokens: Callable[[Sequence[str]], list[int]],
    now: datetime,
    staying: Collection[str] = (),
) -> Iterator[Batch]:
    """Batches of whole units, in order; a lesson that cannot be read holds back who needs its slot.

    `staying` are files known before to keep what they hold. The units are taken out of the list: of a big
    book they fill the memory that the index will need.
    """
    preparer = _Preparer(reader, count_tokens, now, staying)
    batch = Batch()
    units.reverse()
    while units:
        preparer.add(units.pop(), batch)
        if batch.is_full():
            yield batch
            batch = Batch()
    if batch.lessons or batch.removed or batch.failed:
        yield batch


class _Preparer:
    def __init__(
        self,
        reader: Reader,
        count_tokens: Callable[[Sequence[str]], list[int]],
        now: datetime,
        staying: Collection[str],
    ) -> None:
        self._reader = reader
        self._count_tokens = count_tokens
        self._now = now
        self._includes = IncludeHashes(reader)
        self._staying = set(staying)

    def add(self, unit: Unit, batch: Batch) -> None:
        prepared: list[PreparedLesson] = []
        failed: dict[str, str] = {}
        blame = [path for path in unit.after if path in self._staying]
        for planned in () if blame else unit.lessons:
            try:
                prepared.append(self._read(planned, batch.warnings))
            except Exception as error:
                # Whatever is wrong with one file, the others are not to suffer from it.
                failed[planned.declared.source_file] = reason(error)
        if failed or blame:
            taken = f"its place is still taken by {', '.join(blame or failed)}"
            for planned in unit.lessons:
                failed.setdefault(planned.declared.source_file, taken)
                if planned.before is not None:
                    self._staying.add(planned.before.source_file)
            self._staying.update(unit.removed)
            batch.failed.update(failed)
            return
        batch.lessons.extend(prepared)
        batch.removed.extend(unit.removed)
        for lesson in prepared:
            for chunk in lesson.chunks:
                batch.text_hashes[chunk.id] = content_hash(chunk.embedded_text)

    def _read(self, planned: PlannedLesson, warnings: list[str]) -> PreparedLesson:
        declared, place, before = planned.declared, planned.place, planned.before
        data = self._reader.load(declared.source_file)
        changed = hashlib.sha256(data).hexdigest() != planned.file_hash
        if changed:
            warnings.append(
                f"{declared.source_file} changed while it was being read; ingest again to be sure."
            )
        lesson = self._reader.read(declared, place, data)
        warnings.extend(lesson.warnings)
        version = before.version if before else 1
        created_at = before.created_at if before else self._now
        updated_at = before.ingested_at if before else self._now
        chunks = split_lesson(
            lesson,
            book=self._reader.book,
            count_tokens=self._count_tokens,
            created_at=created_at,
            updated_at=updated_at,
            version=version,
        )
        slot = place.slot
        shelved = ShelvedLesson(
            book_id=self._reader.book.book_id,
            source_file=declared.source_file,
            position=planned.position,
            file_hash=planned.file_hash,
            inputs_hash=""  # the next run reads it again
            if changed
            else inputs_hash(planned.file_hash, lesson.includes, self._includes),
            module=slot.module,
            chapter=slot.chapter,
            lesson=slot.lesson,
            parent_doc_id=parent_doc_id(
                self._reader.book.book_id, slot.module, slot.chapter, slot.lesson
            ),
            page_title=lesson.page_title,
            url=lesson.url,
            headings=tuple(block.heading for block in lesson.blocks if block.heading is not None),
            includes=lesson.includes,
            declared=asdict(declared),
            place=place_to_json(place),
            warnings=lesson.warnings,
            chunk_count=len(chunks),
            version=version,
            created_at=created_at,
            ingested_at=updated_at,
        )
        return PreparedLesson(
            shelved, tuple(chunks), whole=before is not None and not before.inputs_hash
        )
