"""Choose the producers of one consumed value: the best value of each tool, then the nearest tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ingest.linking.output_index import OutputIndex, ProducerMatch
from ingest.linking.profiles import ToolProfile
from ingest.linking.supplier_rules import (
    is_own_new_value,
    is_owner,
    is_sibling_reference,
    missing_scope,
    own_entities,
    shared_scope,
)
from ingest.linking.tool_values import AUTH_KEY, ConsumedValue
from ontology.names import words

__all__ = ["Choice", "best_producers", "nearest"]

_CHANGES = frozenset(("update", "delete"))
_READS_MANY = frozenset(("list", "search"))
_REFERENCE_OVERLAP = 0.5
_MOST_REFERENCES = 2


class Choice(NamedTuple):
    """A match, and the confidence that it is correct, in [0, 1]."""

    confidence: float
    match: ProducerMatch


def best_producers(
    consumed: ConsumedValue,
    consumer: ToolProfile,
    index: OutputIndex,
    confidence: Callable[[ProducerMatch], float],
    min_confidence: float,
    *,
    nearest_only: bool = True,
) -> list[Choice]:
    """Return the best match of each tool that produces the value, in the order in which the index returns the tools.

    :param confidence: returns the confidence of a match; it is rounded to four digits.
    :param min_confidence: matches with a lower confidence are left out.
    :param nearest_only: whether only the nearest producers of an identifier are returned.
    """
    best: dict[str, Choice] = {}
    if is_own_new_value(consumed, consumer):
        return []
    name = consumed.parameter.rsplit(".", 1)[-1].lower()
    for match in index.producers(consumed, consumer):
        choice = Choice(round(confidence(match), 4), match)
        known = best.get(match.profile.id)
        # A weak tool of the collection is kept for now: it shows that tools of other collections are not the nearest.
        likely = choice.confidence >= min_confidence or (
            consumed.collection and match.profile.path == consumed.collection
        )
        if likely and (known is None or _rank(choice, name) > _rank(known, name)):
            best[match.profile.id] = choice
    found = nearest(list(best.values()), consumed, consumer) if nearest_only else list(best.values())
    return [choice for choice in found if choice.confidence >= min_confidence]


def _rank(choice: Choice, name: str) -> tuple[bool, bool, bool, float]:
    """Of a tool's outputs the key of an object comes first, then one that stands in no other object, then one of the input's name."""
    produced = choice.match.produced
    same_name = produced.output.rsplit(".", 1)[-1].lower() == name
    return (
        choice.match.kinds_agree,
        produced.is_object or (same_name and produced.is_outer),
        produced.is_outer,
        choice.confidence,
    )


def nearest(choices: Sequence[Choice], consumed: ConsumedValue, consumer: ToolProfile) -> list[Choice]:
    """Return the choices that are nearest to the consumer; values that are no identifiers are all kept.

    Tools about the entity come before tools that only refer to it. Of an item of a path, the tool of its collection comes first, then
    tools that need the same identifiers as the consumer: a group's events come from the list of a group's events.
    """
    if not consumed.identifier or consumed.key == AUTH_KEY:
        makes = consumer.action == "create"
        return [one for one in choices if not makes or not is_sibling_reference(one.match.profile, consumed, consumer)]
    usable = [one for one in choices if _may_supply(one, consumed, consumer)]
    pool = [one for one in usable if _gives(one, consumed.key[0])]
    if not consumed.location and pool:
        pool = _with_references(pool, usable)
    if not pool:
        # A function says nothing of collections: what only refers to the entity is all there is.
        return _references(usable, consumed, consumer) if consumed.location else usable
    pool = _of_same_kind(pool, consumed, consumer)
    home = [one for one in pool if consumed.collection and one.match.profile.path == consumed.collection]
    if "/" in consumed.collection and any(one.match.profile.action in _READS_MANY for one in home):
        return home
    shared = max((shared_scope(one.match.profile, consumer, consumed) for one in pool), default=0)
    if shared:
        return [one for one in pool if shared_scope(one.match.profile, consumer, consumed) == shared]
    missing = {one.match.profile.id: missing_scope(one.match.profile, consumer, consumed) for one in pool}
    least = min(missing.values(), default=0)
    return [
        one
        for one in pool
        if missing[one.match.profile.id] == least
        or one in home
        or (missing[one.match.profile.id] <= 1 and (one.match.profile.action in _READS_MANY or not consumed.location))
    ]


def _may_supply(choice: Choice, consumed: ConsumedValue, consumer: ToolProfile) -> bool:
    producer = choice.match.profile
    return producer.action not in _CHANGES and not is_sibling_reference(producer, consumed, consumer)


def _gives(choice: Choice, entity: str) -> bool:
    """Whether the tool is about the entity, or its output has objects of it."""
    produced = choice.match.produced
    return produced.is_object or (produced.is_outer and is_owner(choice.match.profile, entity))


def _is_near(choice: Choice, consumer: ToolProfile) -> bool:
    producer = choice.match.profile
    return choice.match.name_overlap >= _REFERENCE_OVERLAP or own_entities(producer)[:1] == own_entities(consumer)[:1]


def _of_same_kind(pool: list[Choice], consumed: ConsumedValue, consumer: ToolProfile) -> list[Choice]:
    """Keep the tools about exactly the consumer's own entity, where the input identifies it and is not in a path.

    ``DeleteTransitGatewayVpcAttachment`` takes an attachment from ``DescribeTransitGatewayVpcAttachments``, not of a peering.
    """
    exact = [one for one in pool if consumed.key[0] in own_entities(one.match.profile)]
    if consumed.location and any(one.match.profile.action in _READS_MANY for one in exact):
        pool = [one for one in pool if one in exact or one.match.produced.is_object]
    own = own_entities(consumer)[:1]
    if (
        not own
        or consumed.location == ""
        or consumer.path
        or own[0].rsplit(" ", 1)[-1] != consumed.key[0].rsplit(" ", 1)[-1]
    ):
        return pool
    return [one for one in pool if own_entities(one.match.profile)[:1] == own] or pool


def _with_references(pool: list[Choice], usable: Sequence[Choice]) -> list[Choice]:
    """Add the tools that refer to the entity, where functions are all that is known; the tools about it come first."""
    return pool if any(one.match.profile.action in _READS_MANY for one in pool) else list(usable)


def _references(choices: Sequence[Choice], consumed: ConsumedValue, consumer: ToolProfile) -> list[Choice]:
    """Return the best of the tools that only refer to an entity that no tool is about.

    They must share words of their names with the consumer or the input: ``TaskHandle`` from ``ListMessageMoveTasks``.
    """
    if not consumed.required:
        return []
    own = set(words(consumed.parameter.rsplit(".", 1)[-1])[:-1])
    near = [
        one
        for one in choices
        if not own.isdisjoint(one.match.profile.words) or (consumed.location != "path" and _is_near(one, consumer))
    ]
    return sorted(near, key=lambda one: (-one.confidence, one.match.profile.id))[:_MOST_REFERENCES]
