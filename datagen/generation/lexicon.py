"""The Lexicon: everyday words for what tools do, for the things that they are about, and for their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from datagen.generation.data_files import read_data
from ontology.names import is_noun, noun_lemma, verb_lemma
from ontology.verb_phrases import phrases_of_kinds, phrases_of_verbs

__all__ = ["Field", "Lexicon", "Noun", "load_lexicon"]

_MAX_NAME_WORDS = 3  # words


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
    :param verbs: verb → phrases with ``~`` for the object.
    :param kind_verbs: kind of tool → phrases for all its verbs that are not in ``verbs``.
    :param read_verbs: verbs that change nothing.
    :param start_verbs: verbs that make something new.
    :param qualifiers: words of a name that select some of the things → phrases that stand after the noun.
    :param pools: kind of value → values.
    """

    nouns: Mapping[str, Noun]
    fields: Mapping[str, Field]
    skipped: frozenset[str]
    verbs: Mapping[str, tuple[str, ...]]
    kind_verbs: Mapping[str, tuple[str, ...]]
    read_verbs: frozenset[str]
    start_verbs: frozenset[str]
    qualifiers: Mapping[str, tuple[str, ...]]
    pools: Mapping[str, tuple[str, ...]]

    def verb(self, word: str) -> str:
        """The base form of a lower-case word of a tool's name; empty where it is no verb."""
        for form in (word, verb_lemma(word)):
            if form in self.verbs or form in self.read_verbs or form in self.start_verbs:
                return form
        return ""

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
        """The entry for an input of this canonical name, by its last three, two or one words."""
        words = name.split()
        sizes = range(min(len(words), _MAX_NAME_WORDS), 0, -1)
        found = (self.fields.get(" ".join(words[-size:])) for size in sizes)
        return next((field for field in found if field is not None), None)

    def is_skipped(self, name: str) -> bool:
        """Whether an input of this canonical name never stands in a request."""
        words = name.split()
        return "_".join(words) in self.skipped or (len(words) > 1 and words[-1] in self.skipped)


def _compound(name: str, before: list[str], head: Noun) -> Noun:
    """``expense approver`` from ``approver``: the words before stay, the questions of the head no longer fit."""
    front = " ".join(before)
    words = tuple(f"{front} {word}" for word in head.words if " " not in word) or (f"{front} {head.words[0]}",)
    return replace(head, key=name, words=words, plurals=(), questions=())


def _are_words(words: list[str]) -> bool:
    return all(word.isalpha() and len(word) > 1 for word in words)


@cache
def load_lexicon() -> Lexicon:
    """The shipped words."""
    fields, verbs = read_data("fields"), read_data("verbs")
    return Lexicon(
        nouns={name: Noun(key=name, **_tuples(row)) for name, row in read_data("nouns").items()},
        fields={
            " ".join(map(noun_lemma, name.split())): Field(**_tuples(row)) for name, row in fields["fields"].items()
        },
        skipped=frozenset("_".join(map(noun_lemma, name.split("_"))) for name in fields["skip"].split()),
        verbs=phrases_of_verbs(),
        kind_verbs=phrases_of_kinds(),
        read_verbs=frozenset(verbs["read_verbs"]),
        start_verbs=frozenset(verbs["start_verbs"]),
        qualifiers=_tuples(verbs["qualifiers"]),
        pools={
            name: tuple(values.split() if isinstance(values, str) else map(str, values))
            for name, values in read_data("pools").items()
        },
    )


def _tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
