"""Compares a folder with the library: which lessons to read again, which to remove, which to leave alone."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from askbook.book import IngestionMode
from askbook.errors import AskbookError
from askbook.ingestion.readers.base import Declared, Discovery, Place, Reader
from askbook.storage.rows import Mark, ShelvedLesson


@dataclass(frozen=True, slots=True)
class PlannedLesson:
    """A lesson to read, with its place and what it was before (under this name or an earlier one)."""

    declared: Declared
    place: Place
    position: int
    file_hash: str
    before: ShelvedLesson | None


@dataclass(frozen=True, slots=True)
class Unit:
    """Lessons that must become visible together, after the files in `after` have left their slots."""

    lessons: tuple[PlannedLesson, ...]
    removed: tuple[str, ...]
    after: tuple[str, ...] = ()


@dataclass(slots=True)
class Plan:
    """What an ingest will do."""

    discovered: tuple[str, ...]
    units: list[Unit] = field(default_factory=list[Unit])
    new: list[str] = field(default_factory=list[str])
    modified: list[str] = field(default_factory=list[str])
    moved: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    deleted: list[str] = field(default_factory=list[str])
    unchanged: list[str] = field(default_factory=list[str])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    reordered: dict[str, int] = field(default_factory=dict[str, int])
    warnings: list[str] = field(default_factory=list[str])
    familiar: int = 0
    """How many files have a content that the library knows of this book, under any name."""

    @property
    def doubtful(self) -> list[str]:
        """Shelved files that are not known to equal what the library has of them, until they are read."""
        planned = [p.before.source_file for u in self.units for p in u.lessons if p.before]
        return [*planned, *self.failed]


@dataclass(frozen=True, slots=True)
class Survey:
    """The lesson files of a folder as they are now."""

    discovery: Discovery
    hashes: dict[str, str]
    failed: dict[str, str]


def survey(reader: Reader) -> Survey:
    """Read and hash every file once."""
    discovery = reader.discover()
    hashes: dict[str, str] = {}
    failed: dict[str, str] = {}
    for source_file in discovery.files:
        try:
            hashes[source_file] = hashlib.sha256(reader.load(source_file)).hexdigest()
        except (OSError, AskbookError) as error:
            failed[source_file] = reason(error)
    return Survey(discovery, hashes, failed)


def plan_of_unchanged(reader: Reader, found: Survey, marks: Sequence[Mark]) -> Plan | None:
    """The plan when every file is as the library knows it, which is the usual case; else None.

    Also None where lessons may have got other places with the same texts.
    """
    if len(marks) != len(found.hashes) or found.failed or found.discovery.is_arranged:
        return None
    includes = IncludeHashes(reader)
    for mark in marks:
        if not _same_inputs(mark, found.hashes.get(mark.source_file), includes):
            return None
    files = found.discovery.files
    return Plan(
        files,
        unchanged=list(files),
        warnings=list(found.discovery.warnings),
        familiar=len(files),
    )


def make_plan(
    reader: Reader,
    shelved: Mapping[str, ShelvedLesson],
    *,
    mode: IngestionMode,
    same_settings: bool,
    found: Survey | None = None,
) -> Plan:
    """Parse what changed, share out places among all, and say what is to be done."""
    found = found or survey(reader)
    plan = Plan(
        found.discovery.files, failed=dict(found.failed), warnings=list(found.discovery.warnings)
    )
    hashes = found.hashes
    includes = IncludeHashes(reader)
    trusted = same_settings and mode == "incremental"
    known_hashes = {before.file_hash for before in shelved.values()}
    plan.familiar = sum(file_hash in known_hashes for file_hash in hashes.values())
    declared: dict[str, Declared] = {}
    for source_file, file_hash in hashes.items():
        before = shelved.get(source_file)
        if trusted and before is not None and _same_inputs(before, file_hash, includes):
            plan.unchanged.append(source_file)
            declared[source_file] = _declared_before(before)
            continue
        try:
            declared[source_file] = reader.declare(source_file, reader.load(source_file))
        except Exception as error:
            # Whatever is wrong with one file, the others are not to suffer from it.
            plan.failed[source_file] = reason(error)
    gone = _gone(plan, reader.docs_root, shelved)
    declared.update({p: _declared_before(shelved[p]) for p in plan.failed if p in shelved})
    _share_out(plan, reader, shelved, declared, hashes, gone)
    return plan


class IncludeHashes:
    """Hashes of included files, each read once."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[str, str] = {}

    def of(self, path: str) -> str:
        if path not in self._known:
            try:
                data = self._reader.load(path)
                self._known[path] = hashlib.sha256(data).hexdigest()
            except (OSError, AskbookError):
                self._known[path] = "missing"
        return self._known[path]


