"""Makes a small question set from a book's own headings, for books that nobody wrote questions for. Pure."""

import re
from collections import Counter
from collections.abc import Mapping

from askbook.evaluation.datasets import Question
from askbook.storage.rows import ShelvedLesson

_MIN_WORDS = 2
_WORD = re.compile(r"\w+")


def questions_from(lessons: Mapping[str, ShelvedLesson]) -> tuple[Question, ...]:
    """One question per heading that names one lesson only; the lesson is its gold document.

    Headings that several lessons share ("Summary", "Exercises") ask for none of them.
    """
    titles = Counter(
        title
        for lesson in lessons.values()
        for title in {h.title.casefold() for h in lesson.headings}
    )
    return tuple(
        Question(
            qid=f"{source_file}#{heading.anchor}",
            text=heading.title,
            answerable=True,
            grades={source_file: 1},
        )
        for source_file, lesson in lessons.items()
        for heading in lesson.headings
        if titles[heading.title.casefold()] == 1 and len(_WORD.findall(heading.title)) >= _MIN_WORDS
    )
