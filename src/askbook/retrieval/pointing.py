"""Questions that point at what was said: "tell me more", "where does it run?", "what does the second one do?". Pure.

They are read as the question they stand for. Nothing is guessed: "the second one" needs a clear enumeration, and "it"
is what the last question with a subject of its own was about.
"""

import re
from collections.abc import Sequence

from askbook.retrieval.enumerations import enumerated
from askbook.retrieval.history import Message
from askbook.retrieval.items import (
    LEANING,
    points_at_an_item,
    with_item_and_list,
    with_item_named,
)
from askbook.retrieval.terms import content_terms, content_words, term_of

LONGEST_SUBJECT = 300
LONGEST_WORD = 40
WORDS = 8
"""So many words of earlier questions are carried into one that leaves them out."""
NAMED = 6
"""So many of them stand in the place of "it"."""
QUESTIONS = 3
FEW_TERMS = 2
"""A question with at most so many terms of its own says too little to be found by itself."""
_REQUEST = re.compile(
    r"\b(?:more|why|how|what|when|where|who|which|else|explain|go on|continue)\b", re.IGNORECASE
)
"""A reader who says only "no" or "yes" answers and asks nothing."""
_MORE = re.compile(
    r"\b(?:more (?:about|on|details?|information)|(?:tell|say|know|show|read|hear|learn)\b.{0,30}\bmore|anything else"
    r"|what else|go on|continue|elaborate|expand|further|in (?:more )?detail)\b|^\W*(?:and )?more\W*$",
    re.IGNORECASE,
)
_NAME = re.compile(r"[^\w\s?.!,;:'’…-]")
"""C++ and the like are too short for terms, and yet a subject."""
_IT = re.compile(
    r"\b(?:it|its|they|them|their)\b|(?<=\bwhich )one\b(?! of\b)|(?<!\bthe )(?<!\bno )\bone\b(?=\W*$)"
    r"|\b(?:this|that|these|those)\b(?=\s*(?:[?.!,;]|$|(?:is|are|was|were|do|does|did|can|could|should|would|will|has"
    r"|have|had|may|might|must|mean|means|work|works|happen|happens|be|too|so|as|if|when|while|for|in|on|to|and|or"
    r"|with|by|at|from)\b))|(?<=\bwhy is )(?:this|that)\b(?=\s\w+\W*$)",
    re.IGNORECASE,
)
"""Words that stand for a thing; not "this" in "this node", nor "that" in "the node that reads"."""
_NUMBERED = re.compile(
    r"\b(?:book|part|module|chapter|section|lesson|unit|week|day|step|stage|phase|level|layer|tier|category|class|type|kind"
    r"|mode|version|law|rule|figure|table|exercise|question|problem|task|example|case|joint|axis|degree|order|dimension"
    r"|equation|line|port|channel|number)\s+$",
    re.IGNORECASE,
)
"""What "one" is the number of."""
_EMPTY_IT = re.compile(
    r"\b(?:is|was|would|isn't|wouldn't) it (?:be )?(?:\w+ ){1,2}(?:to|that|if|whether)\b"
    r"|\bit(?:'s| is| was) (?:\w+ ){1,2}(?:to|that|if|whether)\b"
    r"|\b(?:does|would|will) it (?:take|make sense|matter|help)\b(?=.*\b(?:to|that|if|whether|when|which|how)\b)",
    re.IGNORECASE,
)
"""An "it" that stands for nothing: "Is it possible to …", "How long does it take to …"; not "Why does it matter?"."""
_ASKS_WHAT = re.compile(
    r"\W*(?:(?:and|so|but|then|ok|okay|now)\W+)*(?:(?:what|who)(?:'s| is| are| was| were)|define|explain|describe)\s+"
    r"(?!(?:the|its|their|my|your|our|about|for|with|in|if)\b)",
    re.IGNORECASE,
)
"""Asks what a thing is, by its name; "the limit" and "its limit" would be of something said before."""
_GENERIC = frozenset("matter important useful good need necessary help point purpos".split())
"""Terms of questions that any subject may be asked."""
_COURTESY = frozenset(
    """yes yeah yep no nope ok okay sure thanks thank hello hi hey sorry great good nice cool fine right correct exactly
    morning afternoon evening bye goodbye understand see know""".split()
)
"""Words by which a reader answers, greets or thanks, and asks nothing."""
_GREETING = frozenset("thanks thank hello hi hey morning afternoon evening bye goodbye".split())


