"""What a request mentions: entities by nouns of the domain, the user, values, and dates. Each becomes a variable, or part of one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ontology.names import is_word, noun_lemma
from planners.query.parsing.domain_lexicon import FieldName, Lexicon
from planners.query.parsing.request_values import RequestValue
from planners.query.parsing.request_words import REQUEST_WORDS

__all__ = ["ORDINALS", "Mention", "find_mentions"]

_MOST_WORDS = 4
_NOMINAL = ("nsubj", "nsubjpass", "dobj", "pobj", "dative", "conj", "poss", "attr")
ORDINALS = {
    "first": "first", "earliest": "first", "oldest": "first", "second": "second", "third": "third", "fourth": "fourth", "fifth": "fifth",
    "sixth": "sixth", "seventh": "seventh", "eighth": "eighth", "ninth": "ninth", "tenth": "tenth", "last": "last", "latest": "last",
    "newest": "last", "recent": "last", "2nd": "second", "3rd": "third", "1st": "first", "4th": "fourth", "5th": "fifth",
}  # fmt: skip
"""Word → the ordinal that it says."""


@dataclass(slots=True, eq=False)
class Mention:
    """One mention.

    :param at: index of its token; of a date, of the token before which it stands.
    :param types: the types that it may have, the likeliest first.
    :param kind: ``noun``, ``user``, ``value``, ``date``; ``implied`` where a verb or a noun only implies it.
    :param word: the noun, singular; of a value, the value.
    :param filters: conditions on it: field, operator, value.
    :param likely: of a name, the types that its words or the entity recogniser suggest.
    :param ordinal: ``first``, ``second`` … ``last``, or empty.
    """

    at: int
    types: tuple[str, ...]
    kind: str
    word: str
    filters: list[tuple[str, str, str]] = field(default_factory=list)
    ordinal: str = ""
    singular: bool = False
    fields: tuple[FieldName, ...] = ()
    tokens: tuple[int, ...] = ()
    likely: frozenset[str] = frozenset()


def find_mentions(doc: Any, values: Sequence[RequestValue], words: Lexicon) -> list[Mention]:
    """Return the mentions of a parsed request, in order.

    :param doc: spaCy's parse of the masked request.
    """
    taken: dict[int, Mention] = {}
    found = []
    for value in values:
        found.append(_value(value, doc, words))
        taken.update(dict.fromkeys(found[-1].tokens, found[-1]))
    at = 0
    while at < len(doc):
        mention = None if at in taken else _noun(doc, at, taken, words)
        if mention and not (mention.kind == "user" and _commands(doc, mention.at)):
            found.append(mention)
        at = mention.tokens[-1] + 1 if mention else at + _field_size(doc, at, words)
    found += _names_in_lower_case(doc, found, words)
    found = _one_user(sorted(found, key=lambda each: (each.at, each.kind != "date")))
    _ordinals(doc, found)
    return found


def _names_in_lower_case(doc: Any, found: Sequence[Mention], words: Lexicon) -> list[Mention]:
    """Proper nouns without capitals: "emails from jane"."""
    taken = {at for each in found for at in each.tokens}
    names = []
    for token in doc:
        first = _unknown_before(doc, token, taken)
        unknown = token.pos_ == "NOUN" and token.dep_ == "pobj" and (first or not is_word(token.lower_))
        unknown = unknown and all(child.i in first or child.dep_ == "prep" for child in token.children)
        proper = token.pos_ == "PROPN" and token.dep_ in _NOMINAL
        if not (proper or unknown) or token.i in taken or not token.is_alpha:
            continue
        tokens = tuple(
            each.i
            for each in token.subtree
            if (each.pos_ == token.pos_ or each.i in first) and each.i <= token.i and each.i not in taken
        )
        name = " ".join(doc[at].text for at in tokens)
        if name.casefold() not in words.values and name.casefold() not in words.field_words:
            names.append(Mention(token.i, tuple(words.names), "value", name, tokens=tokens, singular=True))
    return names


def _unknown_before(doc: Any, token: Any, taken: set[int]) -> list[int]:
    """The words before a noun that belong to it and are no words of English: "jane" of "jane doe"."""
    found: list[int] = []
    for at in range(token.i - 1, -1, -1):
        each = doc[at]
        if each.head.i != token.i or at in taken or not each.is_alpha or is_word(each.lower_) or each.is_stop:
            break
        found.append(at)
    return found


def _one_user(mentions: list[Mention]) -> list[Mention]:
    """ "I" and "my" are one mention of the user."""
    users = [each for each in mentions if each.kind == "user"]
    for other in users[1:]:
        users[0].tokens += other.tokens
        users[0].word = max(users[0].word, other.word, key=lambda word: word != "my")
    return [each for each in mentions if each not in users[1:]]


def _commands(doc: Any, at: int) -> bool:
    """Whether a pronoun only belongs to a command: "show me", "I want to know"."""
    before = REQUEST_WORDS["before"]
    verb = next((token for token in doc if token.lower_ not in before), doc[0])
    shown = doc[at].head.i == verb.i and verb.tag_ == "VB" and doc[at].tag_ == "PRP"
    return bool(shown or (at < verb.i and verb.lower_ in REQUEST_WORDS["asks"]))


def _field_size(doc: Any, at: int, words: Lexicon) -> int:
    """The number of tokens of a name of a field with several words ("purchase order"), else 1."""
    phrases = ((size, doc[at : at + size].text.casefold()) for size in range(_MOST_WORDS, 1, -1))
    return next((size for size, phrase in phrases if phrase in words.field_words), 1)


def _value(value: RequestValue, doc: Any, words: Lexicon) -> Mention:
    if value.kind == "date":
        at = next((token.i for token in doc if token.idx >= value.end), len(doc))
        mention = Mention(at, (words.dates,), "date", value.text)
        mention.filters.append(("value", value.op, value.text))
        return mention
    tokens = [
        token for token in doc if token.idx < value.end and value.start < token.idx + len(token) and not token.is_space
    ]
    inside = {token.i for token in tokens}
    root = next((token for token in tokens if token.head.i not in inside or token.head.i == token.i), tokens[-1])
    types = tuple(dict.fromkeys(each.kind for each in value.fields)) or tuple(words.names)
    likely = _likely(value, doc, words)
    return Mention(
        root.i,
        types,
        "value",
        value.text,
        fields=value.fields,
        tokens=tuple(sorted(inside)),
        singular=True,
        likely=likely,
    )


def _likely(value: RequestValue, doc: Any, words: Lexicon) -> frozenset[str]:
    """The types that a word of a name says (a Kickoff Meeting), else those whose nouns explain the label of the recogniser."""
    named = set(words.names)
    said = {kind for word in value.text.casefold().split() for kind in words.nouns.get(noun_lemma(word), ())} & named
    if said or value.kind != "name":
        return frozenset(said)
    labels = {entity.label_ for entity in doc.ents if entity.start_char < value.end and value.start < entity.end_char}
    from spacy.glossary import GLOSSARY

    explained = {
        noun_lemma(word) for label in labels for word in re.findall(r"[a-z]+", str(GLOSSARY.get(label)).casefold())
    }
    return frozenset(kind for kind in named if explained & words.about[kind])


def _noun(doc: Any, at: int, taken: dict[int, Mention], words: Lexicon) -> Mention | None:
    for size in range(min(_MOST_WORDS, len(doc) - at), 0, -1):
        tokens = doc[at : at + size]
        if any(token.i in taken for token in tokens):
            continue
        last = tokens[-1]
        forms = [last.lower_, noun_lemma(last.lower_), last.lemma_.casefold(), last.text]
        start = "".join(token.lower_ + token.whitespace_ for token in tokens[:-1])
        phrase = next((start + form for form in forms if start + form in words.nouns), "")
        if size > 1 and not phrase and start + forms[1] in words.field_words:
            return None
        idiom = at > 0 and (doc[at - 1].lemma_.casefold(), last.lower_) in words.idioms
        if not phrase or idiom or _is_no_noun(last, size):
            continue
        types = words.nouns[phrase]
        kind = "user" if types == (words.user,) else "noun"
        number = kind == "noun" and last.tag_ != "WP" and noun_lemma(last.lower_) == last.lower_
        return Mention(last.i, types, kind, phrase, singular=number, tokens=tuple(token.i for token in tokens))
    return None


def _is_no_noun(token: Any, size: int) -> bool:
    """Verbs ("to email"), and pronouns that only take up a noun again ("the person who")."""
    if token.tag_ in ("WP", "WDT", "WRB", "WP$"):
        return bool(_relative(token))
    nominal = token.tag_.startswith("NN") or token.dep_ in ("nsubj", "nsubjpass", "dobj", "pobj")
    return size == 1 and token.pos_ in ("VERB", "AUX", "ADP", "SCONJ") and not nominal


def _relative(token: Any) -> Any:
    """The noun that a relative pronoun takes up again, or None."""
    climbing = token
    while climbing.head.i != climbing.i:
        if climbing.dep_ == "relcl":
            return climbing.head if climbing.head.i < token.i else None
        if climbing.dep_ in ("ccomp", "pcomp"):
            return None
        climbing = climbing.head
    return None


def _ordinals(doc: Any, mentions: Sequence[Mention]) -> None:
    for token in doc:
        ordinal = ORDINALS.get(token.lower_)
        if not ordinal or any(token.i in each.tokens for each in mentions):
            continue
        nouns = [each for each in mentions if each.kind == "noun"]
        before = [each for each in nouns if each.at < token.i]
        adverb = token.lower_ in ("first", "last") and token.dep_ == "advmod" and token.head.pos_ in ("VERB", "AUX")
        after = next((each for each in nouns if token.i < each.tokens[0] <= token.i + 3), None)
        if token.i + 1 < len(doc) and doc[token.i + 1].like_num:  # "the last three": a graph has no such thing
            continue
        chosen = (before[-1] if before and token.i > token.head.i else None) if adverb else after
        if chosen:
            chosen.ordinal = ordinal
