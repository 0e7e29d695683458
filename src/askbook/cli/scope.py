"""The filters that `search` and `ask` share."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from askbook.bootstrap import Scope

BookId = Annotated[str | None, typer.Option("--book", help="The book, when there are several.")]
TopK = Annotated[int | None, typer.Option("--top-k", help="How many chunks to use (1-100).")]
ModuleName = Annotated[str | None, typer.Option("--module", help="Only this module.")]
Tier = Annotated[
    int | None, typer.Option("--tier", help="Your hardware tier: that and lower (1-4).")
]
ChapterMin = Annotated[int | None, typer.Option("--chapter-min", help="From this chapter on.")]
ChapterMax = Annotated[int | None, typer.Option("--chapter-max", help="Up to this chapter.")]
LessonNumber = Annotated[int | None, typer.Option("--lesson", help="Only this lesson number.")]
Proficiency = Annotated[
    list[str] | None,
    typer.Option("--proficiency", help="A1 to C2; give it several times for several."),
]
Layer = Annotated[str | None, typer.Option("--layer", help="L1 to L4.")]


def scope_of(
    *,
    book: str | None = None,
    module: str | None = None,
    tier: int | None = None,
    chapter_min: int | None = None,
    chapter_max: int | None = None,
    lesson: int | None = None,
    proficiency: list[str] | None = None,
    layer: str | None = None,
) -> "Scope":
    """The scope these options describe; values are checked where the query is made."""
    from askbook.bootstrap import Scope

    values: dict[str, Any] = {
        "book_id": book,
        "module": module,
        "hardware_tier": tier,
        "chapter_min": chapter_min,
        "chapter_max": chapter_max,
        "lesson": lesson,
        "proficiency_levels": tuple(proficiency) if proficiency else None,
        "layer": layer,
    }
    return Scope(**values)