def read_as(question: str, history: Sequence[Message]) -> str | None:
    """The question that one which points stands for; none for a question with a subject of its own."""
    if points_at_an_item(question):
        return with_item_and_list(question, history)
    if not (_leading_it(question) if asks_of_its_own(question) else _only_requests(question)):
        return None
    subject = " ".join(_led_to(history))
    return f"{subject} {question}" if 0 < len(subject) <= LONGEST_SUBJECT else None


def with_it_named(question: str, history: Sequence[Message]) -> str | None:
    """The question with its subject's words in the place of "it", or behind a bare "why?"; none where neither is."""
    if points_at_an_item(question) or asks_for_more(question):
        return None
    found = _leading_it(question)
    words = " ".join(new_words(question, _led_to(history)[:1])[:NAMED])
    if not words or (found is None and (content_terms(question) or not _only_requests(question))):
        return None
    if found is None:
        return f"{question.rstrip(' ?.!')} {words}?"
    return f"{question[: found.start()]}{words}{question[found.end() :]}"


def asks_of_its_own(question: str) -> bool:
    """Whether a question says what it wants to know of its subject; "why does it matter?" only asks to go on."""
    return any(term not in _GENERIC for term in content_terms(question))


def leans_on_what_was_said(question: str) -> bool:
    """Whether a question says "it" before it names anything, or hardly says anything of its own."""
    leaning = LEANING.search(question)
    named = content_terms(question[: leaning.start()] if leaning else question)
    return len(named) <= (1 if leaning else FEW_TERMS) or len(content_terms(question)) <= FEW_TERMS


def asks_for_more(question: str) -> bool:
    """Whether a reader wants to go on from what was said, not to hear it again."""
    return len(content_terms(question)) <= FEW_TERMS and bool(_MORE.search(question))


def only_greets(text: str) -> bool:
    """Whether a message greets or thanks, and asks nothing; "yes" may answer something."""
    words = {word.lower() for word in content_words(text)}
    return bool(words & _GREETING) and words <= _COURTESY


def says_something(text: str) -> bool:
    """Whether a message names anything; "Yes, thanks." does not."""
    return any(word.lower() not in _COURTESY for word in content_words(text))


def new_words(question: str, earlier: Sequence[str]) -> list[str]:
    """The words of earlier questions that this one does not repeat, each once, in their order."""
    known = set(content_terms(question))
    found: list[str] = []
    for word in (word for text in earlier for word in content_words(text)):
        term = term_of(word.lower())
        if term not in known and word.lower() not in _COURTESY and len(word) <= LONGEST_WORD:
            known.add(term)
            found.append(word)
    return found


def _only_requests(question: str) -> bool:
    """Whether a question without terms asks for more; "no" and "yes" do not, and C++ is a subject."""
    return not _NAME.search(question) and bool(_REQUEST.search(question))


def _leading_it(question: str) -> re.Match[str] | None:
    """An "it" that stands for something said before: nothing, or hardly anything, is named ahead of it."""
    found, empty = _IT.search(question), _EMPTY_IT.search(question)
    if found is None or (empty and empty.start() <= found.start() < empty.end()):
        return None
    if found[0].lower() == "one" and (
        enumerated(question) or _NUMBERED.search(question, 0, found.start())
    ):
        return None  # "Which one is faster, DDS or Zenoh?", "What is in chapter one?"
    return found if len(content_terms(question[: found.start()])) <= 1 else None


def _has_a_subject(question: str) -> bool:
    """Whether a question with a term says itself what it is about, also in one word: "What is a node?"."""
    if _leading_it(question):
        return False
    return len(content_terms(question)) > 1 or bool(_ASKS_WHAT.match(question))


def _led_to(history: Sequence[Message]) -> list[str]:
    """The last question with a subject of its own, and those after it that lean on it."""
    chosen: list[str] = []
    for number, message in reversed(list(enumerate(history))):
        text = message.content
        if message.role != "user" or not says_something(text):
            continue
        read = with_item_named(text, history[:number]) or text
        chosen.insert(0, read)
        if len(chosen) == QUESTIONS or _has_a_subject(read):
            break
    return chosen
