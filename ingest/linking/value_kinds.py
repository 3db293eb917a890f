"""The kinds of value that an input takes or an output holds: an ARN, an e-mail address, a name, an integer, …

A kind comes from the type, the format, an example, the name and the start of the description. Two values agree when a kind is common to
both, or when nothing says that they differ. The rules were found on the documents that ``value_kinds.yaml`` names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ontology.names import words
from ontology.tool import Parameter
from ontology.value_shape import kind_of_value
from ontology.yaml_data import read_yaml

__all__ = ["Kinds", "agreement", "kinds_of"]

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
