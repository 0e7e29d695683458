"""Names a reader expects to find letter by letter: symbols, flags, paths, codes and quoted words. Pure."""

import re
from collections.abc import Mapping, Sequence

from askbook.retrieval.terms import content_terms

MOST = 3
"""A question with more names than this is a listing: no single chunk is meant by them."""

FENCE = "```"
FEW = 3
"""A name that more chunks than these hold tells little; the rankings decide, unless nothing else was asked."""

_QUOTED = re.compile(r"`([^`\n]{2,120})`|[\"“]([^\"“”\n]{2,120})[\"”]")
_NAME = re.compile(
    r"""(?<![\w/.:-])(?:
        --?[A-Za-z][\w-]+                          # --symlink-install
      | [/~$@][A-Za-z_]\w*(?:[/.-]\w+)*            # /cmd_vel, $ROS_DOMAIN_ID, @override
      | [A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w+)+  # rclpy.spin, std::ops
      | (?=\w*[A-Za-z])\w*[A-Za-z0-9]_\w+          # ERR_42, use_sim_time
      | [A-Z]+-?[0-9]{2,}                          # E0507, RFC-2119
      | [a-z]+[A-Z]\w+ | (?:[A-Z][a-z0-9]+){2,}    # camelCase, TransformListener
    )(?![\w])""",
    re.X,
)


def names_in(question: str) -> tuple[str, ...]:
    """The names a question holds, in order; none when it holds a listing of its own."""
    if FENCE in question:
        return ()
    quoted = [first or second for first, second in _QUOTED.findall(question)]
    bare = _NAME.findall(_QUOTED.sub(" ", question))
    names = tuple(dict.fromkeys(name.strip() for name in (*quoted, *bare) if name.strip()))
    return names if len(names) <= MOST else ()


def without_names(question: str) -> str:
    """What a question says beside its names; nothing when it holds a listing of its own."""
    return "" if FENCE in question else _NAME.sub(" ", _QUOTED.sub(" ", question))


def holding(question: str, names: Sequence[str], texts: Mapping[str, str]) -> set[str]:
    """The keys of the texts that hold most of the names letter by letter, if that singles them out."""
    patterns = [(name.lower(), _whole(name)) for name in names]
    held = {
        key: sum(_holds(text, lowered, pattern) for lowered, pattern in patterns)
        for key, text in texts.items()
    }
    most = max(held.values(), default=0)
    keys = {key for key, count in held.items() if count == most} if most else set[str]()
    return keys if len(keys) <= FEW or _says_no_more(question, names) else set()


def _holds(text: str, name: str, whole: re.Pattern[str]) -> bool:
    # A pattern that ignores case is slow, and most texts do not have the name at all.
    return name in text.lower() and bool(whole.search(text))


def _whole(name: str) -> re.Pattern[str]:
    """Where a name stands by itself; a flag goes on over hyphens."""
    end = r"(?![\w-])" if name.startswith("-") else r"(?!\w)"
    return re.compile(rf"(?<!\w){re.escape(name)}{end}", re.IGNORECASE)


def _says_no_more(question: str, names: Sequence[str]) -> bool:
    """Whether the names are all that is asked for."""
    for name in names:
        question = question.replace(name, " ")
    return not content_terms(question)
