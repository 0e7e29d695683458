"""Numbers and titles that file and folder names carry."""

import re

from askbook.book.manifest import slugify

_BARE = re.compile(r"^(?P<number>\d{1,6})\s*[-_. ]+\s*(?=[^-_.\s])")
_BARE_ALONE = re.compile(r"^(?P<number>\d{1,6})$")
_VERSION_OR_DATE = re.compile(r"^\d+[-_.]\d+")
_WORD = re.compile(
    r"^(?P<word>module|chapter|lesson|unit|part|week|section|ch)[-_ ]?(?P<number>\d{1,6})(?![0-9])(?:[-_. ]+|$)",
    re.I,
)
_CHAPTER_LESSON = re.compile(
    r"^ch(?:apter)?[-_]?(?P<chapter>\d{1,4})[-_.](?P<lesson>\d{1,4})(?=[-_. ]|$)", re.I
)


def name_number(name: str) -> tuple[str, int] | None:
    """The number a name starts with and the word before it: `lesson-03-x` → ("lesson", 3), `03-x` → ("", 3)."""
    worded = _WORD.match(name)
    if worded is not None:
        word = worded["word"].lower()
        return "chapter" if word == "ch" else word, int(worded["number"])
    if _VERSION_OR_DATE.match(name):
        return None
    bare = _BARE.match(name) or _BARE_ALONE.match(name)
    return ("", int(bare["number"])) if bare else None


def chapter_and_lesson(name: str) -> tuple[int, int] | None:
    """Both numbers of a name such as `ch04-02-references`."""
    match = _CHAPTER_LESSON.match(name)
    return (int(match["chapter"]), int(match["lesson"])) if match else None


def without_prefix(name: str) -> str:
    """A name without its leading number; the name itself when nothing else is left."""
    match = _CHAPTER_LESSON.match(name) or _WORD.match(name)
    if match is None and not _VERSION_OR_DATE.match(name):
        match = _BARE.match(name)
    rest = name[match.end() :].lstrip("-_. ") if match else name
    return rest or name


def module_name(folder: str) -> str:
    """The name of the module in a first-level folder: its slug without the number."""
    return slugify(without_prefix(folder)) or slugify(folder) or folder


def readable(name: str) -> str:
    """A file or folder name as a title."""
    words = re.sub(r"[-_]+", " ", without_prefix(name)).strip()
    return words[:1].upper() + words[1:] if words else name
