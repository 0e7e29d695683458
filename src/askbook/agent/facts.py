"""Reads the checkable parts of a sentence: numbers, units, identifiers, names, negations. Pure."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

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


NEGATORS = frozenset("not no never none neither nor without nothing nobody nowhere non".split())
CONTRAST = NEGATORS | frozenset(
    "unlike instead rather fail lack absent unable impossible avoid prevent hardly rarely only "
    "except forbid prohibit refus unless disallow reject exclud ignor miss incorrect wrong invalid "
    "false ceas forbidden stop".split()
)
"""Words by which a source may deny something without a plain negator."""

_OPPOSITES = (
    "more less",
    "higher lower",
    "high low",
    "increase decrease",
    "increase reduce",
    "rise fall",
    "before after",
    "above below",
    "over under",
    "always never",
    "maximum minimum",
    "max min",
    "enable disable",
    "enabled disabled",
    "allow forbid",
    "allow prevent",
    "true false",
    "left right",
    "top bottom",
    "first last",
    "same different",
    "greater smaller",
    "larger smaller",
    "large small",
    "longer shorter",
    "long short",
    "faster slower",
    "fast slow",
    "start stop",
    "begin end",
    "open close",
    "input output",
    "inside outside",
    "internal external",
    "mutable immutable",
    "safe unsafe",
    "valid invalid",
    "possible impossible",
    "required optional",
    "mandatory optional",
    "early late",
    "earlier later",
    "positive negative",
    "all none",
    "add remove",
    "most least",
    "many few",
    "strong weak",
    "success failure",
    "succeed fail",
    "synchronous asynchronous",
    "static dynamic",
    "public private",
    "include exclude",
    "accept reject",
    "win lose",
    "up down",
    "north south",
    "east west",
    "northern southern",
    "eastern western",
)
OPPOSITES: dict[str, frozenset[str]] = {}
for _pair in _OPPOSITES:
    _one, _other = (stem(word) for word in _pair.split())
    OPPOSITES[_one] = OPPOSITES.get(_one, frozenset()) | {_other}
    OPPOSITES[_other] = OPPOSITES.get(_other, frozenset()) | {_one}

_NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty".split(),
        2,
    )
} | {
    "zero": "0",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "seventy": "70",
    "eighty": "80",
    "ninety": "90",
    "hundred": "x100",
    "thousand": "x1000",
    "million": "x1000000",
    "millions": "x1000000",
    "billion": "x1000000000",
    "billions": "x1000000000",
    "trillion": "x1000000000000",
    "dozen": "12",
    "half": "1/2",
    "twice": "x2",
    "third": "#3",
    "fourth": "#4",
    "fifth": "#5",
    "sixth": "#6",
    "seventh": "#7",
    "eighth": "#8",
    "ninth": "#9",
    "tenth": "#10",
}

_UNITS = {
    "percent": "%,percent,percentage,pct",
    "degree": "°,degree,degrees,deg",
    "celsius": "°c,celsius",
    "fahrenheit": "°f,fahrenheit",
    "radian": "rad,radian,radians",
    "dollar": "$,dollar,dollars,usd",
    "cent": "cent,cents",
    "euro": "€,euro,euros,eur",
    "pound": "£,gbp",
    "lb": "lb,lbs,pound,pounds",
    "oz": "oz,ounce,ounces",
    "kg": "kg,kilogram,kilograms",
    "g": "g,gram,grams",
    "mg": "mg,milligram,milligrams",
    "tonne": "tonne,tonnes,ton,tons",
    "km": "km,kilometer,kilometers,kilometre,kilometres",
    "m": "m,meter,meters,metre,metres",
    "cm": "cm,centimeter,centimeters,centimetre,centimetres",
    "mm": "mm,millimeter,millimeters,millimetre,millimetres",
    "um": "um,µm,μm,micron,microns,micrometer,micrometers",
    "nm": "nm,nanometer,nanometers,nanometre,nanometres",
    "mile": "mile,miles,mi",
    "foot": "ft,foot,feet",
    "inch": "inch,inches",
    "yard": "yard,yards,yd",
    "acre": "acre,acres",
    "s": "s,sec,secs,second,seconds",
    "ms": "ms,millisecond,milliseconds",
    "us": "us,µs,μs,microsecond,microseconds",
    "ns": "ns,nanosecond,nanoseconds",
    "min": "min,mins,minute,minutes",
    "h": "h,hr,hrs,hour,hours",
    "day": "day,days",
    "week": "week,weeks",
    "month": "month,months",
    "year": "year,years,yr,yrs",
    "decade": "decade,decades",
    "century": "century,centuries",
    "hz": "hz,hertz",
    "khz": "khz,kilohertz",
    "mhz": "mhz,megahertz",
    "ghz": "ghz,gigahertz",
    "fps": "fps",
    "rpm": "rpm",
    "bit": "bit,bits",
    "byte": "byte,bytes",
    "kb": "kb,kib,kilobyte,kilobytes",
    "mb": "mb,mib,megabyte,megabytes",
    "gb": "gb,gib,gigabyte,gigabytes",
    "tb": "tb,tib,terabyte,terabytes",
    "volt": "v,volt,volts",
    "mv": "mv,millivolt,millivolts",
    "watt": "w,watt,watts",
    "kw": "kw,kilowatt,kilowatts",
    "mw": "mw,megawatt,megawatts",
    "amp": "amp,amps,ampere,amperes",
    "ma": "ma,milliamp,milliamps,mah",
    "ohm": "ohm,ohms,ω",
    "newton": "newton,newtons",
    "joule": "joule,joules",
    "pascal": "pa,pascal,pascals",
    "kelvin": "kelvin",
    "liter": "liter,liters,litre,litres",
    "ml": "ml,milliliter,milliliters,millilitre,millilitres",
    "token": "token,tokens",
    "pixel": "px,pixel,pixels",
}
UNITS: dict[str, str] = {
    alias: name for name, aliases in _UNITS.items() for alias in aliases.split(",")
}

_EXPAND = (
    (re.compile(r"\b(ca)n['’]t\b", re.IGNORECASE), r"\1n not"),
    (re.compile(r"\bcannot\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon['’]t\b", re.IGNORECASE), "will not"),
    (re.compile(r"n['’]t\b"), " not"),
    (re.compile(r"\[(\^?[^\]\n]*)\]\([^)\s]*\)"), r"\1"),
    (re.compile(r"['’]s\b"), " ’"),
    (re.compile(r"(?:(?<=\s)|^)\(?\d{1,2}\)\s"), "; "),
)
_TOKEN = re.compile(
    r"(?P<number>(?<![\w.])[-−]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.])[-−]?(?=\d)\d+(?:\.\d+)*)"
    r"|(?P<sign>°[CF]?\b|[%°$€£]|[µμ][ms]\b)"
    r"|(?P<word>[^\W\d_](?:[\w'’]|[.:/+#-](?=\w))*|_\w+|\d\w+)"
)
_SENTENCE_START = re.compile(
    r"(?:^|(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bSt)(?<!\b[A-Z])[.!?:;]\s|[\n|•])"
    r"[\s\"'“‘(\[*_`+-]*$"
)


@lru_cache(maxsize=4096)
def read_tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a text; contractions are opened, number words become numbers."""
    for pattern, replacement in _EXPAND:
        text = pattern.sub(replacement, text)
    tokens: list[Token] = []
    end = 0
    for match in _TOKEN.finditer(text):
        raw = match.group()
        count, gap, end = len(tokens), text[end : match.start()], match.end()
        if match.lastgroup == "number":
            tokens.append(_number(raw))
        elif match.lastgroup == "sign":
            tokens.append(Token(f"unit:{UNITS.get(raw.casefold(), raw)}", raw, "unit", True))
        else:
            tokens += _words(raw, text, match.start(), tokens)
            if gap in (" ", "-", " - "):
                tokens[count] = replace(tokens[count], is_joined=True)
    return tuple(tokens)


