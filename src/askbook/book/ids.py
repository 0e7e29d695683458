"""Deterministic ids: the same text in the same slot of the same book always has the same id."""

import hashlib
import uuid

NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


def content_hash(text: str) -> str:
    """SHA-256 of the text, as hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def chunk_id(
    book_id: str, module: str, chapter: int, lesson: int, text_hash: str, occurrence: int = 0
) -> str:
    """The id of a chunk; `occurrence` counts earlier chunks of the same lesson with the same text."""
    name = f"{book_id}:{module}:{chapter}:{lesson}:{text_hash[:16]}"
    if occurrence:
        name = f"{name}:{occurrence}"
    return str(uuid.uuid5(NAMESPACE, name))


def parent_doc_id(book_id: str, module: str, chapter: int, lesson: int) -> str:
    """The id that all chunks of one lesson share."""
    return str(uuid.uuid5(NAMESPACE, f"{book_id}:{module}:{chapter}:{lesson}:parent"))
