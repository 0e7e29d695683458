"""Exercises: what sets the reader a task answers nobody, but tells which lesson teaches what it asks for. Pure."""

import re

from askbook.agent.passages import cut_into_units
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.terms import content_terms, held

FEWEST = 3
"""Terms of a question from which another can be known for the same."""
SAME = 0.6
"""Share of them that a task has which asks the same."""

_TASKS = re.compile(
    r"\b(?:exercises?|challenges?|quiz|quizzes|knowledge check|homework|assignments?|activit(?:y|ies)|"
    r"try it|interactive|(?<!in )(?<!best )practice)\b"
    r"|^\W*(?:[\d.]+\s+)?(?:(?:practice|review|more|sample|homework)\s+)?problems?(?:\s+sets?)?[\W\d]*$",
    re.I,
)
"""Headings of exercises; under "Common problems" the reader is told what to try."""
_TASK = re.compile(
    r"\W*(?:(?:then|next|now|finally|also|first)\s+)?(?:using [^.,;:]{3,40}, )?(?:your task|explain|show|prove|derive|"
    r"describe|discuss|compute|calculate|find|give|write|implement|design|build|verify|state|list|name|compare|argue|"
    r"sketch|draw|modify|try|extend|predict|demonstrate|confirm|determine|convert|plot|simulate|construct|identify|"
    r"evaluate|reproduce)\b",
    re.IGNORECASE,
)
"""How the lines of exercises open."""
_LABELLED = re.compile(
    r"\W*(?i:(exercise|quiz)|challenge|task|problem|question)\s*#?\d++(?:\.\d++)*+(?![’']|\s+[a-z])"
)
"""An exercise under any heading; not "Task 1 runs at 100 Hz", and a challenge may be one that engineers meet."""
_ASKS_FOR_TASKS = re.compile(
    r"\b(?:exercises?|challenges?|quiz|quizzes|homework|assignments?|tasks?|(?:problem|question)\s*#?\d)",
    re.I,
)


def sets_a_task(text: str, heading: str) -> bool:
    """Whether a unit gives the reader an exercise instead of telling something."""
    label = _LABELLED.match(text)
    if label is not None:
        return bool(label[1] or _TASK.match(text, label.end()))
    return bool(_TASKS.search(heading) and _TASK.match(text))


def asks_for_tasks(question: str) -> bool:
    """Whether a reader wants the exercises themselves."""
    return bool(_ASKS_FOR_TASKS.search(question))


def lessons_that_ask(context: RetrievalContext) -> set[str]:
    """The lessons, by their ids, that set the question as an exercise: there it is taught."""
    terms = content_terms(context.query)
    if len(terms) < FEWEST or asks_for_tasks(context.query):
        return set()
    return {
        result.chunk.metadata.parent_doc_id
        for result in context.results
        for unit in cut_into_units(result.text)
        if len(held(terms, unit.text)) >= SAME * len(terms)
        and sets_a_task(unit.text, result.chunk.section_at(unit.start).title)
    }
