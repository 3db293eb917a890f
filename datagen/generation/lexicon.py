"""The Lexicon: everyday words for the things that tools are about, and for their inputs.

Most nouns were written for one company. In the catalogue of another vendor their words mean other things: a *volume* there
is no loudness. So :meth:`Lexicon.for_things` gives them only to a catalogue most of whose things they name, and to others
their grammar (whether it is a person, whether it has a plural) and general synonyms.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from datagen.generation.data_files import read_data
from ingest.linking import QUALIFIERS
from ontology.names import is_noun, noun_lemma

__all__ = ["Field", "Lexicon", "Noun", "load_lexicon"]

_MAX_NAME_WORDS = 3  # words
# Of 18 catalogues examples/enterprise has .80 of its things in the lexicon, the others .09 to .60.
_MIN_THINGS, _MIN_KNOWN = 10, 0.7
_GENERAL_POOLS = ("person", "company", "city")


@dataclass(frozen=True, slots=True, kw_only=True)
class Noun:
    """A thing that tools are about, in everyday words.

    :param key: its canonical name.
    :param words: everyday words in the singular, the commonest first.
    :param plurals: the plurals, where they are not the regular ones of ``words``.
    :param number: the pattern of its number: ``#`` a digit, ``@`` a capital; empty for things without one.
    :param make_verbs: verbs for making one.
    :param preposition: between what belongs to it and the thing: the tasks *on* the project.
    :param pool: kind of value that names one, or empty.
    :param questions: questions for an attribute of ``{x}``.
    :param person: whether it is a person.
    :param mass: whether it has neither a plural nor an indefinite article.
    :param plural: whether it is a plural only.
    :param general_knowledge: whether it holds general knowledge: rules, articles.
    """

    key: str
    words: tuple[str, ...]
    plurals: tuple[str, ...] = ()
    number: str = ""
    make_verbs: tuple[str, ...] = ()
    preposition: str = "for"
    pool: str = ""
    questions: tuple[str, ...] = ()
    person: bool = False
    mass: bool = False
    plural: bool = False
    general_knowledge: bool = False

    @property
    def uncountable(self) -> bool:
        """Whether no indefinite article can stand before it."""
        return self.mass or self.plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A plain input in everyday words.

    :param kind: the kind of its values; see :func:`datagen.generation.sampler.draw`.
    :param phrases: phrases for a value, which stands at ``{v}``.
    :param label: the everyday name of the input.
    """

    kind: str
    phrases: tuple[str, ...]
    label: str


