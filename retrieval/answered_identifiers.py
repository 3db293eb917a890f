"""What executed tools have answered, by the names of their outputs: ``order_id`` of the order that was placed is that of ``get_order``.

The graph has no such edge where the tool that has the output is no source of it: nobody places an order to look one up. Once it was called, its
answer is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from retrieval.completion.needs import SUPPLIES, Supplier
from retrieval.explain.tool_facts import Input
from retrieval.snapshot.reader import Snapshot

__all__ = ["AnsweredIdentifiers"]

_CONFIDENCE = 0.7
"""Chosen, not tuned: two identifiers of one name may be those of two things."""


class AnsweredIdentifiers:
    """The identifiers among the outputs of executed tools.

    Only outputs whose name says that they identify something, and what: an ``id``, a ``message`` or a ``price`` may be that of anything.

    :param done: numbers of the tools in the order in which they were executed; of several with an output the last one counts.
    """

    def __init__(self, snapshot: Snapshot, done: Iterable[int]) -> None:
        self._suppliers = {
            output.terms: Supplier(tool, SUPPLIES, output.name, _CONFIDENCE)
            for tool in done
            for output in snapshot.tools.read(tool, _identifiers)
        }

    def supplier(self, parameter: str) -> Supplier | None:
        """The executed tool that has answered an input, or None."""
        return self._suppliers.get(_named(parameter).terms) if self._suppliers else None


def _identifiers(row: Any) -> tuple[Input, ...]:
    """The outputs that are identifiers, those of the answer itself last: they count before those of what it contains."""
    outputs = sorted((_named(each["name"]) for each in row.get("returns", ())), key=_depth)
    return tuple(output for output in reversed(outputs) if output.is_opaque and output.entity)


def _depth(output: Input) -> int:
    return output.name.count(".") + output.name.count("[]")


def _named(name: str) -> Input:
    return Input(name=name, required=False, location="", enum=(), type="")
