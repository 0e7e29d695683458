"""What an evaluation is asked to measure."""

from dataclasses import dataclass
from pathlib import Path

from askbook.evaluation.configurations import DEFAULT

SECTIONS = ("retrieval", "refusal", "answers")


@dataclass(frozen=True, slots=True)
class Request:
    """What to measure: which sections, under which configurations, on how many questions."""

    sections: tuple[str, ...] = SECTIONS
    configurations: tuple[str, ...] = (DEFAULT,)
    limit: int | None = None
    from_book: bool = False
    answer_limit: int | None = None
    """At most so many questions are also answered; answering costs more than searching."""
    quoting: bool = False
    """Answers are quoted even where a language model is configured."""
    outcomes: Path | None = None
    """Where outcomes are kept, so that an interrupted run goes on where it stopped."""
    timed: int | None = None
    """So many questions, drawn by lot, are asked alone and timed, under the first configuration; all others
    several at once, which is quicker and tells no time. Without it every question is asked alone and timed."""
