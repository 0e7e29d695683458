"""Puts a list of questions under every configuration: what an earlier run kept, some alone and timed, the others
several at once."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

from askbook.evaluation.asking import Asker, Outcome
from askbook.evaluation.bm25 import DocumentBm25
from askbook.evaluation.configurations import DEFAULT, WHOLE_DOCUMENTS, configuration
from askbook.evaluation.datasets import Dataset, Passage, Question, read_passages, sample
from askbook.evaluation.keeping import Kept
from askbook.evaluation.request import Request
from askbook.ingestion.readers import open_reader
from askbook.ingestion.readers.plain import READ
from askbook.ingestion.readers.walk import SUFFIXES

AT_ONCE = 4
"""Questions on their way together. The judge alone keeps the cores busy but for moments; what else a search needs
(SQL, features, ranking) runs on one core and fits into them."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One question under one configuration, and what is wanted of it."""

    configuration: str
    number: int
    question: Question
    with_answer: bool
    timed: bool


class Questioning:
    """Asks the questions of one dataset as a request wants it."""

    def __init__(
        self, asker: Asker, dataset: Dataset, questions: Sequence[Question], request: Request
    ) -> None:
        self.plan = _plan(questions, request)
        self._asker = asker
        self._dataset = dataset
        self._kept = {name: Kept(request.outcomes, name) for name in request.configurations}
        self._whole: DocumentBm25 | None = None

    async def outcomes(self) -> AsyncGenerator[tuple[Planned, Outcome]]:
        """All of the plan, as it gets done."""
        missing: list[Planned] = []
        for planned in self.plan:
            kept = self._kept[planned.configuration].get(
                planned.question.qid, with_answer=planned.with_answer, timed=planned.timed
            )
            if kept is None:
                missing.append(planned)
            else:
                yield planned, kept
        alone = [planned for planned in missing if planned.timed]
        rest = [planned for planned in missing if not planned.timed]
        if alone:
            # The models are read at first use: that is nothing a timed question should wait for.
            await self._found(replace(alone[0], with_answer=False, timed=False))
        for planned in alone:
            yield await self._ask(planned)
        async with aclosing(_several_at_once(self._ask, rest)) as together:
            async for done in together:
                yield done

    async def _ask(self, planned: Planned) -> tuple[Planned, Outcome]:
        outcome = await self._found(planned)
        self._kept[planned.configuration].put(outcome)
        return planned, outcome

    async def _found(self, planned: Planned) -> Outcome:
        if planned.configuration == WHOLE_DOCUMENTS:
            return self._ranked_whole(planned.question)
        return await self._asker.ask(
            planned.question,
            configuration(planned.configuration),
            with_answer=planned.with_answer,
            timed=planned.timed,
        )

    def _ranked_whole(self, question: Question) -> Outcome:
        self._whole = self._whole or DocumentBm25(_documents(self._dataset))
        return Outcome(question.qid, self._whole.rank(question.text, 10), [], 0.0, True, None)


def _plan(questions: Sequence[Question], request: Request) -> list[Planned]:
    """Question by question, so that what needs the judge and what does not are on their way together."""
    answered = {question.qid for question in _to_answer(questions, request)}
    timed = {question.qid for question in sample(questions, request.timed)}
    timed_under = request.configurations if request.timed is None else request.configurations[:1]
    return [
        Planned(
            configuration=name,
            number=number,
            question=question,
            with_answer=name == DEFAULT and question.qid in answered,
            timed=name in timed_under and name != WHOLE_DOCUMENTS and question.qid in timed,
        )
        for number, question in enumerate(questions)
        for name in request.configurations
    ]


def _to_answer(questions: Sequence[Question], request: Request) -> tuple[Question, ...]:
    if "answers" not in request.sections:
        return ()
    scorable = [
        q
        for q in questions
        if q.answerable is not False and q.stands_alone and (q.answers or q.grades)
    ]
    return sample(scorable, request.answer_limit)


async def _several_at_once(
    ask: Callable[[Planned], Awaitable[tuple[Planned, Outcome]]], plan: Sequence[Planned]
) -> AsyncGenerator[tuple[Planned, Outcome]]:
    """What comes of each, as it comes; an error, or whoever stops listening, ends the others."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(planned: Planned) -> tuple[Planned, Outcome]:
        async with free:
            return await ask(planned)

    tasks = [asyncio.create_task(one(planned)) for planned in plan]
    try:
        for done in asyncio.as_completed(tasks):
            yield await done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _documents(dataset: Dataset) -> list[Passage]:
    if dataset.corpus.is_file():
        return list(read_passages(dataset.corpus))
    inner = dataset.corpus / "docs"
    root = inner if inner.is_dir() else dataset.corpus
    return [
        Passage(path.relative_to(root).as_posix(), "", _text_of(path))
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name.lower().endswith(READ)
    ]


def _text_of(path: Path) -> str:
    """A file whole: Markdown as it is written, other formats as they are read."""
    if path.name.lower().endswith(SUFFIXES):
        return path.read_text("utf-8", "replace")
    reader = open_reader(path)
    files = reader.discover().files
    declared = [reader.declare(name, reader.load(name)) for name in files]
    places = reader.places(declared)
    return "\n\n".join(
        block.text
        for each in declared
        for block in reader.read(
            each, places[each.source_file], reader.load(each.source_file)
        ).blocks
    )
