"""Small EPUBs and PDFs, written byte by byte, so that tests need no program that makes them."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CONTAINER = (
    '<?xml version="1.0"?><container><rootfiles>'
    '<rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/>'
    "</rootfiles></container>"
)
XHTML = (
    '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" '
    'xmlns:epub="http://www.idpf.org/2007/ops"><head><title/></head><body>{}</body></html>'
)


def document(body: str) -> str:
    """An XHTML document with this body, and a title that closes itself."""
    return XHTML.format(body)


def nav(items: str) -> str:
    """A navigation document with these list items."""
    return document(f'<nav epub:type="toc"><ol>{items}</ol></nav>')


def epub(
    documents: Mapping[str, str | bytes],
    *,
    title: str = "A Small Book",
    contents: str = "",
    ncx: str = "",
    spine: Sequence[str] | None = None,
    more: Mapping[str, str | bytes] | None = None,
    without: Sequence[str] = (),
) -> bytes:
    """An EPUB of these documents (names below `OEBPS/`) in this order; `without` leaves members out."""
    names = list(documents)
    items = [
        f'<item id="d{number}" href="{name}" media-type="application/xhtml+xml"/>'
        for number, name in enumerate(names)
    ]
    if contents:
        items.append(
            '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
        )
    if ncx:
        items.append('<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>')
    order = spine if spine is not None else [f"d{number}" for number in range(len(names))]
    references = "".join(f'<itemref idref="{identifier}"/>' for identifier in order)
    package = (
        f'<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></metadata>'
        f'<manifest>{"".join(items)}</manifest><spine toc="ncx">{references}</spine></package>'
    )
    members: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/content.opf": package,
        **({"OEBPS/nav.xhtml": contents} if contents else {}),
        **({"OEBPS/toc.ncx": ncx} if ncx else {}),
        **{f"OEBPS/{name}": text for name, text in documents.items()},
        **(more or {}),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if name not in without:
                archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content, 8)
    return buffer.getvalue()


@dataclass(frozen=True)
class Shown:
    """A line on a page: its text, how far up it stands, its size and its face."""

    text: str
    y: float
    size: float = 11
    face: str = "F1"
    x: float = 72


def lines(*texts: str, top: float = 720, step: float = 14, face: str = "F1") -> list[Shown]:
    """Lines one below the other; an empty one leaves a gap."""
    return [
        Shown(text, top - step * number, face=face) for number, text in enumerate(texts) if text
    ]


def pdf(
    pages: Sequence[Sequence[Shown]],
    *,
    title: str = "",
    outline: Sequence[tuple[str, int]] = (),
) -> bytes:
    """A PDF with Helvetica (F1), Helvetica-Bold (F2) and Courier (F3); bookmarks are (title, page)."""
    objects: list[bytes] = [b""] * 7
    fonts = b"<< /F1 4 0 R /F2 5 0 R /F3 6 0 R >>"
    for number, face in ((4, b"Helvetica"), (5, b"Helvetica-Bold"), (6, b"Courier")):
        objects[number] = (
            b"<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>" % face
        )
    kids: list[int] = []
    for page in pages:
        content = b"\n".join(_operators(line) for line in page)
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font %s >> >>" % (len(objects) - 1, fonts)
        )
        kids.append(len(objects) - 1)
    references = b" ".join(b"%d 0 R" % kid for kid in kids)
    objects[2] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (references, len(kids))
    objects[3] = b"<< /Title (%s) >>" % _escaped(title)
    outlines = b""
    if outline:
        root = len(objects)
        objects.append(
            b"<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>"
            % (root + 1, root + len(outline), len(outline))
        )
        for number, (entry, page_number) in enumerate(outline):
            after = b"/Next %d 0 R " % (root + number + 2) if number + 1 < len(outline) else b""
            objects.append(
                b"<< /Title (%s) /Parent %d 0 R %s/Dest [%d 0 R /Fit] >>"
                % (_escaped(entry), root, after, kids[page_number - 1])
            )
        outlines = b"/Outlines %d 0 R " % root
    objects[1] = b"<< /Type /Catalog /Pages 2 0 R %s>>" % outlines
    return _file(objects)


def _operators(line: Shown) -> bytes:
    return b"BT /%s %g Tf 1 0 0 1 %g %g Tm (%s) Tj ET" % (
        line.face.encode(),
        line.size,
        line.x,
        line.y,
        _escaped(line.text),
    )


def _escaped(text: str) -> bytes:
    plain = text.encode("cp1252")
    return plain.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _file(objects: Sequence[bytes]) -> bytes:
    parts, offsets, length = [b"%PDF-1.4\n"], [0], 9
    for number, content in enumerate(objects[1:], start=1):
        offsets.append(length)
        parts.append(b"%d 0 obj\n%s\nendobj\n" % (number, content))
        length += len(parts[-1])
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets[1:])
    parts.append(
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R /Info 3 0 R >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (len(objects), table, len(objects), length)
    )
    return b"".join(parts)
