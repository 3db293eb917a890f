"""Conditions that a request says beside a noun: "the file a.txt", "txt files", "with the subject 'x'", "blocked orders"."""

from __future__ import annotations

from typing import Any

from ontology.names import noun_lemma
from planners.query.parsing.domain_lexicon import FieldName
from planners.query.parsing.linking import Links
from planners.query.parsing.mentions import Mention

__all__ = ["BETWEEN", "read_field_phrases"]

BETWEEN = frozenset(
    "is are was = : of like the a an words word text phrase being as contains containing contain with includes including".split()
)
"""Words between the name of a field and its value."""
_CONTAINS = frozenset("contains containing contain includes including like".split())
_MOST_WORDS = 3


def read_field_phrases(doc: Any, links: Links) -> None:
    """Turn values into conditions on the nouns beside them; the values are no mentions of their own any more."""
    _named_fields(doc, links)
    for value in [each for each in links.mentions if each.kind == "value"]:
        _beside(doc, links, value)
    _value_words(doc, links)


def _named_fields(doc: Any, links: Links) -> None:
    """ "whose name contains 'review'", "purchase order 4500012317", "emails about 'budget'"."""
    for value in [each for each in links.mentions if each.kind == "value"]:
        at, contains = value.tokens[0] - 1, False
        while at >= 0 and doc[at].lower_ in BETWEEN and not _phrase_before(doc, at, links):
            contains |= doc[at].lower_ in _CONTAINS
            at -= 1
        found = _phrase_before(doc, at, links)
        if not found:
            continue
        fields, first, last = found
        if doc[last].tag_ == "IN" and doc[last].lower_ in ("to", "in", "from", "on", "for"):
            continue  # these say edges more often: the statements decide
        fields = tuple(each for each in fields if not value.fields or each in value.fields)
        for where, noun in _nouns_with(fields, first, links):
            operators = links.domain.types[where.kind].fields[where.field].operators
            about = doc[last].tag_ in ("IN", "VBG") and doc[last].lower_ not in ("named", "called")
            op = "contains" if "contains" in operators and (contains or about) else operators[0]
            links.restrict(noun, where, op, value)
            break


def _phrase_before(doc: Any, at: int, links: Links) -> tuple[tuple[FieldName, ...], int, int] | None:
    """The longest name of a field that ends at a token, with its first and last token."""
    for size in range(_MOST_WORDS, 0, -1):
        first = at - size + 1
        if first < 0:
            continue
        tokens = doc[first : at + 1]
        start = "".join(token.lower_ + token.whitespace_ for token in tokens[:-1])
        for form in (tokens[-1].lower_, noun_lemma(tokens[-1].lower_)):
            if start + form in links.words.field_words:
                return links.words.field_words[start + form], first, at
    return None


def _nouns_with(fields: tuple[FieldName, ...], before: int, links: Links) -> list[tuple[FieldName, Mention]]:
    """The mentions before a token that have one of the fields, the nearest first."""
    nouns = [each for each in links.mentions if each.kind == "noun" and each.at < before]
    nouns = nouns or [each for each in links.mentions if each.kind == "noun" and each.at > before]
    return [(where, noun) for noun in reversed(nouns) for where in fields if where.kind in noun.types]


def _beside(doc: Any, links: Links, value: Mention) -> None:
    """A value before or after a noun of its type."""
    nouns = {at: each for each in links.mentions if each.kind == "noun" for at in each.tokens}
    after, before = nouns.get(value.tokens[-1] + 1), nouns.get(value.tokens[0] - 1)
    possessive = value.tokens[-1] + 1 < len(doc) and doc[value.tokens[-1] + 1].tag_ == "POS"
    clause = doc[value.at].dep_ == "nsubj" and doc[value.at].head.dep_ == "relcl"  # "the file Jane sent"
    if before and not clause and before.word not in ("who", "whom") and links.give(before, value):
        return
    if after and not possessive and links.give(after, value):
        return
    if value.fields:
        wanted = {each.kind for each in value.fields}
        near = [
            each
            for each in links.mentions
            if each.kind == "noun" and set(each.types) & wanted and 0 < value.at - each.at <= 4
        ]
        of_type = value.tokens[0] > 0 and doc[value.tokens[0] - 1].lower_ in ("type", "format", "extension", "address")
        if near and of_type:
            links.give(near[-1], value)


def _value_words(doc: Any, links: Links) -> None:
    """Words that are values: "open orders", "files of type pdf", "which suppliers are blocked"."""
    taken = {at for each in links.mentions for at in each.tokens}
    for token in doc:
        fields = links.words.values.get(token.lower_.lstrip("."), ())
        if not fields or token.i in taken:
            continue
        nouns = [each for each in links.mentions if each.kind == "noun"]
        after = [each for each in nouns if 0 < each.tokens[0] - token.i <= 3]
        before = [each for each in reversed(nouns) if each.at < token.i]
        beside = any(each.tokens[0] == token.i + 1 for each in after)
        if (
            not beside
            and token.tag_ in ("VBN", "VBD")
            and any(child.dep_ == "agent" or child.dep_ == "nsubj" for child in token.children)
        ):
            continue
        found = next(((each, noun) for noun in (*after, *before) for each in fields if each.kind in noun.types), None)
        if found is None and token.pos_ in ("NOUN", "PROPN"):  # "a pdf"
            found = fields[0], Mention(token.i, (fields[0].kind,), "noun", token.lower_, tokens=(token.i,))
            links.mentions.append(found[1])
        if found:
            where, noun = found
            noun.types = (where.kind,)
            noun.filters.append((where.field, "=", _spelling(where, token.lower_, links)))


def _spelling(where: FieldName, word: str, links: Links) -> str:
    values = links.domain.types[where.kind].fields[where.field].values
    return next(value for value in values if value.casefold().replace("_", " ") == word.lstrip("."))
