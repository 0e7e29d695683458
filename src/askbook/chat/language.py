"""Tells when a question is in another language than the passages it found. Pure."""

import re
import unicodedata
from collections.abc import Iterable

NOTE = "The question is in another language than the book, which may have hidden a better answer."
LEAST = 2
"""Function words by which a language is known; fewer may be names or loan words."""

_FUNCTION_WORDS = {
    "en": "a an and are as at be been but by can could did do does for from had has have he her him his how i if in is it "
    "its me my not of on or she should so than that the their them then there these they this to was we were what when "
    "where which who why will with would you your",
    "de": "auf das dem den der die ein eine einen einer für hat ich im ist kann mein mit nach nicht sich sind und von wann "
    "warum was welche welcher welches wenn wer wie wird wo zu",
    "es": "al cómo con cuál cuándo cuántos de del dónde el en es la las los mi no para por puede puedo que qué quién se son "
    "un una y",
    "fr": "avec ce comment dans de des du elle en est et il je la le les mon où par peut pour pourquoi qu quand que quel "
    "quelle qui sont sur un une",
    "it": "che chi come con cosa da del della di dove e gli il la lo mio nel non per perché può quale quando si sono un una è",
    "pt": "as com como da de do e em meu na no não o onde os para pode por qual quando que quem se são um uma é",
    "nl": "de een en het hoe ik in is kan met mijn naar niet op van voor waar waarom wanneer wat welke wie wordt zijn",
}
FUNCTION_WORDS = {name: frozenset(words.split()) for name, words in _FUNCTION_WORDS.items()}


def is_foreign(question: str, passages: Iterable[str]) -> bool:
    """Whether a question and the passages are clearly in different languages."""
    asked, written = language_of(question), language_of(" ".join(passages))
    return asked is not None and written is not None and asked != written


def language_of(text: str) -> str | None:
    """The script if it is not Latin, the language whose function words stand out, or None."""
    letters = [c for c in text if c.isalpha()]
    foreign = [c for c in letters if not unicodedata.name(c, "LATIN").startswith("LATIN")]
    if foreign and len(foreign) >= len(letters) / 3:
        return unicodedata.name(foreign[0]).partition(" ")[0]
    words = re.findall(r"[^\W\d_]+", text.casefold())
    counts = sorted(
        ((sum(word in known for word in words), name) for name, known in FUNCTION_WORDS.items()),
        reverse=True,
    )
    (most, name), (second, _) = counts[0], counts[1]
    return name if most >= LEAST and most > second else None
