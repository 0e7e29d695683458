"""Characters that nobody sees and that spoil text: control signs, marks of direction, soft hyphens, odd spaces,
and the tags and selectors in which a text can hide another one."""

import re

_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e01ef]"
)
_SPACES = re.compile("[\x85\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: str, *, keeps_lines: bool = False) -> str:
    """Text without unseen characters; every kind of space is a space, lines end with a newline or, without
    `keeps_lines`, where they did."""
    if keeps_lines:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.isprintable():
        return text
    text = _UNSEEN.sub("", text)
    return _SURROGATES.sub("\ufffd", _SPACES.sub(" ", text))
