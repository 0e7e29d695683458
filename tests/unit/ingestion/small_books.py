"""Reading a small book the way the pipeline does."""

from collections.abc import Callable
from pathlib import Path

from askbook.book import Lesson
from askbook.ingestion.readers import Reader, open_reader

Write = Callable[[dict[str, str | bytes]], Path]


def read_all(reader: Reader) -> dict[str, Lesson]:
    """Every lesson of a book, as the pipeline reads it."""
    found = reader.discover()
    data = {name: reader.load(name) for name in found.files}
    declared = [reader.declare(name, data[name]) for name in found.files]
    places = reader.places(declared)
    return {
        d.source_file: reader.read(d, places[d.source_file], data[d.source_file]) for d in declared
    }


def read_folder(folder: Path) -> dict[str, Lesson]:
    return read_all(open_reader(folder))


def text_of(lesson: Lesson) -> str:
    return "\n\n".join(block.text for block in lesson.blocks)


def anchors_of(lesson: Lesson) -> list[str]:
    return [block.heading.anchor for block in lesson.blocks if block.heading is not None]
