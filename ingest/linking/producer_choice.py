"""Choose the producers of one consumed value: the best value of each tool, then the nearest tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ingest.linking.output_index import OutputIndex, ProducerMatch
from ingest.linking.profiles import ToolProfile
from ingest.linking.supplier_rules import is_own_new_value, is_owner, missing_scope, shared_scope
from ingest.linking.tool_values import AUTH_KEY, ConsumedValue

__all__ = ["Choice", "best_producers", "nearest"]

_CHANGES = frozenset(("update", "delete"))


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
) -> list[Choice]:
    """Return the best match of each tool that produces the value, in the order in which the index returns the tools.

    :param confidence: returns the confidence of a match; it is rounded to four digits.
    :param min_confidence: matches with a lower confidence are left out.
    """
    best: dict[str, Choice] = {}
    if is_own_new_value(consumed, consumer):
        return []
    for match in index.producers(consumed, consumer):
        choice = Choice(round(confidence(match), 4), match)
        known = best.get(match.profile.id)
        if choice.confidence >= min_confidence and (known is None or choice.confidence > known.confidence):
            best[match.profile.id] = choice
    return list(best.values())


def nearest(choices: Sequence[Choice], consumed: ConsumedValue, consumer: ToolProfile) -> list[Choice]:
    """Return the choices that are nearest to the consumer; values that are no identifiers are all kept.

    Tools about the entity come before tools that only refer to it, and tools that need the same identifiers as the consumer before
    those that need others: a group's events come from the list of a group's events.
    """
    if not consumed.identifier or consumed.key == AUTH_KEY:
        return list(choices)
    entity = consumed.key[0]
    usable = [one for one in choices if one.match.profile.action not in _CHANGES]
    owners = [one for one in usable if _gives(one, entity)]
    pool = owners or usable
    shared = max((shared_scope(one.match.profile, consumer, consumed) for one in pool), default=0)
    if shared:
        return [one for one in pool if shared_scope(one.match.profile, consumer, consumed) == shared]
    least = min((missing_scope(one.match.profile, consumer, consumed) for one in pool), default=0)
    return [one for one in pool if missing_scope(one.match.profile, consumer, consumed) <= max(least, 1)]


def _gives(choice: Choice, entity: str) -> bool:
    """Whether the tool is about the entity, or its output has objects of it."""
    return is_owner(choice.match.profile, entity) or choice.match.produced.is_object
