"""The words of a question, each with its base forms, and the spans that can only be names."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ontology.names import noun_lemma, verb_lemma
from ontology.number_words import NUMBER, number_of

__all__ = ["Token", "base_forms", "noun_forms", "tokens_of"]

_TOKEN = re.compile(
    r"(?P<quoted>\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|‘[^’\n]{1,200}’(?!\w)|(?<!\w)'(?:[^'\n]|'(?=\w)){1,200}'(?!\w))"
    rf"|(?P<number>(?i:{NUMBER}))(?!(?:[-_./'’&+]|::)\w)"
    r"|(?P<word>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\w+(?:(?:[-_./'’&+]|::)\w+)*)"
    r"|(?P<mark>[^\w\s])"
)
_HYPHENED = re.compile(r"[a-z]+(?:-[a-z]+)+")
_CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d_])|.+_|.*[a-z][A-Z]|.*::|.*\w[-/.]\w*[A-Z\d]")
_LEAST_PLURAL = 4
"""Letters of a word that loses its s although the word list has it as it stands ("topics"); shorter ones are "this", "is", "gas"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A word, a quoted text or a mark.

    :param start: place of its first character in the question.
    :param end: place behind its last one.
    :param forms: in lower case: as it stands, singular, base form of the verb; none of marks and quoted texts.
    :param nouns: without the form of the verb, so that "does" is not "done".
    """

    kind: str
    text: str
    start: int
    end: int
    forms: frozenset[str] = field(default_factory=frozenset)
    nouns: frozenset[str] = field(default_factory=frozenset)

    @property
    def lower(self) -> str:
        """In lower case, without a possessive ending."""
        return self.text.lower().removesuffix("'s").removesuffix("’s")

    @property
    def is_capital(self) -> bool:
        """Whether it begins with a capital letter."""
        return self.kind == "word" and self.text[:1].isupper()

    @property
    def is_code(self) -> bool:
        """Whether no word of English is written so: ``BM-004``, ``supplierId``, ``supplier_id``."""
        return self.kind == "word" and _CODE.match(self.text) is not None and number_of(self.text) is None


def tokens_of(question: str) -> list[Token]:
    """Split a question; "base-tier" is two words, "BM-004" and "forty-two" are one."""
    found: list[Token] = []
    for match in _TOKEN.finditer(question):
        kind, text = match.lastgroup or "mark", match[0]
        if kind == "word" and _HYPHENED.fullmatch(text):
            found += [
                _word(part[0], match.start() + part.start(), match.start() + part.end())
                for part in re.finditer("[a-z]+", text)
            ]
        elif kind in ("word", "number"):
            found.append(_word(text, match.start(), match.end()))
        else:
            found.append(Token(kind=kind, text=text.strip("\"“”'‘’"), start=match.start(), end=match.end()))
    return found


def noun_forms(word: str) -> frozenset[str]:
    """Return a lower-case word and its singular."""
    plain = word[:-1] if word.endswith("s") and len(word) > _LEAST_PLURAL and word[-2] not in "sui" else word
    return frozenset((word, noun_lemma(word), plain))


def base_forms(word: str) -> frozenset[str]:
    """Return a lower-case word, its singular, and the base form of the verb."""
    return noun_forms(word) | {verb_lemma(word)}


def _word(text: str, start: int, end: int) -> Token:
    lower = text.lower().removesuffix("'s").removesuffix("’s")
    return Token(kind="word", text=text, start=start, end=end, forms=base_forms(lower), nouns=noun_forms(lower))
