"""Corruption check: true sentences about a passage, each with one fact altered; how many alterations are caught.

Two kinds of true sentences are checked against their gold passages: the passages' own sentences, and one
statement of each gold answer that people or models wrote. What is no statement about the book (questions back,
regrets), answers that the gold pages hold only in part, and sentences that say what their pages do not are left
out. One fact is altered at a time: a number, a name or telling word, a negation, a unit; in half of the cases the
substitute stands elsewhere in the same passage.

    python benchmarks/corruption.py [--limit 60] [--judge] [--seed 7] [--show 10]
"""

import argparse
import asyncio
import gzip
import json
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from askbook.agent.claims import cut_claims
from askbook.agent.facts import read_tokens
from askbook.agent.grounding import Support, check_support
from askbook.agent.guardrails import orders_in
from askbook.agent.passages import cut_into_units
from askbook.agent.vocabulary import NEGATORS, UNITS
from folders import DATA, WITH_ANSWERS

SEED = 7
PASSAGE = 1800
WRITTEN = ("clapnq_unanswerable", "docs_site_chunks", "multiturn_mtrag_un")
_REGRET = re.compile(
    r"\b(?:I|we) (?:do not|don['’]t|can ?not|can['’]t) (?:have|find|provide|answer)|"
    r"\b(?:I['’]m|I am) (?:sorry|not|unable)|\bsorry\b",
    re.IGNORECASE,
)
"""What an answer says of itself, not of the book."""


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence, the passage it is true of, and what was altered (None: nothing)."""

    dataset: str
    source: str
    sentence: str
    passage: str
    altered: str | None
    heading: str = ""
    question: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=60, help="the book's own sentences per folder")
    parser.add_argument("--judge", action="store_true", help="settle doubts with the judge")
    parser.add_argument("--show", type=int, default=0, help="print that many misses of each kind")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    cases = list(all_cases(options.data, options.limit, options.seed))
    report = asyncio.run(run(cases, with_judge=options.judge))
    show(report, cases, options.show)


def all_cases(data: Path, limit: int, seed: int = SEED) -> Iterator[Case]:
    dice = random.Random(seed)
    for name in WITH_ANSWERS:
        if (data / name).is_dir():
            yield from _with_alterations(_own_sentences(data / name, limit, dice), dice)
    for name in WRITTEN:
        if (data / name).is_dir():
            yield from _with_alterations(_written_sentences(data / name), dice)


def _with_alterations(true: Iterable[Case], dice: random.Random) -> Iterator[Case]:
    for case in true:
        yield case
        for kind, alter in ALTERATIONS.items():
            changed = alter(case.sentence, case.passage, dice)
            if changed is not None and changed != case.sentence:
                yield replace(case, sentence=changed, altered=kind)


# --- True sentences ---


@dataclass(frozen=True, slots=True)
class Page:
    """A gold passage, and the title it stands under."""

    title: str
    text: str


def _own_sentences(folder: Path, limit: int, dice: random.Random) -> Iterator[Case]:
    pieces = _gold_pieces(folder)
    dice.shuffle(pieces)
    given = 0
    for piece in pieces:
        # What gives orders to an assistant is no evidence for anything: see `read_evidence`.
        barred = orders_in(piece.text)
        units = [
            unit
            for unit in cut_into_units(piece.text)
            if unit.kind in ("sentence", "item")
            and not any(unit.start < end and start < unit.end for start, end in barred)
        ]
        whole = [u.text for u in units if 6 <= len(u.text.split()) <= 45 and "](" not in u.text]
        if whole and given < limit:
            given += 1
            sentence = dice.choice(whole)
            yield Case(folder.name, "own", sentence, piece.text, None, piece.title)


def _written_sentences(folder: Path) -> Iterator[Case]:
    """One statement of each gold answer, cut as a model's answer is, with the whole of its gold pages."""
    pages = _pages(folder)
    for row in _questions(folder):
        gold = [pages[d] for d in row.get("gold_docs") or () if d in pages]
        said = _statements(row["answers"][0]) if row.get("answers") and _is_answered(row) else []
        if not gold or not said:
            continue
        sentence = random.Random(f"{SEED}:{row['qid']}").choice(said)
        passage = "\n\n".join(page.text for page in gold)
        titles = " › ".join(dict.fromkeys(page.title for page in gold))
        yield Case(folder.name, "written", sentence, passage, None, titles, row["question"])


def _is_answered(row: dict[str, Any]) -> bool:
    """Whether the gold pages answer it whole: a part of an answer is eked out by its writer."""
    return bool(row["answerable"]) and "PARTIAL" not in (row.get("answerability") or ())


