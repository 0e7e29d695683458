"""The Markdown of an answer as safe HTML: its numbers become chips that name their place, raw HTML stays text.

The model and the book write Markdown only. What may become a tag is decided here, on the server, so that a page
or a widget inserts nothing it would have to judge itself.
"""

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyromark.event import Event

from askbook.agent.response import Citation
from askbook.api.marking import END, STAND_INS, Span, Writer
from askbook.api.rendering import sanitise

CHIP_OPEN, CHIP_CLOSE = STAND_INS[:2]
"""Stand for a chip while the sanitiser works; an answer has no highlights, whose stand-ins these are."""
_NUMBERS = re.compile(r"\s*\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_CHIP = re.compile(f"{CHIP_OPEN}(\\d+){CHIP_CLOSE}")
_DEFINITION = re.compile(r"^( {0,3})\[(?=[^\]\n]*\]:)", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_ROW = re.compile(r"^\s*\|.*\|")
_RULE = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
_EMPTY_HEAD = re.compile(r"<thead><tr>(?:<th></th>)*</tr></thead>")


def render_answer(markdown: str, citations: Iterable[Citation] = ()) -> str:
    """The answer as HTML; `[n]` of a known citation becomes a chip, every other stays text."""
    known = {citation.n: citation for citation in citations}
    # "[1]: address" would make a link of the model's own out of a citation.
    plain = _DEFINITION.sub(r"\1\\[", markdown)
    text = "\n".join(_with_heads(plain.splitlines()))
    written = _AnswerWriter(text.encode(), None, None, numbers=frozenset(known)).write(text)
    cleaned = sanitise(written, frozenset()).replace(END, "")
    framed = _EMPTY_HEAD.sub("", cleaned)
    framed = framed.replace("<table>", _TABLE_OPEN).replace("</table>", "</table></div>")
    framed = framed.replace("<pre>", '<pre tabindex="0">')
    return _CHIP.sub(lambda match: _chip(known, int(match[1])), framed).strip()


_JOINER = "\u2060"
"""Keeps a chip on the line of the words it supports."""
_TABLE_OPEN = '<div class="table-frame" tabindex="0"><table>'


def _chip(known: Mapping[int, Citation], n: int) -> str:
    place, url = html.escape(place_of(known[n])), html.escape(known[n].url)
    href = f' href="{url}"' if re.match(r"https?://|/(?![/\\])", known[n].url) else ""
    return f'<a class="chip"{href} data-n="{n}" aria-label="Source {n}: {place}">{n}</a>'


def place_of(citation: Citation) -> str:
    """Page and section, for people; of a PDF the number of the page too."""
    page, section = citation.page_title, citation.section_title
    place = f"{page} › {section}" if section and section != page else page
    return place if citation.page is None else f"{place}, p. {citation.page}"


@dataclass(slots=True)
class _AnswerWriter(Writer):
    """Writes an answer: text is joined before numbers are looked for, for the parser splits at brackets."""

    numbers: frozenset[int] = frozenset()
    pending: list[str] = field(default_factory=list[str])

    def _event(self, event: Event, span: Span) -> None:
        match event:
            case {"Text": text} if not self._is_code:
                self.pending.append(text)
            case _:
                self._flush()
                # Zero-argument super() does not work in a slotted dataclass.
                Writer._event(self, event, span)

    def _tags(self, event: Event, span: Span) -> tuple[str, str]:
        match event:
            case {"Start": {"Heading": _}}:
                # The page has an outline of its own; an answer adds nothing to it.
                return "<p><strong>", "</strong></p>\n"
            case {"Start": {"Link": {"dest_url": url}}} if url.startswith("#"):
                # It led to another place of its lesson, which is not here.
                return "", ""
            case _:
                return Writer._tags(self, event, span)

    @property
    def _is_code(self) -> bool:
        return bool(self.closing) and self.closing[-1].startswith("</code>")

    def _flush(self) -> None:
        text, self.pending = "".join(self.pending), []
        position = 0
        for match in _NUMBERS.finditer(text):
            cited = [n for n in map(int, match[1].split(",")) if n in self.numbers]
            if cited:
                self.out.append(self._text(text[position : match.start()], Span(0, 0)))
                self.out.append(_JOINER)
                self.out.extend(f"{CHIP_OPEN}{n}{CHIP_CLOSE}" for n in cited)
                position = match.end()
        self.out.append(self._text(text[position:], Span(0, 0)))


def _with_heads(lines: list[str]) -> Iterable[str]:
    """The lines, with an empty head above table rows that were quoted without theirs."""
    fence, in_table = "", False
    for number, line in enumerate(lines):
        opened = _FENCE.match(line)
        if opened and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else opened[1]
        is_row = not fence and bool(_ROW.match(line))
        if is_row and not in_table and not _RULE.match("".join(lines[number + 1 : number + 2])):
            cells = len(re.split(r"(?<!\\)\|", re.sub(r"^\s*\||\|\s*$", "", line)))
            yield ""
            yield "|" * (cells + 1)
            yield "|" + "-|" * cells
        in_table = is_row
        yield line
