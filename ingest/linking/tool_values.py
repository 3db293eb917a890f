"""Values that tools consume and produce, as fields of entities."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ontology.files import read_yaml
from ontology.names import words
from ontology.tool import Parameter
from ontology.value_shape import kind_of_value

__all__ = [
    "AUTH_KEY",
    "PLAIN_VALUE",
    "TYPED_RESOURCE",
    "ConsumedValue",
    "Key",
    "Kinds",
    "ProducedValue",
    "agreement",
    "kinds_of",
]

Kinds = frozenset[str]
"""The kinds that a value may have; empty where the document does not tell."""

_ARTICLES = r"^(?:\W|required|optional|output only|immutable|the|an?|this|its|your|unique|list of|\[output only\])*"
_OR_KIND = re.compile(
    r"^[^.,;:]{0,60}?\bor (?:the |an? |full |its )*(?P<kind>amazon resource name|arn|id|name|url|uuid|key|email)\b"
)
_WEAK = 0.3
# Kinds here of the kinds of an example: those in which the kind is sure, and integers.
_OF_EXAMPLE = {kind: kind for kind in ("uuid", "arn", "email", "phone", "url", "date", "integer", "currency")} | {
    "date-time": "date"
}


class _Rules(NamedTuple):
    by_format: Mapping[str, str]
    by_word: Mapping[str, str]
    phrases: tuple[tuple[tuple[str, ...], str], ...]
    described: tuple[tuple[re.Pattern[str], str], ...]
    sure: Kinds
    open: Kinds


def kinds_of(parameter: Parameter) -> Kinds:
    """Return the kinds of value that a parameter may hold."""
    return _kinds(
        parameter.name, parameter.type, parameter.format, parameter.example, parameter.description[:160].lower()
    )


def agreement(given: Kinds, needed: Kinds) -> float:
    """Return how well two values agree in kind, in [0, 1]: 0 where they cannot be the same value."""
    if not given or not needed or given & needed:
        return 1.0
    rules = _rules()
    one, other = given & rules.sure, needed & rules.sure
    if one and other:
        return 0.0
    if one or other:
        rest = needed if one else given
        return 1.0 if "uuid" in one | other and rest & (rules.open | {"integer"}) - {"integer"} else 0.0
    plain = rules.open | {"integer"}
    return 1.0 if given & plain and needed & plain else _WEAK


@lru_cache(maxsize=100_000)
def _kinds(name: str, type_: str, format_: str, example: str, description: str) -> Kinds:
    rules = _rules()
    found: set[str] = set()
    for text in (format_.lower(), type_.lower()):
        if kind := rules.by_format.get(text):
            found.add(kind)
    tokens = words(name.rsplit(".", 1)[-1])
    named = _by_name(tokens, rules)
    said = {kind for pattern, kind in rules.described if pattern.match(description)}
    if said and (also := _OR_KIND.match(description)):
        said.add("arn" if also["kind"] == "amazon resource name" else also["kind"])
    shown = _OF_EXAMPLE.get(kind_of_value(example), "")
    if shown and not (shown == "integer" and type_.lower() == "string"):
        found.add(shown)
    # A description is more exact than a name: "FunctionName: the name or ARN of the function".
    if said and (not named or named & said or not named & rules.sure):
        return frozenset(found | said | (named if named & rules.open or said & named else set()))
    return frozenset(found | named)


def _by_name(tokens: list[str], rules: _Rules) -> set[str]:
    for phrase, kind in rules.phrases:
        if tuple(tokens[-len(phrase) :]) == phrase:
            return {kind}
    if not tokens:
        return set()
    kind = rules.by_word.get(tokens[-1], "")
    return {kind} if kind else set()


@cache
def _rules() -> _Rules:
    document: dict[str, Any] = read_yaml(Path(__file__).parent / "value_kinds.yaml")
    kinds: dict[str, dict[str, str]] = document["kinds"]
    return _Rules(
        by_format={word: kind for kind, row in kinds.items() for word in row.get("formats", "").split()},
        by_word={word: kind for kind, row in kinds.items() for word in row.get("last_words", "").split()},
        phrases=tuple(
            (tuple(phrase.split()), kind)
            for kind, row in kinds.items()
            for phrase in filter(None, row.get("phrases", "").split("|"))
        ),
        described=tuple(
            (re.compile(_ARTICLES + row["described"]), kind) for kind, row in kinds.items() if "described" in row
        ),
        sure=frozenset(document["sure"].split()),
        open=frozenset(document["open"].split()),
    )


Key: TypeAlias = tuple[str, str]
"""``(entity, field)``; for a plain value and a typed resource the entity is a constant below."""
AUTH_KEY: Key = ("session", "token")
"""The key of session ids and session tokens, which a login produces."""
PLAIN_VALUE = ""
"""The entity in the key of a plain value."""
TYPED_RESOURCE = "a"
"""The entity in the key of a typed resource (``image``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumedValue:
    """The value that an input consumes.

    :param confidence: that the key is correct, in [0, 1].
    :param identifier: whether it identifies the entity.
    :param location: where an HTTP request has it, as :attr:`~ontology.tool.Parameter.location`.
    :param kinds: the kinds of value that the input takes; empty where unknown.
    :param context: whether it is a context parameter, which the request or the caller's configuration fills.
    :param is_new: whether the description says that the caller chooses the value for something new.
    :param collection: the normal path of the collection that it is an item of; empty where the path does not tell.
    """

    parameter: str
    type: str
    key: Key
    confidence: float
    required: bool
    identifier: bool
    location: str = ""
    kinds: Kinds = frozenset()
    context: bool = False
    collection: str = ""
    is_new: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducedValue:
    """The value that an output produces.

    :param output: name of the output; empty for a value inferred from the tool's name.
    :param relevance: relevance of the entity for the tool, in [0, 1]: 1 for its subject, less for a kind of it (popular
        movies), least where the tool only refers to it.
    :param kinds: the kinds of value that the output holds; empty where unknown.
    :param is_object: whether the output is the key of an object of the entity, and not a reference to one.
    :param is_outer: whether it stands in at most one named object: not in ``value[].parentReference.ids``.
    """

    output: str
    type: str
    key: Key
    confidence: float
    relevance: float = 1.0
    kinds: Kinds = frozenset()
    is_object: bool = False
    is_outer: bool = True
