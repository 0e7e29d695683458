"""HTML and JSX tags in prose: which of them are markup, and what stays visible without them."""

import html
import re

TAG = re.compile(
    r"""<(?:
        !--.*?--> |
        !\[CDATA\[.*?\]\]> |
        (?P<close>/)?(?P<name>[A-Za-z][\w.\-]*)
        (?P<attributes>(?:\s+(?:"[^"]*"|'[^']*'|[^"'<>])*|/)?)>
    )""",
    re.S | re.X,
)
_INVISIBLE = re.compile(
    r"<(script|style|iframe|svg|noscript|template)\b[^>]*>.*?</\1\s*>", re.S | re.I
)
_INVISIBLE_END = re.compile(r"</(?:script|style|iframe|svg|noscript|template)\s*>", re.I)
_PREFORMATTED = re.compile(r"<pre\b[^>]*>(.*?)</pre\s*>", re.S | re.I)
_ATTRIBUTE = re.compile(r"""([\w\-]+)\s*=\s*\{?\s*(?:"([^"]*)"|'([^']*)'|`([^`$]*)`)""")
_BREAKING = re.compile(
    r"address|article|aside|blockquote|br|d[dlt]|details|div|fieldset|figcaption|figure|footer|form"
    r"|h[1-6]|header|hr|li|main|nav|[ou]l|p|pre|section|summary|table|tbody|tfoot|thead|tr",
    re.I,
)
_INLINE = re.compile(
    r"a|abbr|area|audio|b|base|bd[io]|body|button|canvas|caption|center|cite|code|col|colgroup|data"
    r"|datalist|del|dfn|dialog|em|embed|font|head|html|i|iframe|img|input|ins|kbd|label|legend|link"
    r"|map|mark|menu|meta|meter|noscript|object|optgroup|option|output|param|picture|progress|q|r[pt]"
    r"|ruby|s|samp|script|select|slot|small|source|span|strike|strong|style|su[bp]|svg|t[dht]"
    r"|template|textarea|time|title|track|u|var|video|wbr",
    re.I,
)


def is_markup(match: re.Match[str], closed: frozenset[str]) -> bool:
    """Whether a tag-like string is a tag and not text such as the `<T>` of `Vec<T>`.

    `closed` holds the names that have a closing tag somewhere in the file.
    """
    name = match["name"]
    if name is None:
        return True
    attributes = match["attributes"] or ""
    return (
        is_element(name)
        or "-" in name
        or name in closed
        or "=" in attributes
        or attributes.rstrip().endswith("/")
    )


def is_element(name: str) -> bool:
    """Whether HTML has an element of this name."""
    return bool(_BREAKING.fullmatch(name) or _INLINE.fullmatch(name))


def closing_names(text: str) -> frozenset[str]:
    """The names of all closing tags in `text`."""
    return frozenset(re.findall(r"</([A-Za-z][\w.\-]*)\s*>", text)) if "</" in text else frozenset()


def visible_text(tag: re.Match[str], *, inline: bool) -> str:
    """What a tag leaves behind: alternative text, a caption, a line break, or nothing."""
    name, attributes = tag["name"], tag["attributes"] or ""
    if name is None or tag["close"]:
        if name is not None and not inline and _BREAKING.fullmatch(name):
            return "\n"
        return " " if name is not None and name.lower() in ("td", "th") else ""
    lowered = name.lower()
    if lowered == "img":
        return attribute(attributes, "alt") or ""
    if lowered == "br":
        return " " if inline else "\n"
    if _BREAKING.fullmatch(lowered):
        return "" if inline else "\n"
    return component_label(name, attributes)


def component_label(name: str, attributes: str) -> str:
    """The line of text a component shows for its attributes, as bold Markdown."""
    if not name[0].isupper():
        return ""
    if name == "Listing":
        return _listing(attributes)
    if name == "TabItem":
        label = attribute(attributes, "label") or attribute(attributes, "value")
    else:
        label = next(
            (
                found
                for key in ("label", "title", "caption", "heading")
                if (found := attribute(attributes, key))
            ),
            None,
        )
    return f"\n\n**{label}**\n\n" if label else ""


def attribute(attributes: str, wanted: str) -> str | None:
    """The string value of an attribute, entities decoded."""
    if wanted not in attributes:
        return None
    for name, double, single, template in _ATTRIBUTE.findall(attributes):
        if name == wanted:
            return html.unescape(" ".join((double or single or template).split())) or None
    return None


def strip_html(source: str, closed: frozenset[str]) -> list[tuple[bool, str]]:
    """The visible text of an HTML block as (is code, text) parts; `<pre>` becomes a fenced block."""
    parts: list[tuple[bool, str]] = []
    position = 0
    closes = "</pre" in source.lower()
    for match in _PREFORMATTED.finditer(source) if closes else ():
        parts.append((False, _strip_prose(source[position : match.start()], closed)))
        code = html.unescape(TAG.sub("", match[1])).strip("\n")
        parts.append((True, f"```\n{code}\n```" if code.strip() else ""))
        position = match.end()
    parts.append((False, _strip_prose(source[position:], closed)))
    return [part for part in parts if part[1]]


def _strip_prose(source: str, closed: frozenset[str]) -> str:
    def replacement(match: re.Match[str]) -> str:
        return visible_text(match, inline=False) if is_markup(match, closed) else match[0]

    if "<!--" in source and "-->" not in source:
        source = source[: source.index("<!--")]  # a comment without end hides what follows
    if "</" in source and _INVISIBLE_END.search(source):
        source = _INVISIBLE.sub("", source)
    text = TAG.sub(replacement, source)
    lines = [line.strip() for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _listing(attributes: str) -> str:
    number, caption = attribute(attributes, "number"), attribute(attributes, "caption")
    name = attribute(attributes, "file-name")
    head = f"Listing {number}" if number else ""
    title = ": ".join(part for part in (head, caption) if part)
    where = f"Filename: {name}" if name else ""
    return "".join(f"\n\n{part}\n\n" for part in (where, title) if part)