def _statements(answer: str) -> list[str]:
    """The sentences that state something about the book."""
    return [
        claim.text
        for claim in cut_claims(answer)
        if claim.kind in ("sentence", "item")
        and len(claim.text.split()) >= 6
        and not claim.text.endswith("?")
        and not _REGRET.search(claim.text)
    ]


def _gold_pieces(folder: Path) -> list[Page]:
    pages = _pages(folder)
    gold = dict.fromkeys(d for r in _questions(folder) for d in r.get("gold_docs") or ())
    return [Page(pages[d].title, p) for d in gold if d in pages for p in _cut(pages[d].text)]


def _cut(text: str) -> Iterator[str]:
    """Pieces of about a chunk's size, at blank lines."""
    piece = ""
    for block in re.split(r"\n\s*\n", text):
        if piece and len(piece) + len(block) > PASSAGE:
            yield piece
            piece = ""
        piece = f"{piece}\n\n{block}" if piece else block
    if piece.strip():
        yield piece


def _pages(folder: Path) -> dict[str, Page]:
    found: dict[str, Page] = {}
    for row in _rows(folder, "corpus.jsonl"):
        found[row["doc_id"]] = Page(row.get("title") or "", row["text"].strip())
    docs = folder / "docs"
    if docs.is_dir():
        for path in sorted(docs.rglob("*.md*")):
            text = path.read_text(encoding="utf-8", errors="replace")
            body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
            found[str(path.relative_to(docs))] = Page("", body)
    return found


def _questions(folder: Path) -> list[dict[str, Any]]:
    return list(_rows(folder, "questions.jsonl"))


def _rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    for path, opened in ((folder / name, open), (folder / f"{name}.gz", gzip.open)):
        if path.is_file():
            with opened(path, "rt", encoding="utf-8") as lines:
                yield from (json.loads(line) for line in lines)


# --- Alterations ---

_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|\.\d)")
_UNIT_FAMILIES = (
    "seconds minutes hours days weeks months years decades centuries",
    "second minute hour day week month year decade century",
    "mm cm m km",
    "meters kilometers centimeters millimeters miles feet inches",
    "kg g mg grams kilograms pounds tons",
    "Hz kHz MHz GHz",
    "KB MB GB TB bytes bits",
    "V mV W kW",
    "% degrees dollars",
    "ms s ns",
    "million billion thousand hundred",
    "tokens words",
    "rad degrees",
)
_COPULA = re.compile(
    r"\b(is|are|was|were|can|could|will|would|should|must|may|might|does|do|did|has|have|had)\b(?!n't| not)"
)
_NOT = re.compile(
    r"\b(is|are|was|were|can|could|will|would|should|must|may|does|do|did|has|have) not\b"
)


def alter_number(sentence: str, passage: str, dice: random.Random) -> str | None:
    found = list(_NUMBER.finditer(sentence))
    if not found:
        return None
    match = dice.choice(found)
    others = [n for n in _NUMBER.findall(passage) if n not in sentence]
    value = match.group()
    if others and dice.random() < 0.5:
        new = dice.choice(others)
    elif "." in value:
        new = f"{float(value.replace(',', '')) * dice.choice((0.5, 2, 10)) + 0.1:.2f}"
    else:
        number = int(value.replace(",", ""))
        new = str(dice.choice((number + 1, number * 10 + 5, max(0, number - 2), number + 7)))
    if float(new.replace(",", "")) == float(value.replace(",", "")):
        return None
    return sentence[: match.start()] + new + sentence[match.end() :]


def alter_entity(sentence: str, passage: str, dice: random.Random) -> str | None:
    """A name (or, without one, the longest telling word) becomes another of its kind."""
    tokens = read_tokens(sentence)
    names = [t.raw for t in tokens if t.is_name and t.raw.isalpha()]
    words = [t.raw for t in tokens if t.is_content and t.kind == "word" and t.raw.isalpha()]
    here = {t.norm for t in tokens}
    pool = [t for t in read_tokens(passage) if t.kind == "word" and t.raw.isalpha()]
    if names:
        target = dice.choice(names)
        inside = [t.raw for t in pool if t.is_name and t.norm not in here]
        foreign = ["Helsinki", "Kepler", "Python", "Toyota", "Lagrange", "Nvidia", "Oslo"]
    else:
        longer = [w for w in words if len(w) >= 6]
        if not longer:
            return None
        target = dice.choice(longer)
        inside = [t.raw for t in pool if t.is_content and t.norm not in here and len(t.raw) >= 6]
        foreign = ["turbine", "harbour", "violin", "compiler", "glacier", "magnet", "voltage"]
    foreign = [w for w in foreign if w.casefold() not in here]
    new = dice.choice(inside) if inside and dice.random() < 0.5 else dice.choice(foreign)
    return re.sub(rf"\b{re.escape(target)}\b", new, sentence, count=1)


