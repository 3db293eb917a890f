"""The best produced value of each tool for one consumed value."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ingest.linking.output_index import OutputIndex, ProducerMatch
from ingest.linking.profiles import ToolProfile
from ingest.linking.values import ConsumedValue

__all__ = ["Choice", "best_producers"]


class Choice(NamedTuple):
    """A match, and the confidence that it is the right one, in [0, 1]."""

    confidence: float
    match: ProducerMatch


def best_producers(
    consumed: ConsumedValue,
    consumer: ToolProfile,
    index: OutputIndex,
    confidence: Callable[[ProducerMatch], float],
    least: float,
) -> list[Choice]:
    """One match for each tool that produces the value, in the order in which the tools are found.

    :param confidence: of a match; rounded to four digits.
    :param least: a match of less is left out.
    """
    best: dict[str, Choice] = {}
    for match in index.producers(consumed, consumer):
        choice = Choice(round(confidence(match), 4), match)
        known = best.get(match.profile.id)
        if choice.confidence >= least and (known is None or choice.confidence > known.confidence):
            best[match.profile.id] = choice
    return list(best.values())
