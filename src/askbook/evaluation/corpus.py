"""Makes any corpus a book and indexes it through the real pipeline, in a cache of its own beside the data directory.

A cached index is found by the corpus's content and the embedder. When the code that reads or splits has
changed since, the lessons are read again; texts that stayed the same keep their vectors.
"""

import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from askbook.book import IngestionMode
from askbook.bootstrap import Askbook
from askbook.config import Settings
from askbook.evaluation.datasets import Passage, read_passages
from askbook.ingestion import readers, splitting
from askbook.ingestion.jobs import Progress

BOOK_ID = "corpus"
STATE_FILE = "evaluation.json"
DOCUMENTS_FILE = "documents.json"
TITLE_LENGTH = 80


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document stands: its id in the dataset and how many characters we put before its text."""

    doc_id: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder ready to be ingested, and the documents its files stand for."""

    folder: Path
    data_dir: Path
    content: str
    places: Mapping[str, Place] = field(default_factory=dict[str, Place])

    def place(self, source_file: str) -> Place:
        """The document a lesson was read from; files of a real book are their own documents."""
        return self.places.get(source_file) or Place(source_file)


def cache_beside(data_dir: Path) -> Path:
    """Where evaluation keeps its own indexes: never inside the user's data."""
    return data_dir.with_name(f"{data_dir.name or 'askbook'}-eval")


def prepare_corpus(source: Path, cache: Path, embedder: str) -> Corpus:
    """The corpus as a folder of lessons, written once per content; its index is found by `embedder`."""
    content = _content_hash(source)
    key = hashlib.sha256(f"{content}:{embedder}".encode()).hexdigest()[:16]
    data_dir = cache / key
    if source.is_dir():
        return Corpus(source, data_dir, content)
    folder = cache / "passages" / content[:16]
    listing = folder / DOCUMENTS_FILE
    if not listing.exists():
        _write_lessons(source, folder, listing)
    places = {
        file: Place(doc_id, offset)
        for file, doc_id, offset in json.loads(listing.read_text(encoding="utf-8"))
    }
    return Corpus(folder, data_dir, content, places)


def settings_of(corpus: Corpus, settings: Settings) -> Settings:
    """The settings with the corpus's own data directory; servers that hold a user's books are left alone."""
    place = {"data_dir": corpus.data_dir, "database_url": None}
    return replace(
        settings,
        storage=settings.storage.model_copy(update=place),
        index=settings.index.model_copy(update={"qdrant_url": None}),
    )


async def index_corpus(askbook: Askbook, corpus: Corpus) -> AsyncIterator[Progress]:
    """Bring the index up to date; nothing happens when neither corpus nor code has changed."""
    state = corpus.data_dir / STATE_FILE
    fingerprint = str(askbook.embedder.fingerprint)
    current = {"content": corpus.content, "code": _code_hash(), "fingerprint": fingerprint}
    known: dict[str, str] = json.loads(state.read_text(encoding="utf-8")) if state.exists() else {}
    if known == current:
        return
    shelved = await askbook.library.book(BOOK_ID)
    mode: IngestionMode = "full" if shelved and known else "incremental"
    if shelved is not None and shelved.fingerprint != fingerprint:
        mode = "recreate"
    async for progress in askbook.ingest(corpus.folder, BOOK_ID, mode):
        yield progress
    state.write_text(json.dumps(current), encoding="utf-8")


def as_markdown(passage: Passage) -> tuple[str, int]:
    """A passage as a lesson: its title in frontmatter, its text untouched; and where the text begins."""
    first_line = next((line.strip() for line in passage.text.splitlines() if line.strip()), "")
    title = " ".join((passage.title or first_line or passage.doc_id).split())[:TITLE_LENGTH]
    head = f"---\ntitle: {json.dumps(title, ensure_ascii=False)}\n---\n\n"
    return head + passage.text, len(head)


def _write_lessons(source: Path, folder: Path, listing: Path) -> None:
    docs = folder / "docs"
    docs.mkdir(parents=True, exist_ok=True)
    rows: list[tuple[str, str, int]] = []
    for number, passage in enumerate(read_passages(source)):
        text, offset = as_markdown(passage)
        name = f"d{number:06}.md"
        # Bytes: line ends inside passages must stay what they are, or offsets shift.
        (docs / name).write_bytes(text.encode())
        rows.append((name, passage.doc_id, offset))
    listing.write_text(json.dumps(rows), encoding="utf-8")


def _content_hash(source: Path) -> str:
    digest = hashlib.sha256()
    if source.is_file():
        digest.update(source.read_bytes())
        return digest.hexdigest()
    for path in sorted(p for p in source.rglob("*") if p.is_file()):
        inner = path.relative_to(source)
        if any(part.startswith(".") for part in inner.parts):
            continue
        digest.update(
            inner.as_posix().encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest()
        )
    return digest.hexdigest()


def _code_hash() -> str:
    """Changes with the code that makes chunks, also when nobody raised its version number."""
    digest = hashlib.sha256(f"{readers.READER_VERSION}:{splitting.SPLITTER_VERSION}".encode())
    package = Path(splitting.__file__).parent
    for path in sorted(package.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
