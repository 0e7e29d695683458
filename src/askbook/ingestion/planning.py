"""Compares a folder with the library: which lessons to read again, which to remove, which to leave alone."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from askbook.book import IngestionMode
from askbook.errors import AskbookError
from askbook.ingestion.readers.base import Declared, Place, Reader
from askbook.storage.rows import ShelvedLesson


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
    """Lessons that must become visible together, because one takes a slot another still holds."""

    lessons: tuple[PlannedLesson, ...]
    removed: tuple[str, ...]


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


def make_plan(
    reader: Reader,
    shelved: Mapping[str, ShelvedLesson],
    *,
    mode: IngestionMode,
    same_settings: bool,
) -> Plan:
    """Read and hash every file once; parse only what changed."""
    discovery = reader.discover()
    plan = Plan(discovery.files, warnings=list(discovery.warnings))
    includes = IncludeHashes(reader.docs_root)
    trusted = same_settings and mode == "incremental"
    declared: dict[str, Declared] = {}
    hashes: dict[str, str] = {}
    for source_file in discovery.files:
        before = shelved.get(source_file)
        try:
            data = (reader.docs_root / source_file).read_bytes()
            hashes[source_file] = hashlib.sha256(data).hexdigest()
            if trusted and before is not None and _same_inputs(before, hashes, includes):
                plan.unchanged.append(source_file)
                declared[source_file] = _declared_before(before)
            else:
                declared[source_file] = reader.declare(source_file, data)
        except (OSError, AskbookError) as error:
            plan.failed[source_file] = _reason(error)
            if before is not None:
                declared[source_file] = _declared_before(before)
    gone = [path for path in shelved if path not in set(discovery.files)]
    if not gone and len(plan.unchanged) == len(discovery.files):
        return plan
    _share_out(plan, reader, shelved, declared, hashes, gone)
    return plan


class IncludeHashes:
    """Hashes of included files, each read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, str] = {}

    def of(self, path: str) -> str:
        if path not in self._known:
            try:
                data = (self._root / path).read_bytes()
                self._known[path] = hashlib.sha256(data).hexdigest()
            except OSError:
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


def _same_inputs(before: ShelvedLesson, hashes: Mapping[str, str], includes: IncludeHashes) -> bool:
    file_hash = hashes[before.source_file]
    return (
        before.file_hash == file_hash
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
    """Group lessons that exchange slots; all others stand alone."""
    holder = {(s.module, s.chapter, s.lesson): path for path, s in shelved.items()}
    groups = _Groups()
    reading = {lesson.declared.source_file for lesson in to_read}
    for lesson in to_read:
        slot = lesson.place.slot
        held_by = holder.get((slot.module, slot.chapter, slot.lesson))
        if held_by is not None and (held_by in reading or held_by in gone):
            groups.join(lesson.declared.source_file, held_by)
    members: dict[str, tuple[list[PlannedLesson], list[str]]] = {}
    for lesson in to_read:
        root = groups.root(lesson.declared.source_file)
        members.setdefault(root, ([], []))[0].append(lesson)
    for path in gone:
        members.setdefault(groups.root(path), ([], []))[1].append(path)
    return [Unit(tuple(lessons), tuple(removed)) for lessons, removed in members.values()]


class _Groups:
    """Disjoint sets of paths."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def root(self, path: str) -> str:
        while (parent := self._parent.get(path, path)) != path:
            above = self._parent.get(parent, parent)
            self._parent[path] = above
            path = above
        return path

    def join(self, one: str, other: str) -> None:
        self._parent[self.root(one)] = self.root(other)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)
