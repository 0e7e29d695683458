"""What can be written down as text."""

import re

_HALF_A_CHARACTER = re.compile("[\ud800-\udfff]")


def is_text(value: str) -> bool:
    """Whether a string can be stored and shown; bytes that are no UTF-8 reach Python as halves of characters."""
    return value.isascii() or _HALF_A_CHARACTER.search(value) is None