def alter_negation(sentence: str, _passage: str, _dice: random.Random) -> str | None:
    if match := _NOT.search(sentence):
        return sentence[: match.start()] + match.group(1) + sentence[match.end() :]
    if re.search(r"\b\w+n['’]t\b", sentence):
        changed = re.sub(r"\bcan['’]t\b", "can", sentence, count=1)
        return changed if changed != sentence else re.sub(r"n['’]t\b", "", sentence, count=1)
    if {t.norm for t in read_tokens(sentence)} & NEGATORS:
        return None
    if match := _COPULA.search(sentence):
        return f"{sentence[: match.end()]} not{sentence[match.end() :]}"
    return None


def alter_unit(sentence: str, _passage: str, dice: random.Random) -> str | None:
    pattern = re.compile(r"((?<![\w-])\d(?:[\d.,]*\d)?[\s-]?)([A-Za-z%]+)")
    for match in pattern.finditer(sentence):
        unit = match.group(2)
        for family in _UNIT_FAMILIES:
            members = family.split()
            if unit in members:
                same = UNITS.get(unit.casefold())
                rest = [m for m in members if UNITS.get(m.casefold(), m) != same and m != unit]
                new = match.group(1) + dice.choice(rest)
                return sentence[: match.start()] + new + sentence[match.end() :]
    return None


ALTERATIONS = {
    "number": alter_number,
    "entity": alter_entity,
    "negation": alter_negation,
    "unit": alter_unit,
}


# --- Running and reporting ---


@dataclass(frozen=True, slots=True)
class Report:
    kept: list[bool]
    supports: list[Support]
    cpu_ms: list[float]


async def run(cases: list[Case], *, with_judge: bool) -> Report:
    judge: Any = None
    likeness: Any = None
    if with_judge:
        from askbook.embedding.builtin import BuiltinEmbedder
        from askbook.retrieval.judging import BuiltinJudge

        judge, likeness = BuiltinJudge(), BuiltinEmbedder()
    from askbook.agent.verifying import settle

    kept: list[bool] = []
    supports: list[Support] = []
    cpu: list[float] = []
    for case in cases:
        started = time.process_time()
        support = check_support(case.sentence, case.passage, case.heading, case.question)
        if support.verdict == "doubtful":
            support = await settle(support, case.sentence, case.passage, judge, likeness)
        cpu.append((time.process_time() - started) * 1000)
        supports.append(support)
        kept.append(support.verdict == "supported")
    return Report(kept, supports, cpu)


@dataclass(frozen=True, slots=True)
class Share:
    """How many of the sentences of one kind were dropped."""

    source: str
    altered: str
    dropped: int
    total: int

    @property
    def value(self) -> float:
        return self.dropped / self.total if self.total else 0.0


def shares(report: Report, cases: list[Case]) -> list[Share]:
    """Dropped sentences by their source and alteration; `any` is all alterations together."""
    counts: dict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
    for case, kept in zip(cases, report.kept, strict=True):
        counts[case.source, case.altered or "unaltered"][kept] += 1
        if case.altered:
            counts[case.source, "any"][kept] += 1
    return [Share(*key, count[False], count.total()) for key, count in sorted(counts.items())]


def show(report: Report, cases: list[Case], misses: int) -> None:
    print(f"{'true sentences':<16}{'altered':<12}{'n':>6}{'dropped':>10}")
    for share in shares(report, cases):
        print(f"{share.source:<16}{share.altered:<12}{share.total:>6}{share.value:>10.1%}")
    ordered = sorted(report.cpu_ms)
    print(
        f"CPU per checked sentence: mean {sum(ordered) / len(ordered):.1f} ms, "
        f"p95 {ordered[int(len(ordered) * 0.95)]:.1f} ms"
    )
    shown: Counter[tuple[str, str]] = Counter()
    for case, kept, support in zip(cases, report.kept, report.supports, strict=True):
        wrong = kept if case.altered else not kept
        key = (case.source, case.altered or "unaltered")
        if wrong and shown[key] < misses:
            shown[key] += 1
            print(f"\n[{case.dataset} · {key}] {case.sentence}\n   {support}")
            print(f"   PASSAGE {case.passage[support.start : support.end]!r}")


if __name__ == "__main__":
    main()
