"""Books and the server, as they are told over HTTP."""

from dataclasses import asdict

from pydantic import BaseModel, Field

from askbook.book import Book, HardwareTier, ProficiencyLevel, TeachingLayer
from askbook.storage.rows import Choices


class ReaderChoices(BaseModel):
    """What a reader can choose between: the values that the lessons of the book have."""

    modules: list[dict[str, str]] = Field(examples=[[{"name": "ros2", "title": "ROS 2"}]])
    hardware_tiers: list[HardwareTier]
    proficiency_levels: list[ProficiencyLevel]
    layers: list[TeachingLayer]


class BookInfo(BaseModel):
    book_id: str
    title: str
    lessons: int
    chunks: int
    calibration: str
    modules: list[str]
    examples: list[str]
    reader_tier: HardwareTier | None
    choices: ReaderChoices

    @classmethod
    def of(
        cls,
        book: Book,
        lessons: int,
        chunks: int,
        *,
        calibration: str,
        choices: Choices,
        modules: list[str],
    ) -> "BookInfo":
        return cls(
            book_id=book.book_id,
            title=book.title,
            lessons=lessons,
            chunks=chunks,
            calibration=calibration,
            modules=modules,
            examples=list(book.examples),
            reader_tier=book.reader_tier,
            choices=ReaderChoices.model_validate(asdict(choices)),
        )


class Suggested(BaseModel):
    book_id: str
    questions: list[str]


class Info(BaseModel):
    name: str
    version: str
    model: str
    embedder: str
    books: list[BookInfo]
    default_book: str | None
