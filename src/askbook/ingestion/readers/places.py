"""Share out slots: every lesson gets a (module, chapter, lesson) of its own, from the current files alone.

Rules, in order of precedence:
- module: frontmatter, else the first-level folder, under the manifest's name for it; lessons at the
  root of the book belong to the module whose name they bear, else to `main`;
- chapter: frontmatter, else the number in the name of the chapter's folder or file, else the
  folder's position; 0 for lessons directly in a module;
- lesson: frontmatter, else 0 for an index page, else the number in the file's name, else a whole
  `sidebar_position`, else the position among the files of the chapter;
- who comes second in book order takes the next free lesson number, with a warning.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from askbook.book import Book, Slot
from askbook.book.manifest import slugify
from askbook.ingestion.readers.base import Declared, Place

ROOT_MODULE = "main"


@dataclass(frozen=True, slots=True)
class Position:
    """Where the tree or the navigation of a site puts a lesson."""

    module: str
    module_title: str
    chapter_key: str = ""
    chapter_title: str | None = None
    chapter: int | None = None


def share_out(
    declared: Sequence[Declared], positions: Mapping[str, Position], book: Book
) -> dict[str, Place]:
    """A place for every lesson; `declared` comes in book order."""
    warnings: dict[str, list[str]] = {each.source_file: [] for each in declared}
    modules = {
        each.source_file: _module(each, positions[each.source_file], book, warnings)
        for each in declared
    }
    chapters = _chapters(declared, positions, modules)
    lessons = _lessons(declared, modules, chapters, warnings)
    places: dict[str, Place] = {}
    for each in declared:
        name = each.source_file
        slot = Slot(modules[name], chapters[name], lessons[name])
        _check_bounds(name, slot, book, warnings[name])
        position = positions[name]
        listed = book.module_named(slot.module)
        title = listed.title if listed else position.module_title
        if listed is None and slot.module != position.module:
            title = slot.module
        places[name] = Place(slot, title, position.chapter_title, tuple(warnings[name]))
    return places


def _module(each: Declared, position: Position, book: Book, warnings: dict[str, list[str]]) -> str:
    asked = each.module
    if asked is not None:
        listed = book.module_named(asked)
        if listed is not None:
            return listed.name
        if not book.modules:
            return slugify(asked) or position.module
        warnings[each.source_file].append(
            f"{each.source_file}: frontmatter `module: {asked}` is not one of the manifest's modules "
            f"({', '.join(module.name for module in book.modules)}); its folder decides."
        )
    listed = book.module_named(position.module)
    if listed is not None:
        return listed.name
    if book.modules and asked is None and position.module != ROOT_MODULE:
        warnings[each.source_file].append(
            f"{each.source_file}: module {position.module!r} is not in the manifest's list "
            f"({', '.join(module.name for module in book.modules)}); it is kept as it is."
        )
    return position.module


def _chapters(
    declared: Sequence[Declared], positions: Mapping[str, Position], modules: Mapping[str, str]
) -> dict[str, int]:
    """Folders with a number keep it; the others take their position among the module's chapters."""
    taken: dict[str, set[int]] = {}
    order: dict[str, dict[str, int | None]] = {}
    for each in declared:
        module, position = modules[each.source_file], positions[each.source_file]
        if position.chapter_key:
            order.setdefault(module, {}).setdefault(position.chapter_key, position.chapter)
        number = each.chapter if each.chapter is not None else position.chapter
        if number is not None:
            taken.setdefault(module, set()).add(number)
    for module, keys in order.items():
        used = taken.setdefault(module, set())
        for index, (key, number) in enumerate(list(keys.items()), start=1):
            if number is None:
                number = _next_free(used, index)
                used.add(number)
                keys[key] = number
    numbers: dict[str, int] = {}
    for each in declared:
        name, position = each.source_file, positions[each.source_file]
        if each.chapter is not None:
            numbers[name] = each.chapter
        elif position.chapter_key:
            numbers[name] = order[modules[name]][position.chapter_key] or 0
        else:
            numbers[name] = position.chapter or 0
    return numbers


def _lessons(
    declared: Sequence[Declared],
    modules: Mapping[str, str],
    chapters: Mapping[str, int],
    warnings: dict[str, list[str]],
) -> dict[str, int]:
    groups: dict[tuple[str, int], list[Declared]] = {}
    for each in declared:
        groups.setdefault((modules[each.source_file], chapters[each.source_file]), []).append(each)
    numbers: dict[str, int] = {}
    for (module, chapter), members in groups.items():
        used: dict[int, str] = {}
        for each in members:
            wanted = _asked_lesson(each)
            if wanted is None:
                continue
            number = _next_free(used, wanted)
            if number != wanted:
                warnings[each.source_file].append(
                    f"{each.source_file} and {used[wanted]} both ask for module {module!r}, chapter "
                    f"{chapter}, lesson {wanted}; {each.source_file} was given lesson {number}."
                )
            used[number] = each.source_file
            numbers[each.source_file] = number
        position = 0
        for each in members:
            if not each.is_index:
                position += 1
            if each.source_file not in numbers:
                number = _next_free(used, position)
                used[number] = each.source_file
                numbers[each.source_file] = number
    return numbers


def _asked_lesson(each: Declared) -> int | None:
    if each.lesson is not None:
        return each.lesson
    if each.is_index:
        return 0
    position = each.position
    return (
        int(position) if position is not None and position >= 0 and position.is_integer() else None
    )


def _next_free(used: Mapping[int, str] | set[int], wanted: int) -> int:
    number = wanted
    while number in used:
        number += 1
    return number


def _check_bounds(source_file: str, slot: Slot, book: Book, warnings: list[str]) -> None:
    for field, number, bound in (
        ("chapter", slot.chapter, book.max_chapter),
        ("lesson", slot.lesson, book.max_lesson),
    ):
        if bound is not None and number > bound:
            warnings.append(
                f"{source_file}: {field} {number} is beyond the manifest's max_{field} of {bound}."
            )