@dataclass(frozen=True, kw_only=True)
class Lexicon:
    """All words. Keys are canonical names.

    :param skipped: inputs that never stand in a request: pages, sessions, technical switches.
    :param unsayable: those of them that no program fills by itself where they are required: passwords, filters.
    :param pools: kind of value → values.
    :param general_fields: the fields that mean the same in every catalogue.
    """

    nouns: Mapping[str, Noun]
    fields: Mapping[str, Field]
    skipped: frozenset[str]
    unsayable: frozenset[str]
    pools: Mapping[str, tuple[str, ...]]
    general_fields: frozenset[str] = frozenset()

    def for_things(self, things: Collection[str], coded: Collection[str] = ()) -> Lexicon:
        """The lexicon for a catalogue.

        :param things: the canonical names of the things that its tools are about.
        :param coded: those of which a tool gives both the code and the name: an input called like one takes its code, and
            who says its name needs that tool first.
        """
        known = sum(thing in self.nouns for thing in things)
        if len(things) < _MIN_THINGS or known < _MIN_KNOWN * len(things):
            return self.general
        fields = {name: field for name, field in self.fields.items() if not self._names_one(name, field, coded)}
        return replace(self, fields=fields)

    def _names_one(self, name: str, field: Field, coded: Collection[str]) -> bool:
        """Whether the values of an input name a thing that has a code: the town of a plant."""
        noun = self.nouns.get(name.split()[-1])
        return noun is not None and noun.key in coded and bool(noun.number) and field.kind == noun.pool

    @cached_property
    def general(self) -> Lexicon:
        """Without the words that were written for one company."""
        return Lexicon(
            nouns={key: _general(noun) for key, noun in self.nouns.items() if " " not in key},
            fields={name: field for name, field in self.fields.items() if name in self.general_fields},
            skipped=self.skipped,
            unsayable=self.unsayable,
            pools=self.pools,
            general_fields=self.general_fields,
        )

    @property
    def is_general(self) -> bool:
        """Whether it is without the words that were written for one company."""
        return self.general_fields.issuperset(self.fields)

    @cached_property
    def plain_words(self) -> frozenset[str]:
        """All words of the names of things."""
        return frozenset(
            word for noun in self.nouns.values() for text in (noun.key, *noun.words) for word in text.lower().split()
        )

    def noun(self, name: str) -> Noun | None:
        """The entry for a canonical name, else one made of the entry of its last words and the words before them.

        None where its last word is no English noun.
        """
        if name in self.nouns:
            return self.nouns[name]
        words = name.split()
        if not words or not all(word.isascii() for word in words):
            return None
        for at in range(1, len(words)):
            head = self.nouns.get(" ".join(words[at:]))
            if head is not None:
                return _compound(name, words[:at], head) if _are_words(words[:at]) else head
        if len(words) > _MAX_NAME_WORDS or not _are_words(words) or not is_noun(noun_lemma(words[-1])):
            return None
        return Noun(key=name, words=(name,))

    def field(self, name: str) -> Field | None:
        """The entry for an input of this canonical name, by its last three, two or one words.

        Of a general lexicon, by all its words but those that only qualify the last ones.
        """
        words = name.split()
        if self.is_general:
            while len(words) > 1 and words[0] in QUALIFIERS and " ".join(words) not in self.fields:
                words = words[1:]
            return self.fields.get(" ".join(words))
        sizes = range(min(len(words), _MAX_NAME_WORDS), 0, -1)
        found = (self.fields.get(" ".join(words[-size:])) for size in sizes)
        return next((field for field in found if field is not None), None)

    def is_skipped(self, name: str) -> bool:
        """Whether an input of this canonical name never stands in a request."""
        return _is_among(name, self.skipped)

    def is_left_to_program(self, name: str) -> bool:
        """Whether an input of this canonical name never stands in a request, and a call has it without a word on it."""
        return _is_among(name, self.skipped) and not _is_among(name, self.unsayable)


def _is_among(name: str, inputs: frozenset[str]) -> bool:
    words = name.split()
    return "_".join(words) in inputs or (len(words) > 1 and words[-1] in inputs)


def _compound(name: str, before: list[str], head: Noun) -> Noun:
    """``expense approver`` from ``approver``: the words before stay, the questions of the head no longer fit."""
    front = " ".join(before)
    words = tuple(f"{front} {word}" for word in head.words if " " not in word) or (f"{front} {head.words[0]}",)
    return replace(head, key=name, words=words, plurals=(), questions=())


def _general(noun: Noun) -> Noun:
    """A noun with its grammar alone."""
    return Noun(
        key=noun.key,
        words=(noun.key, *read_data("synonyms").get(noun.key, ())),
        preposition=noun.preposition,
        pool=noun.pool if noun.pool in _GENERAL_POOLS else "",
        person=noun.person,
        mass=noun.mass and noun.key not in _COUNTED,
        plural=noun.plural,
    )


_COUNTED = frozenset(("volume",))


def _are_words(words: list[str]) -> bool:
    return all(word.isalpha() and len(word) > 1 for word in words)


def _inputs(names: str) -> frozenset[str]:
    return frozenset("_".join(map(noun_lemma, name.split("_"))) for name in names.split())


@cache
def load_lexicon() -> Lexicon:
    """The shipped words."""
    fields = read_data("fields")
    return Lexicon(
        nouns={name: Noun(key=name, **_tuples(row)) for name, row in read_data("nouns").items()},
        fields={
            " ".join(map(noun_lemma, name.split())): Field(**_tuples(row)) for name, row in fields["fields"].items()
        },
        general_fields=frozenset(
            " ".join(map(noun_lemma, name.split())) for name in fields["general"].replace("\n", " ").split(",")
        ),
        skipped=_inputs(fields["skip"]),
        unsayable=_inputs(fields["unsayable"]),
        pools={
            name: tuple(values.split() if isinstance(values, str) else map(str, values))
            for name, values in read_data("pools").items()
        },
    )


def _tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