def _number(raw: str) -> Token:
    digits = raw.replace(",", "").replace("−", "-")
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
    if lower in _NUMBER_WORDS:
        return [Token(_NUMBER_WORDS[lower], raw, "number", True)]
    after_number = bool(before) and before[-1].kind == "number"
    if after_number and lower in UNITS and (len(lower) > 1 or raw in "msgVWh"):
        return [Token(f"unit:{UNITS[lower]}", raw, "unit", True)]
    norm = stem(lower)
    telling = bool(content_terms(raw))
    capital = raw[0].isupper() and (
        any(c.isupper() or c.isdigit() for c in raw[1:])
        or not _SENTENCE_START.search(text[max(0, start - 12) : start])
    )
    return [Token(norm, raw, "word", telling and lower not in NEGATORS, telling and capital)]


_CODE_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_IDENTIFIER = re.compile(
    r"https?://[^\s)\]>\"']+|(?<![\w-])--?[A-Za-z][\w-]*|(?<!\w)[~/][\w./~-]+"
    r"|[A-Za-z_]\w*(?:(?:::|\.|->)\w+)+(?:\(\))?|\b\w*[A-Za-z]_\w+|\b[a-z]+[A-Z]\w*|\b\w+\(\)"
)
_ABBREVIATION = re.compile(r"(?:e\.g|i\.e|a\.m|p\.m|u\.s|etc)\.?$", re.IGNORECASE)


def identifiers(text: str) -> list[str]:
    """Code, paths, flags, links and names with inner capitals or underscores, as written."""
    spans = [match.group(1).strip() for match in _CODE_SPAN.finditer(text)]
    rest = _CODE_SPAN.sub(" ", text)
    loose = [match.group().rstrip(".,;:") for match in _IDENTIFIER.finditer(rest)]
    found = [*spans, *(word for word in loose if not _ABBREVIATION.search(word))]
    return list(dict.fromkeys(item for item in found if item))
