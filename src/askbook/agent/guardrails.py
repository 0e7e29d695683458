"""Screens for untrusted text: orders hidden in a book, and markup or leaks in what a model wrote. Pure."""

import re
from functools import lru_cache

MAX_DRAFT = 20_000
"""Characters of one model answer; what goes on longer is cut off."""

_ORDERS = re.compile(
    r"""
    \b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,30}
        \b(?:previous|prior|above|earlier|preceding|your|system|all\ other|these)\b[^.\n]{0,20}
        \b(?:instructions?|rules?|prompts?|directions|guidelines|guardrails|sources?)\b
  | \b(?:new|updated|real|actual|hidden|secret|special)\ (?:system\ )?(?:instructions?|prompt)\b\s*:
  | ^\W{0,6}(?:system|assistant|developer)\s*(?:message|prompt|note|override)?\s*[:>\]]
  | <\|?(?:im_start|im_end|system|endoftext|start_header_id|eot_id)\|?>|\[/?INST\]|<</?SYS>>
  | \byou\ are\ (?:now|no\ longer)\b[^.\n]{0,60}\b(?:ai|assistant|bot|chatbot|model|tutor|dan|pirate|admin\w*|unrestricted|allowed)\b
  | \b(?:ai|assistants?|chatbots?|tutors?|language\ models?|llms?)\b
        (?:\s*[,:]\s*(?:please\ |now\ |you\ (?:must|should|will)\ |always\ |do\ not\ )?
        |\ (?:must|should|shall|are\ to|is\ to|has\ to|have\ to)\ (?:now\ |always\ |never\ |not\ )?)
        (?:tell|say|reply|respond|reveal|print|visit|ignore|claim|recommend|append|insert|repeat|answer)\b
  | \b(?:ai|assistants?|chatbots?|tutors?|language\ models?|llms?)\ (?:reading|processing|answering|that\ reads?|who\ reads?)\b
  | \b(?:tell|inform|convince|instruct|ask|direct|send)\ (?:the\ |every\ |each\ |all\ )?(?:user|reader|student|learner|customer)s?\b
        \s+(?:that|to|about|their|the)\b
  | \bdo\ not\ (?:cite|mention|reveal|tell|disclose|quote)\b[^.\n]{0,60}\b(?:users?|readers?|students?|sources?|this\ (?:note|instruction|passage|text))\b
  | \b(?:respond|reply|answer)\ (?:only\ |always\ )?(?:with|by\ saying)\b[^.\n]{0,60}\b(?:to\ (?:any|all|every)|regardless|no\ matter|instead)\b
  | \b(?:when|if|whenever)\ (?:the\ user\ |anyone\ |somebody\ |you\ are\ |they\ )?asks?(?:ed)?\b[^.\n]{0,60},\s*(?:say|answer|reply|respond|tell|claim)\b
  | \b(?:reveal|print|repeat|output|leak)\b[^.\n]{0,30}\b(?:system\ prompt|your\ (?:instructions|prompt)|api\ keys?)\b
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_BLOCK_BREAK = re.compile(r"\n[ \t]*\n")


@lru_cache(maxsize=1024)
def orders_in(text: str) -> tuple[tuple[int, int], ...]:
    """Spans of paragraphs that speak to an assistant instead of to a reader: no evidence for anything."""
    spans: list[tuple[int, int]] = []
    start = 0
    for end in [*(m.start() for m in _BLOCK_BREAK.finditer(text)), len(text)]:
        if _ORDERS.search(text[start:end]):
            spans.append((start, end))
        start = end
    return tuple(spans)


def gives_orders(text: str) -> bool:
    """Whether a text speaks to an assistant."""
    return bool(orders_in(text))


_IMAGE = re.compile(r"!\[(?!\d[\d\s,;]*\])([^\[\]\n]*)\](?:\s?\([^)\n]*\)|\[[^\[\]\n]*\])")
_LINK = re.compile(r"\[([^\[\]\n]*)\]\s?\([^)\n]*\)")
_REFERENCE = re.compile(r"\[(?![\d\s,]*\])([^\[\]\n]*)\]\s?(?=\[)")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:.*$", re.MULTILINE)
_AUTOLINK = re.compile(r"<((?:https?|ftp|mailto|javascript|data):[^>\s]*)>", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?(?:-->|$)", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,300}>")
_CODE = re.compile(r"\\[\\`]|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)", re.DOTALL)
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
    r"\U000e0000-\U000e007f\ue000-\uf8ff]"
)


def neutralise(text: str) -> str:
    """Plain Markdown without links, images, HTML or hidden characters; code keeps its characters."""
    text = _INVISIBLE.sub("", text)
    parts: list[str] = []
    end = 0
    for code in _CODE.finditer(text):
        # In code, markup is only shown, never interpreted.
        parts += [_plain(text[end : code.start()]), code.group()]
        end = code.end()
    return "".join([*parts, _plain(text[end:])])


def _plain(text: str) -> str:
    text = _COMMENT.sub("", text)
    text = _DEFINITION.sub("", text)
    text = _IMAGE.sub(r"\1", text)
    text = _LINK.sub(r"\1", text)
    text = _REFERENCE.sub(r"\1 ", text)
    text = _AUTOLINK.sub(r"\1", text)
    text = _TAG.sub("", text)
    # A lone bracket or backtick could still join with other text into a tag, a link or code.
    text = re.sub(r"<(?=[A-Za-z/!?])", "< ", text)
    return text.replace("](", "] (").replace("`", "")


_REFUSALS = re.compile(
    r"\b(?:couldn['’]t|could\ not|can(?:no|['’])t|unable\ to)\s+find\b"
    r"|\b(?:don['’]t|do\ not)\s+have\s+(?:any\s+|enough\s+)?information\b"
    r"|\b(?:book|sources?|passages?|context|documentation|text|chapters?)\b[^.]{0,30}"
    r"\b(?:do(?:es)?\s+not|do(?:es)?n['’]t)\s+(?:\w+\s+){0,2}"
    r"(?:mention|contain|say|provide|cover|answer|include|specify|discuss|describe|address)"
    r"|\bnot\s+(?:\w+\s+){0,2}(?:mentioned|covered|in|found\s+in|answered|provided|available)\s+"
    r"(?:in\s+|by\s+)?(?:the|this|these)\s+(?:book|sources?|passages?|context)\b"
    r"|\bno\s+(?:relevant\s+)?information\s+(?:about|on|in)\b",
    re.IGNORECASE,
)


def is_refusal(text: str, refusal: str) -> bool:
    """Whether a model's sentence says that the book does not answer."""
    return _letters(refusal) in _letters(text) or bool(_REFUSALS.search(text))


def leaks(text: str, secrets: tuple[str, ...]) -> bool:
    """Whether a text shows what only the model was told: boundaries or lines of its instructions."""
    shown = _letters(text)
    return any(_letters(secret) in shown for secret in secrets if len(secret) >= 8)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold().replace("’", "'")).strip()
