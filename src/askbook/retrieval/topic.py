"""What a long dialogue is about, in the words that came back most often. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from askbook.retrieval.history import Message
from askbook.retrieval.terms import content_terms

FROM_EXCHANGE = 5
MAX_SUMMARY = 200
MAX_TERMS = 12
_WORD = re.compile(r"[^\W_]+(?:[_-][^\W_]+)*")
_MARK = re.compile(r"\[\d{1,3}\]")


def topic_summary(history: Sequence[Message]) -> str | None:
    """The main terms of a dialogue of five exchanges or more; what the reader asked about counts double.

    Terms are single words, so that no sentence of a message is ever repeated through it.
    """
    asked = [message for message in history if message.role == "user"]
    if len(asked) < FROM_EXCHANGE:
        return None
    counts: Counter[str] = Counter()
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for message in history:
        if message.role not in ("user", "assistant"):
            continue
        words = _WORD.findall(_MARK.sub(" ", message.content))
        terms = {term: word for word in words for term in content_terms(word)}
        for term, word in terms.items():
            counts[term] += 2 if message.role == "user" else 1
            forms[term][word] += 1
    chosen: list[str] = []
    for term, _ in counts.most_common(MAX_TERMS):
        form = forms[term].most_common(1)[0][0]
        if len(", ".join((*chosen, form))) <= MAX_SUMMARY:
            chosen.append(form)
    return ", ".join(chosen) or None
