"""Choose the best produced value of each tool for one consumed value."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ingest.linking.output_index import OutputIndex, ProducerMatch
from ingest.linking.profiles import ToolProfile
from ingest.linking.tool_values import ConsumedValue

__all__ = ["Choice", "best_producers"]


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
    for match in index.producers(consumed, consumer):
        choice = Choice(round(confidence(match), 4), match)
        known = best.get(match.profile.id)
        if choice.confidence >= min_confidence and (known is None or choice.confidence > known.confidence):
            best[match.profile.id] = choice
    return list(best.values())
