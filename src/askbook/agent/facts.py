"""Reads the checkable parts of a sentence: numbers, units, identifiers, names, negations. Pure."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from html import unescape
from typing import Literal, TypeAlias
from unicodedata import combining, normalize

from askbook.agent.vocabulary import DISCOURSE, NEGATORS, NUMBER_WORDS, UNITS
from askbook.retrieval.terms import content_terms, stem

TokenKind: TypeAlias = Literal["word", "number", "unit"]


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or unit: `norm` is what is compared, `raw` what was written."""

    norm: str
    raw: str
    kind: TokenKind
    is_content: bool
    is_name: bool = False
    is_joined: bool = False
    """Only a space or hyphen stands between this token and the one before."""


_JOINED = re.compile(
    r"(?<=[^\W\d_]{2})\.(?=(?:An?|And|As|But|For|However|If|In|Its?|On|That|The|There|These|They|This|To|We|When|You)\s)"
)
"""A full stop without its space: what follows is no part of a name."""
_EXPAND = (
    (_JOINED, ". "),
    (re.compile(r"\b(ca)n['’]t\b", re.IGNORECASE), r"\1n not"),
    (re.compile(r"\bcannot\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon['’]t\b", re.IGNORECASE), "will not"),
    (re.compile(r"n['’]t\b"), " not"),
    (re.compile(r"\[(\^?[^\]\n]*)\]\([^)\s]*\)"), r"\1"),
    (re.compile(r"['’]s\b"), " ’"),
    (re.compile(r"\A\s*no\s*(?:,|\.(?=\s+[A-Z]))", re.IGNORECASE), ""),
    (
        re.compile(
            r"\b(?:for (?:example|instance)|in (?:addition|contrast)|as well as|vice versa)\b", re.I
        ),
        "and",
    ),
)
_LIST_MARK = re.compile(r"(?:(?<=\s)|^)\(?\d{1,2}\)\s")
_TOKEN = re.compile(
    r"(?P<number>(?<![\w.])[-−]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.])\d+(?:st|nd|rd|th)\b"
    r"|(?<![\w.])[-−]?(?=\d)\d+(?:\.\d+)*)"
    r"|(?P<sign>°\s?[CF]\b|[%°$€£]|[µμ][ms]\b)"
    r"|(?P<word>[^\W\d_](?:[\w'’]|[.:/+#-](?=\w))*|_\w+|\d\w+)"
)
_MAY = re.compile(r"May(?=\s+\d)")
_SENTENCE_START = re.compile(
    r"(?:^|(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bSt)(?<!\b[A-Z])[.!?:;]\s|[\n|•])"
    r"[\s\"'“‘(\[*_`+-]*$"
)


@lru_cache(maxsize=4096)
def read_tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a text; contractions are opened, number words become numbers."""
    text = unescape(unescape(text)) if "&" in text else text
    for pattern, replacement in _EXPAND:
        text = pattern.sub(replacement, text)
    text = _LIST_MARK.sub(_unless_in_brackets, text)
    tokens: list[Token] = []
    end = 0
    for match in _TOKEN.finditer(text):
        raw = match.group()
        count, gap, end = len(tokens), text[end : match.start()], match.end()
        if match.lastgroup == "number":
            tokens.append(_number(raw))
        elif match.lastgroup == "sign":
            unit = UNITS.get(raw.casefold().replace(" ", ""), raw)
            tokens.append(Token(f"unit:{unit}", raw, "unit", True))
        else:
            tokens += _words(raw, text, match.start(), tokens)
            if gap in (" ", "-", " - "):
                tokens[count] = replace(tokens[count], is_joined=True)
    return tuple(tokens)


def _unless_in_brackets(mark: re.Match[str]) -> str:
    """Nothing for the mark of an item ("2) cut"); a number that only ends a bracket stays."""
    before = mark.string[: mark.start()]
    inside = before.count("(") > before.count(")") and not mark.group().startswith("(")
    return mark.group() if inside else "; "


def _number(raw: str) -> Token:
    digits = raw.replace(",", "").replace("−", "-").rstrip("stndrh")
    if digits.count(".") <= 1:
        sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
        whole, _, part = digits.partition(".")
        part = part.rstrip("0")
        digits = sign + (whole.lstrip("0") or "0") + (f".{part}" if part else "")
    return Token(digits, raw, "number", True)


def _words(raw: str, text: str, start: int, before: list[Token]) -> list[Token]:
    """A word; a hyphenated or slashed one as its parts, unless it is an identifier."""
    if re.fullmatch(r"[^\W\d_]+(?:[-/][^\W_]+)+", raw):
        parts: list[Token] = []
        for part in re.split(r"[-/]", raw):
            known = [*before, *parts]
            parts += [_number(part)] if part.isdigit() else _words(part, text, start, known)
        return parts
    lower = raw.casefold().strip("'’")
    if lower in NUMBER_WORDS:
        return [Token(NUMBER_WORDS[lower], raw, "number", True)]
    after_number = bool(before) and before[-1].kind == "number"
    if after_number and lower in UNITS and (len(lower) > 1 or raw in "msgVWh"):
        return [Token(f"unit:{UNITS[lower]}", raw, "unit", True)]
    norm = stem(_plain(lower))
    telling = bool(content_terms(_plain(raw))) and lower not in DISCOURSE
    telling = telling or bool(_MAY.match(text, start))
    capital = raw[0].isupper() and (
        any(c.isupper() or c.isdigit() for c in raw[1:])
        or not _SENTENCE_START.search(text[max(0, start - 12) : start])
    )
    return [Token(norm, raw, "word", telling and lower not in NEGATORS, telling and capital)]


def _plain(word: str) -> str:
    """The word without accents, which readers leave out."""
    if word.isascii():
        return word
    return "".join(c for c in normalize("NFKD", word) if not combining(c))


_CODE_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_IDENTIFIER = re.compile(
    r"https?://[^\s)\]>\"']+|(?<![\w-])--?[A-Za-z][\w-]*|(?<!\w)[~/][\w./~-]+"
    r"|[A-Za-z_]\w*(?:(?:::|\.|->)\w+)+(?:\(\))?|\b\w*[A-Za-z]_\w+|\b[a-z]+[A-Z]\w*|\b\w+\(\)"
    r"|\b(?=[\w-]*\d)[A-Za-z]\w*(?:-\w+){2,}"
)
_ABBREVIATION = re.compile(r"(?:e\.g|i\.e|a\.m|p\.m|u\.s|etc)\.?$", re.IGNORECASE)


def identifiers(text: str) -> list[str]:
    """Code, paths, flags, links and names with inner capitals or underscores, as written."""
    spans = [match.group(1).strip() for match in _CODE_SPAN.finditer(text)]
    rest = _JOINED.sub(". ", _CODE_SPAN.sub(" ", text))
    loose = [match.group().rstrip(".,;:") for match in _IDENTIFIER.finditer(rest)]
    found = [*spans, *(word for word in loose if not _ABBREVIATION.search(word))]
    return list(dict.fromkeys(item for item in found if item))
