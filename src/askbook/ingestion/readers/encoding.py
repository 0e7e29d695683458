"""The text of an HTML file: its byte order mark, what it says of itself, else UTF-8."""

import codecs
import re

from askbook.errors import InvalidInput

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(
    rb"""<\?xml[^>]*\bencoding\s*=\s*["']([\w.:\-]+)|<meta[^>]*\bcharset\s*=\s*["']?\s*([\w.:\-]+)""",
    re.I,
)
_LOOKED_AT = 2048
_FALLBACK = "cp1252"
"""What browsers take for pages that say nothing and are not UTF-8."""


def decode_html(source_file: str, data: bytes) -> tuple[str, tuple[str, ...]]:
    """The text of a page and what was odd about its encoding; refuses what is no text."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").removeprefix("\ufeff"), ()
    zero = data.find(b"\x00")
    if zero >= 0:
        raise InvalidInput(
            f"{source_file} is not a text file: it holds a NUL byte at offset {zero}.",
            "Remove the file from the book, or save it as UTF-8.",
        )
    match = _DECLARED.search(data, 0, _LOOKED_AT)
    declared = (match[1] or match[2]).decode("ascii", "replace") if match else ""
    warnings: list[str] = []
    for encoding in (_known(source_file, declared, warnings), "utf-8"):
        if encoding:
            try:
                return data.decode(encoding), tuple(warnings)
            except UnicodeDecodeError as error:
                where = f"byte 0x{data[error.start]:02x} at offset {error.start}"
                warnings.append(f"{source_file} is not valid {encoding}: {where}.")
    warnings.append(f"{source_file} was read as {_FALLBACK}; save it as UTF-8 to be sure.")
    return data.decode(_FALLBACK, "replace"), tuple(dict.fromkeys(warnings))


def _known(source_file: str, declared: str, warnings: list[str]) -> str:
    """The name of a text encoding that Python has too; browsers read Latin-1 as Windows-1252."""
    if not declared:
        return ""
    try:
        name = codecs.lookup(declared).name
        "".encode(name)
    except (LookupError, ValueError):
        warnings.append(f"{source_file} declares the unknown encoding {declared!r:.40}.")
        return ""
    if name.startswith("utf-16"):  # whoever could read the declaration did not read UTF-16
        return "utf-8"
    return _FALLBACK if name in ("iso8859-1", "ascii") else name
