"""Slots of a gold set: for each tool that a request needs, the tools that would do equally.

One tool of a slot fills it. A gold set without alternatives has one tool in each slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

__all__ = ["Slot", "gold_slots", "row_tools", "slot_name"]

Slot: TypeAlias = tuple[str, ...]
"""Ids of tools that would do equally, at least one, distinct."""


def gold_slots(tools: Iterable[str | Sequence[str]]) -> tuple[Slot, ...]:
    """Return the slots of a gold set as rows have it: a tool id, or a list of ids that would do equally, for each slot.

    Slots of the same tools are one slot: a tool that is called twice is found once.
    """
    slots = (tuple(dict.fromkeys([one] if isinstance(one, str) else one)) for one in tools)
    distinct: dict[frozenset[str], Slot] = {}
    for slot in slots:
        distinct.setdefault(frozenset(slot), slot)
    return tuple(distinct.values())


def row_tools(slots: Sequence[Slot]) -> list[str | list[str]]:
    """The gold set as rows have it; the inverse of :func:`gold_slots`."""
    return [slot[0] if len(slot) == 1 else list(slot) for slot in slots]


def slot_name(slot: Slot) -> str:
    """The slot in a report: its tools, in the order given."""
    return " or ".join(slot)
