"""The vocabulary of a domain, prepared for finding it in requests: nouns and verbs of types, phrases of edges, names and forms of fields."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ontology.names import noun_lemma
from planners.query.domain import Domain

__all__ = ["EdgePhrase", "FieldName", "Lexicon", "Shape", "lexicon"]

_SLOTS = ("{source}", "{target}")


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


class Shape(NamedTuple):
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
    :param idioms: verbs with a noun that names nothing ("take place").
    :param about: type → the words of its nouns and its description.
    """

    nouns: Mapping[str, tuple[str, ...]]
    verbs: Mapping[str, tuple[str, ...]]
    names: Mapping[str, str]
    field_words: Mapping[str, tuple[FieldName, ...]]
    values: Mapping[str, tuple[FieldName, ...]]
    shapes: tuple[Shape, ...]
    phrases: Mapping[tuple[str, str, str], tuple[EdgePhrase, ...]]
    about: Mapping[str, frozenset[str]]
    idioms: frozenset[tuple[str, ...]]
    user: str
    dates: str


def lexicon(domain: Domain) -> Lexicon:
    """Return the vocabulary of a domain."""
    nouns, verbs = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    field_words, values = defaultdict[str, list[FieldName]](list), defaultdict[str, list[FieldName]](list)
    shapes, names = list[Shape](), dict[str, str]()
    for kind, entity in domain.types.items():
        for word in entity.words:
            verb = word.removeprefix("to ")
            (nouns[_singular(word)] if verb == word else verbs[verb]).append(kind)
        for name, field in entity.fields.items():
            where = FieldName(kind, name)
            for word in field.words:
                if "*" in word or "#" in word:
                    shapes.append(Shape(_shape(word), where, len(re.sub(r"[*#.]", "", word)) + word.count("#")))
                else:
                    field_words[word.casefold()].append(where)
            for value in field.values:
                values[value.casefold().replace("_", " ")].append(where)
            if field.kind == "text" and "=" in field.operators and kind not in names and "named" in field.words:
                names[kind] = name
    return Lexicon(
        nouns={word: tuple(kinds) for word, kinds in nouns.items()},
        verbs={word: tuple(kinds) for word, kinds in verbs.items()},
        names=names,
        field_words={word: tuple(fields) for word, fields in field_words.items()},
        values={word: tuple(fields) for word, fields in values.items()},
        shapes=tuple(sorted(shapes, key=lambda shape: -shape.literals)),
        phrases={
            (edge.source, edge.name, target): tuple(_phrase(words) for words in edge.words)
            for edge in domain.edges
            for target in edge.targets
        },
        idioms=frozenset(
            tuple(phrase.split()[:2])
            for edge in domain.edges
            for words in edge.words
            for phrase in [words.replace("{source} ", "").replace("{target} ", "")]
            if re.match(r"(?:take|be) [a-z]+\b", phrase)
        ),
        about={
            kind: frozenset(
                map(noun_lemma, re.findall(r"[a-z]+", " ".join([*entity.words, entity.description]).casefold()))
            )
            for kind, entity in domain.types.items()
        },
        user=next((kind for kind, entity in domain.types.items() if entity.kind == "self"), ""),
        dates=next((kind for kind, entity in domain.types.items() if entity.kind == "date"), ""),
    )


def _singular(phrase: str) -> str:
    *first, last = phrase.casefold().split()
    return " ".join([*first, noun_lemma(last)])


def _shape(word: str) -> re.Pattern[str]:
    parts = {"*": r"[^\s,;]+", "#": r"\d"}
    return re.compile("".join(parts.get(char, re.escape(char)) for char in word), re.IGNORECASE)


def _phrase(words: str) -> EdgePhrase:
    tokens = words.replace("}'s", "} 's").split()
    left = right = ""
    if tokens[0] in _SLOTS:
        left = tokens.pop(0).strip("{}")
    if tokens and tokens[-1] in _SLOTS:
        right = tokens.pop().strip("{}")
    return EdgePhrase(left, tuple(tokens), right)
