"""The vocabulary of a domain, prepared for finding it in requests: nouns and verbs of types, phrases of edges, names and forms of fields."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from ontology.files import read_yaml
from ontology.names import noun_lemma
from planners.query.domain import Domain

__all__ = ["ORDINALS", "WORDS", "EdgePhrase", "FieldName", "Lexicon", "lexicon"]

_T = TypeVar("_T")
_TEXTS: Mapping[str, str] = read_yaml(Path(__file__).parent / "request_words.yaml")
WORDS: Mapping[str, frozenset[str]] = {name: frozenset(text.split()) for name, text in _TEXTS.items()}
"""The closed lists of English words of the reader: name of a list → its words, in lower case."""

ORDINALS = {
    "first": "first", "earliest": "first", "oldest": "first", "second": "second", "third": "third", "fourth": "fourth", "fifth": "fifth",
    "sixth": "sixth", "seventh": "seventh", "eighth": "eighth", "ninth": "ninth", "tenth": "tenth", "last": "last", "latest": "last",
    "newest": "last", "recent": "last", "2nd": "second", "3rd": "third", "1st": "first", "4th": "fourth", "5th": "fifth",
}  # fmt: skip
"""Word → the ordinal that it says."""


class EdgePhrase(NamedTuple):
    """A phrase of an edge: what stands between its ends.

    :param left: ``source``, ``target``, a noun that names the other end's entity, or empty where nothing is said.
    :param middle: lemmas of verbs and prepositions; ``'s`` for a possessive.
    :param right: likewise.
    """

    left: str
    middle: tuple[str, ...]
    right: str


class FieldName(NamedTuple):
    """A field of a type."""

    kind: str
    field: str


class _Shape(NamedTuple):
    """The form of the values of a field."""

    pattern: re.Pattern[str]
    field: FieldName
    literals: int


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The vocabulary of one domain.

    :param nouns: words (lower case, singular) → the types that they may name.
    :param verbs: lemma → the types that it implies.
    :param names: type → its field that holds names.
    :param field_words: phrase → fields that it names.
    :param values: word → fields of which it is a value.
    :param shapes: forms of values, the most specific first.
    :param phrases: (source type, edge, target type) → phrases.
    :param about: type → the words of its nouns and its description.
    :param idioms: verbs with a noun that names nothing ("take place").
    :param told: the words of all phrases of edges.
    :param topics: words of fields that are searched for a text ("about").
    """

    nouns: Mapping[str, tuple[str, ...]]
    verbs: Mapping[str, tuple[str, ...]]
    names: Mapping[str, str]
    field_words: Mapping[str, tuple[FieldName, ...]]
    values: Mapping[str, tuple[FieldName, ...]]
    shapes: tuple[_Shape, ...]
    phrases: Mapping[tuple[str, str, str], tuple[EdgePhrase, ...]]
    about: Mapping[str, frozenset[str]]
    idioms: frozenset[tuple[str, ...]]
    told: frozenset[str]
    topics: frozenset[str]
    user: str
    dates: str


def lexicon(domain: Domain) -> Lexicon:
    """Return the vocabulary of a domain."""
    nouns, verbs = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    field_words, values = defaultdict[str, list[FieldName]](list), defaultdict[str, list[FieldName]](list)
    shapes, names = list[_Shape](), dict[str, str]()
    for kind, entity in domain.types.items():
        for word in entity.words:
            verb = word.removeprefix("to ")
            (nouns[_singular(word)] if verb == word else verbs[verb]).append(kind)
        for name, field in entity.fields.items():
            where = FieldName(kind, name)
            for word in field.words:
                if "*" in word or "#" in word:
                    shapes.append(_Shape(_shape(word), where, len(re.sub(r"[*#.]", "", word)) + word.count("#")))
                else:
                    field_words[word.casefold()].append(where)
            for value in field.values:
                values[value.casefold().replace("_", " ")].append(where)
            if field.kind == "text" and "=" in field.operators and kind not in names and "named" in field.words:
                names[kind] = name
    said = [words.replace("{source} ", "").replace("{target} ", "") for edge in domain.edges for words in edge.words]
    kinds = {entity.kind: kind for kind, entity in domain.types.items()}
    return Lexicon(
        nouns=_fixed(nouns),
        verbs=_fixed(verbs),
        names=names,
        field_words=_fixed(field_words),
        values=_fixed(values),
        shapes=tuple(sorted(shapes, key=lambda shape: -shape.literals)),
        phrases={
            (edge.source, edge.name, target): tuple(map(_phrase, edge.words))
            for edge in domain.edges
            for target in edge.targets
        },
        idioms=frozenset(tuple(each.split()[:2]) for each in said if re.match(r"(?:take|be) [a-z]+\b", each)),
        topics=frozenset(
            word
            for entity in domain.types.values()
            for field in entity.fields.values()
            if "contains" in field.operators
            for word in field.words
        ),
        told=frozenset(word for each in said for word in each.split()),
        about={
            kind: frozenset(
                map(noun_lemma, re.findall(r"[a-z]+", " ".join([*entity.words, entity.description]).casefold()))
            )
            for kind, entity in domain.types.items()
        },
        user=kinds.get("self", ""),
        dates=kinds.get("date", ""),
    )


def _fixed(found: Mapping[str, list[_T]]) -> dict[str, tuple[_T, ...]]:
    return {word: tuple(each) for word, each in found.items()}


def _singular(phrase: str) -> str:
    *first, last = phrase.casefold().split()
    return " ".join([*first, noun_lemma(last)])


def _shape(word: str) -> re.Pattern[str]:
    parts = {"*": r"[^\s,;]+", "#": r"\d"}
    return re.compile("".join(parts.get(char, re.escape(char)) for char in word), re.IGNORECASE)


def _phrase(words: str) -> EdgePhrase:
    tokens = words.replace("}'s", "} 's").split()
    left = tokens.pop(0).strip("{}") if tokens[0] in ("{source}", "{target}") else ""
    right = tokens.pop().strip("{}") if tokens and tokens[-1] in ("{source}", "{target}") else ""
    return EdgePhrase(left, tuple(tokens), right)
