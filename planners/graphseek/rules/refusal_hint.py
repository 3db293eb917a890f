"""What a question that was not read might have said instead: near words of the catalog, types, properties, relationships."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ontology.names import words
from planners.graphseek.catalog.catalog import cleaned_text, shortened_text
from planners.graphseek.operators.graph_query import nearness
from planners.graphseek.rules.question_mentions import Mention
from planners.graphseek.rules.said_question import SaidQuestion
from planners.stores.graph_schema import GraphSchema

__all__ = ["refusal_hint"]

_NEAR = 0.75
"""Nearness from which a word is shown: "pryce" and "price" have 0.8, "boring" and "borrowed" 0.57."""
_SHOWN = 5
"""Of each list: a line of it."""
_OF_TYPES = 2
"""Types whose properties are told: those that a question speaks of."""


def refusal_hint(said: SaidQuestion, schema: GraphSchema) -> str:
    """Return sentences that name what the graph has: near words, and what the types have that the question speaks of, else the types."""
    unread = [each.text.lower() for each in said.unread]
    near = [f"“{each}”" for word in unread for each in _near(word, said.lexicon.phrases)]
    spoken = list(dict.fromkeys(name for each in said.all for name in _types_of(each)))[:_OF_TYPES]
    told = [_of_type(name, said, schema, unread) for name in spoken]
    types = [] if spoken else [f"The graph has {_listed((each.name for each in schema.nodes), unread)}."]
    return " ".join([*([f"Near words: {', '.join(near[:_SHOWN])}."] if near else []), *told, *types])


def _types_of(mention: Mention) -> list[str]:
    """Return the types that a mention says, or those of its properties and values."""
    named = [each.name for each in mention.types]
    owners = [each.owner for each in mention.properties if not each.of_relationship]
    values = [each.property.owner for each in mention.values if not each.property.of_relationship]
    return named or owners or values


def _of_type(name: str, said: SaidQuestion, schema: GraphSchema, unread: Sequence[str]) -> str:
    keys = [each for each in said.lexicon.properties if each.owner == name and not each.of_relationship]
    ends = [each for each in schema.relationships if any(name in (end.source, end.target) for end in each.ends)]
    has = _listed((each.key.name for each in keys if each.role != "key"), unread)
    linked = _listed((" ".join(words(each.name)) for each in ends), unread)
    return f"{_shown(name)} has the properties {has}" + (f" and the relationships {linked}." if ends else ".")


def _listed(names: Iterable[str], unread: Sequence[str]) -> str:
    """Return a few names, the nearest to what was not read first, and how many more there are."""
    ordered = sorted(names, key=lambda name: -max((nearness(word, name) for word in unread), default=0.0))
    more = len(ordered) - _SHOWN
    return ", ".join(map(_shown, ordered[:_SHOWN])) + (f" and {more} more" if more > 0 else "")


def _near(word: str, phrases: Iterable[str]) -> list[str]:
    scores = {each: nearness(word, each) for each in phrases}
    return [_shown(each) for each in sorted(scores, key=lambda each: (-scores[each], each)) if scores[each] >= _NEAR]


def _shown(name: str) -> str:
    return shortened_text(cleaned_text(name))
