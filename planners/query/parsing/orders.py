"""Orders: "Block the supplier Acme" asks nothing. A query graph only finds and counts, so that an order would be answered as a question."""

from __future__ import annotations

import re
from typing import Any

from ontology.errors import InvalidArgumentError
from ontology.names import is_noun, is_verb, is_word, noun_lemma
from planners.query.parsing.domain_lexicon import Lexicon
from planners.query.parsing.request_words import REQUEST_WORDS

__all__ = ["refuse_orders"]

_WORD = re.compile(r"[^\s,;:!?.]+")


def refuse_orders(text: str, doc: Any, words: Lexicon) -> None:
    """Refuse a request that wants something done.

    :param doc: spaCy's parse of the masked text.
    :raises InvalidArgumentError: for an imperative that does not ask, at the beginning or joined to one that asks.
    """
    order = _leading(text, doc, words) or _joined(doc)
    if order:
        raise InvalidArgumentError(
            f'the planner only answers questions, and the request orders something: "{order}"',
            subject="request",
            remedy="Ask for what is so; `egotools plan-tools` finds the tools for an order, `egotools call` calls one",
        )


def _leading(text: str, doc: Any, words: Lexicon) -> str:
    """The imperative with which a request begins, or an empty string."""
    before = REQUEST_WORDS["before"]
    found = [each for each in _WORD.finditer(text.replace("'d ", " 'd ") if "'d " in text[:10] else text)]
    at = next((at for at, each in enumerate(found) if each[0].casefold() not in before), len(found))
    if at == len(found):
        return ""
    word = found[at][0]
    low = word.casefold()
    following = found[at + 1][0] if at + 1 < len(found) else ""
    if low in REQUEST_WORDS["asks"] or low in REQUEST_WORDS["auxiliary"] or not _is_verb(low):
        return ""
    if following.casefold() in REQUEST_WORDS["determiners"] or low in REQUEST_WORDS["orders"]:
        return word
    known = noun_lemma(low) in words.nouns or low in words.values or low in words.field_words
    name = word[0].isupper() and following[:1].isupper() and is_noun(low)  # "Mark Olsen's mail"
    describes = low not in words.verbs and _describes(doc, found[at].start())
    return "" if known or name or describes else word


def _is_verb(low: str) -> bool:
    return is_verb(low) or (low[:2] in ("un", "re") and not is_word(low) and is_verb(low[2:]))


def _describes(doc: Any, start: int) -> bool:
    """Whether a word belongs to the noun after it: "work mails"."""
    token = next((each for each in doc if each.idx == start), None)
    return token is not None and token.dep_ in ("compound", "amod", "nmod") and is_noun(token.lower_)


def _joined(doc: Any) -> str:
    """An imperative that "and" joins to the verb with which the request begins, or an empty string."""
    for token in doc:
        subject = any(child.dep_ in ("nsubj", "nsubjpass", "aux") for child in token.children)
        if token.dep_ != "conj" or token.tag_ not in ("VB", "VBP") or subject or not _is_verb(token.lower_):
            continue
        asks = token.head.lower_ in REQUEST_WORDS["asks"]
        if asks and token.lower_ not in REQUEST_WORDS["asks"] | REQUEST_WORDS["auxiliary"]:
            return str(token.text)
    return ""
