"""What is indexed of a book, file by file, and how it differs from the files now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from askbook.storage.library import Library


@dataclass(frozen=True, slots=True)
class IngestionRecord:
    """One indexed file."""

    source_file: str
    file_hash: str
    chunk_ids: tuple[str, ...]
    ingested_at: datetime
    book_id: str
    module: str
    chapter: int
    lesson: int

    @property
    def chunk_count(self) -> int:
        return len(self.chunk_ids)


@dataclass(frozen=True, slots=True)
class IngestionState:
    """All indexed files of a book."""

    book_id: str
    collection_name: str
    fingerprint: str
    records: Mapping[str, IngestionRecord]
    last_full_ingest: datetime | None
    last_incremental_update: datetime | None

    @property
    def total_chunks(self) -> int:
        return sum(record.chunk_count for record in self.records.values())

    def get_changed_files(
        self, current_files: Mapping[str, str]
    ) -> tuple[list[str], list[str], list[str]]:
        """(new, modified, deleted) between these file hashes and the records."""
        new = [path for path in current_files if path not in self.records]
        modified = [
            path
            for path, file_hash in current_files.items()
            if path in self.records and self.records[path].file_hash != file_hash
        ]
        deleted = [path for path in self.records if path not in current_files]
        return new, modified, deleted

    def get_chunks_to_delete(self, files: Sequence[str]) -> list[str]:
        """All chunk ids of these files; files that were never indexed have none."""
        return [
            chunk_id
            for path in files
            if path in self.records
            for chunk_id in self.records[path].chunk_ids
        ]


async def load_state(library: Library, book_id: str, collection_name: str) -> IngestionState | None:
    """The state of a book, or None when it was never ingested."""
    shelved = await library.book(book_id)
    if shelved is None:
        return None
    ids = await library.chunk_ids(book_id)
    lessons = await library.lessons(book_id)
    return IngestionState(
        book_id=book_id,
        collection_name=collection_name,
        fingerprint=shelved.fingerprint,
        records={
            path: IngestionRecord(
                source_file=path,
                file_hash=lesson.file_hash,
                chunk_ids=tuple(ids.get(path, ())),
                ingested_at=lesson.ingested_at,
                book_id=book_id,
                module=lesson.module,
                chapter=lesson.chapter,
                lesson=lesson.lesson,
            )
            for path, lesson in lessons.items()
        },
        last_full_ingest=shelved.last_full_ingest,
        last_incremental_update=shelved.last_incremental_update,
    )
