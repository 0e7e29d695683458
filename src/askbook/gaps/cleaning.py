"""Takes out of a question what may tell who asked: addresses, numbers, keys, places on a disk. Pure.

Names of people are recognised only after "my name is"; what has no shape of its own stays.
"""

import ipaddress
import re
import unicodedata

REMOVED = "[removed]"
LONGEST = 300
"""Characters kept of a question; what is longer is mostly pasted."""
LONG_NUMBER = 7
"""Digits from which a number may be a telephone's, an account's or a person's."""


def cleaned(question: str) -> str:
    """The question without personal data, on one line; empty when nothing is left that asks."""
    text = "".join(_visible(c) for c in unicodedata.normalize("NFKC", question))
    text = _NAME.sub(rf"\1 {REMOVED}", text)
    text = _SECRET.sub(rf"\1 {REMOVED}", text)
    text = _QUERY.sub("", _URL.sub(r"\1\2", text))
    text = _HOME.sub("~", text)
    text = _EMAIL.sub(REMOVED, text)
    text = _MACHINE.sub(REMOVED, text)
    text = _SIX.sub(lambda found: REMOVED if _is_address(found[0]) else found[0], text)
    text = _WORD.sub(lambda found: REMOVED if _is_key(found[0]) else found[0], text)
    text = _NUMBER.sub(lambda found: REMOVED if _is_long(found[0]) else found[0], text)
    text = " ".join(_REPEATED.sub(REMOVED, text).split())
    if not re.search(r"\w", text.replace(REMOVED, "")):
        return ""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4].rsplit(' ', 1)[0]} ..."


_NAME = re.compile(r"((?i:\bmy (?:\w+ )?name(?:'s| is)))\s+[\w'-]+(?:\s+[A-Z][\w'-]*){0,3}")
_SECRET = re.compile(
    r"\b(pass(?:word|phrase|wd)?|pwd|secret|token|bearer|(?:api|access|secret|private)[ _-]?key)"
    r"(?:\s*[:=]\s*\S+|(?:\s+is)?\s+(?=\S*\d)\S+)",
    re.IGNORECASE,
)
_URL = re.compile(r"\b([a-z][a-z0-9+.-]*://)(?:[^\s/@]*@)?([^\s?#]*)(?:[?#]\S*)?", re.IGNORECASE)
_QUERY = re.compile(r"(?<=\S)\?[\w.\-]+=\S*")
_HOME = re.compile(
    r"(?<![\w.])(?:[a-z]:|/mnt/[a-z]|/var|/export)?[\\/]+(?:home|users|documents and settings)[\\/]+"
    r"""(?:[^\\/\s"']+(?: [^\\/\s"']+){0,2}(?=[\\/])|[^\\/\s"',;?!)]+)""",
    re.IGNORECASE,
)
_EMAIL = re.compile(
    r"""(?<![^\s@<>()\[\]"',;])[^\s@<>()\[\]"',;]+(?:@|\s?[\[(]at[\])]\s?)[^\s@<>()\[\]"',;?!]+""",
    re.IGNORECASE,
)
_MACHINE = re.compile(
    r"(?<![\w.])(?:\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d{1,5})?|(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2})(?!\w)",
    re.IGNORECASE,
)
_SIX = re.compile(r"(?<![\w:])(?=[0-9a-f]*:)[0-9a-f:.]{3,}(?:%\w+)?", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9_+/=-]{12,}")
_KEY = re.compile(
    r"(?:sk|pk|rk|gh[a-z]|github_pat|glpat|xox[a-z]|hf|akia|aiza|eyj|ya29)[-_]?[\w-]{10,}"
    r"|(?=.*\d)[0-9a-f-]{16,}"
    r"|(?=.*\d)(?=.*[a-z])[0-9a-z]{20,}",
    re.IGNORECASE,
)
_SPELT = re.compile(r"(?<![A-Za-z])(?:[A-Z]{2,}|[a-z]{2,}|[a-z]*(?:[A-Z][a-z]{2,})+)(?![A-Za-z])")
_NUMBER = re.compile(r"(?:\+|\(\+?)?\d(?:[\s()./-]{0,3}\d)+")
_REPEATED = re.compile(rf"{re.escape(REMOVED)}(?:[\s,;:./-]*{re.escape(REMOVED)})+")


def _visible(character: str) -> str:
    """What a reader sees of a character: invisible ones can hide an address from every pattern."""
    if character.isspace():
        return " "
    return "" if unicodedata.category(character).startswith("C") else character


def _is_address(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text.rstrip(".:") if not text.endswith("::") else text)
    except ValueError:
        return False
    return address.version == 6


def _is_key(word: str) -> bool:
    """A known shape of key, or a long word that is mostly not spelt like an identifier."""
    if _KEY.fullmatch(word):
        return True
    spelt = sum(len(letters) for letters in _SPELT.findall(word))
    return len(word) >= 16 and spelt < len(word) / 2


def _is_long(number: str) -> bool:
    return sum(c.isdigit() for c in number) >= LONG_NUMBER