def inputs_hash(file_hash: str, included: Sequence[str], includes: IncludeHashes) -> str:
    """Names everything a lesson's text was made from."""
    parts = [file_hash, *(f"{path}={includes.of(path)}" for path in included)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def place_to_json(place: Place) -> dict[str, Any]:
    """What of a place shows in chunks; a change of it means reading the lesson again."""
    return {
        "slot": asdict(place.slot),
        "module_title": place.module_title,
        "chapter_title": place.chapter_title,
    }


def reason(error: Exception) -> str:
    """Why a file could not be read, in a few words."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error) if isinstance(error, AskbookError) else f"{type(error).__name__}: {error}"


def _gone(plan: Plan, root: Path, shelved: Mapping[str, ShelvedLesson]) -> list[str]:
    """Shelved files that are no longer there; those in a folder or an e-book that cannot be read have failed."""
    found = set(plan.discovered)
    gone: list[str] = []
    trouble: dict[PurePosixPath, str] = {}
    listed: set[PurePosixPath] = set()
    for path in shelved:
        if path in found:
            continue
        for folder in reversed(PurePosixPath(path).parents):
            if str(folder) in found and str(folder) in plan.failed:
                plan.failed[path] = plan.failed[str(folder)]
                break
            if folder not in listed and folder not in trouble:
                try:
                    os.scandir(root / folder).close()
                except (FileNotFoundError, NotADirectoryError):
                    break
                except OSError as error:
                    trouble[folder] = f"{folder} cannot be listed: {reason(error)}"
                listed.add(folder)
            if folder in trouble:
                plan.failed[path] = trouble[folder]
                break
        if path not in plan.failed:
            gone.append(path)
    plan.discovered = (*plan.discovered, *(path for path in plan.failed if path not in found))
    return gone


def _same_inputs(
    before: ShelvedLesson | Mark, file_hash: str | None, includes: IncludeHashes
) -> bool:
    return (
        file_hash is not None
        and before.file_hash == file_hash
        and inputs_hash(file_hash, before.includes, includes) == before.inputs_hash
    )


def _declared_before(before: ShelvedLesson) -> Declared:
    values = dict(before.declared)
    values["warnings"] = tuple(values["warnings"])
    return Declared(**values)


def _share_out(
    plan: Plan,
    reader: Reader,
    shelved: Mapping[str, ShelvedLesson],
    declared: Mapping[str, Declared],
    hashes: Mapping[str, str],
    gone: Sequence[str],
) -> None:
    known = [declared[path] for path in plan.discovered if path in declared]
    places = reader.places(known)
    earlier = _renames(plan, shelved, hashes, gone)
    unchanged: list[str] = []
    to_read: list[PlannedLesson] = []
    trusted = set(plan.unchanged)
    for position, path in enumerate(plan.discovered):
        if path in plan.failed:
            continue
        before = shelved.get(path) or shelved.get(earlier.get(path, ""))
        place = places[path]
        if path in trusted and before is not None and place_to_json(place) == before.place:
            unchanged.append(path)
            if before.position != position:
                plan.reordered[path] = position
            continue
        to_read.append(PlannedLesson(declared[path], place, position, hashes[path], before))
        if path in earlier:
            plan.moved.append((earlier[path], path))
        elif before is None:
            plan.new.append(path)
        else:
            plan.modified.append(path)
    plan.unchanged = unchanged
    plan.deleted = [path for path in gone if path not in set(earlier.values())]
    plan.units = _units(to_read, gone, shelved)


def _renames(
    plan: Plan,
    shelved: Mapping[str, ShelvedLesson],
    hashes: Mapping[str, str],
    gone: Sequence[str],
) -> dict[str, str]:
    """New path → old path, for files whose content stood under another name."""
    by_hash: dict[str, list[str]] = {}
    for path in gone:
        by_hash.setdefault(shelved[path].file_hash, []).append(path)
    renames: dict[str, str] = {}
    for path in plan.discovered:
        candidates = by_hash.get(hashes.get(path, ""))
        if path not in shelved and candidates:
            renames[path] = candidates.pop(0)
    return renames


def _units(
    to_read: Sequence[PlannedLesson], gone: Sequence[str], shelved: Mapping[str, ShelvedLesson]
) -> list[Unit]:
    """Lessons one by one, each after the one whose slot it takes; those that exchange slots, together."""
    holder = {(s.module, s.chapter, s.lesson): path for path, s in shelved.items()}
    reading = {lesson.declared.source_file: lesson for lesson in to_read}
    removing = set(gone)
    # A renamed lesson and the file it was before are one node, called by its new name.
    node = {path: path for path in (*reading, *gone)}
    for path, lesson in reading.items():
        if lesson.before is not None and lesson.before.source_file in removing:
            node[lesson.before.source_file] = path
    takes: dict[str, str] = {}
    for path, lesson in reading.items():
        slot = lesson.place.slot
        held_by = holder.get((slot.module, slot.chapter, slot.lesson))
        if held_by is not None and node.get(held_by, held_by) != path:
            takes[path] = held_by
    members: dict[str, tuple[list[PlannedLesson], list[str]]] = {}
    for path, into in node.items():
        lessons, removed = members.setdefault(into, ([], []))
        if path in reading:
            lessons.append(reading[path])
        else:
            removed.append(path)
    units: list[Unit] = []
    for group in _in_order(list(members), {p: node.get(h, h) for p, h in takes.items()}):
        held = dict.fromkeys(takes[name] for name in group if name in takes)
        units.append(
            Unit(
                lessons=tuple(lesson for name in group for lesson in members[name][0]),
                removed=tuple(path for name in group for path in members[name][1]),
                after=tuple(path for path in held if node.get(path) not in group),
            )
        )
    return units


def _in_order(names: Sequence[str], follows: Mapping[str, str]) -> Iterator[list[str]]:
    """Each name after the one it follows; names that follow each other in a circle, as one group."""
    known = set(names)
    done: set[str] = set()
    for name in names:
        chain: dict[str, None] = {}
        following: str | None = name
        while following in known and following not in done and following not in chain:
            chain[following] = None
            following = follows.get(following)
        path = list(chain)
        if following in chain:
            circle = path[path.index(following) :]
            path = path[: -len(circle)]
            yield circle
        yield from ([each] for each in reversed(path))
        done.update(chain)
