"""The Lexicon: everyday words for what tools do, what they are about and what they ask for; read from the YAML files of this folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ontology.names import is_noun, noun_lemma, verb_lemma

__all__ = ["Field", "Lexicon", "Noun", "load_lexicon"]

_FOLDER = Path(__file__).parent
_LONGEST_FIELD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Noun:
    """A thing that tools are about, as people speak of it.

    :param say: everyday words in the singular, the commonest first.
    :param plurals: plurals where they are no regular ones of ``say``.
    :param number: how its number looks: ``#`` a digit, ``@`` a capital; empty for things without one.
    :param make: verbs for making one.
    :param at: preposition of what belongs to it.
    :param pool: kind of value that names one, or empty.
    :param ask: questions for an attribute of ``{x}``.
    :param knows: whether it holds general knowledge: rules, articles.
    """

    key: str
    say: tuple[str, ...]
    plurals: tuple[str, ...] = ()
    number: str = ""
    make: tuple[str, ...] = ()
    at: str = "for"
    pool: str = ""
    ask: tuple[str, ...] = ()
    person: bool = False
    mass: bool = False
    plural: bool = False
    knows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """How an input is said.

    :param kind: the kind of its values, a name of ``values.py``.
    :param say: phrases that carry a value.
    :param noun: what people call it.
    """

    kind: str
    say: tuple[str, ...]
    noun: str


@dataclass(frozen=True, kw_only=True)
class Lexicon:
    """All words. Keys are canonical names."""

    nouns: Mapping[str, Noun]
    fields: Mapping[str, Field]
    unsaid: frozenset[str]
    verbs: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, tuple[str, ...]]
    reads: frozenset[str]
    starts: frozenset[str]
    qualities: Mapping[str, tuple[str, ...]]
    pools: Mapping[str, tuple[str, ...]]

    def verb(self, word: str) -> str:
        """The verb that a lower-case word of a tool's name is, in its base form, or empty."""
        for form in (word, verb_lemma(word)):
            if form in self.verbs or form in self.reads or form in self.starts:
                return form
        return ""

    def noun(self, name: str) -> Noun | None:
        """The entry for a canonical name, else one made of its last words and what stands before them.

        None where its last word is no English noun.
        """
        if name in self.nouns:
            return self.nouns[name]
        words = name.split()
        if not words or not all(word.isascii() for word in words):
            return None
        for at in range(1, len(words)):
            tail = self.nouns.get(" ".join(words[at:]))
            if tail is not None:
                return _compound(name, words[:at], tail) if _sayable(words[:at]) else tail
        head = words[-1]
        if len(words) > _LONGEST_FIELD or not _sayable(words) or not is_noun(noun_lemma(head)):
            return None
        return Noun(key=name, say=(name,))

    def field(self, name: str) -> Field | None:
        """How an input of this canonical name is said; its last three, two or one words are looked up."""
        words = name.split()
        for size in range(min(len(words), _LONGEST_FIELD), 0, -1):
            found = self.fields.get(" ".join(words[-size:]))
            if found is not None:
                return found
        return None

    def is_unsaid(self, name: str) -> bool:
        """Whether people never say an input of this canonical name: pages, sessions, technical switches."""
        joined = name.replace(" ", "_")
        words = name.split()
        return joined in self.unsaid or (len(words) > 1 and words[-1] in self.unsaid)


def _compound(name: str, before: list[str], tail: Noun) -> Noun:
    """``expense approver`` from ``approver``: what stands before is said too, but its questions fit no more."""
    front = " ".join(before)
    return Noun(
        key=name,
        say=tuple(f"{front} {word}" for word in tail.say if " " not in word) or (f"{front} {tail.say[0]}",),
        number=tail.number,
        make=tail.make,
        at=tail.at,
        person=tail.person,
        mass=tail.mass,
        plural=tail.plural,
        pool=tail.pool,
        knows=tail.knows,
    )


def _sayable(words: list[str]) -> bool:
    return all(word.isalpha() and len(word) > 1 for word in words)


@cache
def load_lexicon() -> Lexicon:
    """The shipped words."""
    nouns, fields, verbs, pools = (_read(name) for name in ("nouns", "fields", "verbs", "pools"))
    return Lexicon(
        nouns={name: _noun(name, row) for name, row in nouns.items()},
        fields={
            " ".join(map(noun_lemma, name.split())): Field(kind=row["kind"], say=tuple(row["say"]), noun=row["noun"])
            for name, row in fields["fields"].items()
        },
        unsaid=frozenset("_".join(map(noun_lemma, name.split("_"))) for name in fields["skip"].split()),
        verbs={name: tuple(phrases) for name, phrases in verbs["verbs"].items()},
        kinds={name: tuple(phrases) for name, phrases in verbs["kinds"].items()},
        reads=frozenset(verbs["reads"]),
        starts=frozenset(verbs["starts"]),
        qualities={name: tuple(phrases) for name, phrases in verbs["qualities"].items()},
        pools={
            name: tuple(values.split() if isinstance(values, str) else map(str, values))
            for name, values in pools.items()
        },
    )


def _noun(name: str, row: Mapping[str, Any]) -> Noun:
    said: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Noun(key=name, number=said.pop("id", ""), **said)


def _read(name: str) -> dict[str, Any]:
    with open(_FOLDER / f"{name}.yaml", encoding="utf-8") as file:
        content: dict[str, Any] = yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return content
