"""The tool path: the tools that one request needs, in the order of their calls, and the edges between them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

__all__ = ["MAX_LONG_TOOLS", "MAX_TOOLS", "EdgeKind", "PathEdge", "Shape", "ToolPath"]

MAX_TOOLS = 5
"""Maximum number of tools of a path of the six classes."""
MAX_LONG_TOOLS = 12
"""Maximum number of tools of a path of the shape ``long``."""

EdgeKind = Literal["R-P", "P-P"]
"""``R-P``: an output of one tool fills an input of another. ``P-P``: their inputs are similar."""
Shape = Literal["single", "chain", "join", "fan", "set", "long"]
"""One tool; each feeds the next; two or more feed one; one feeds two or more; parts that do not need each other, each
of which may be a chain of its own; a task of five to twelve tools, of any form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathEdge:
    """An edge between two tools.

    :param source: id of the tool that is called first; for a P-P edge the smaller id.
    :param target: id of the tool that is called after it.
    :param output: the output that fills the input, as documented or inferred; the input of ``source`` for P-P.
    :param parameter: the input of ``target``.
    :param confidence: in [0, 1].
    :param reason: the reason, one sentence without a full stop.
    """

    kind: EdgeKind
    source: str
    target: str
    output: str
    parameter: str
    confidence: float
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPath:
    """One to five distinct tools; up to twelve in the shape ``long``.

    :param tools: ids, in an order in which they can be called.
    :param edges: the edges of the path; none for the shape ``single``.
    :param alternatives: for each tool, in their order, the ids of other tools that would do equally; empty where no tool
        has any. None of them is a tool of the path.
    """

    tools: tuple[str, ...]
    edges: tuple[PathEdge, ...] = ()
    shape: Shape = "single"
    alternatives: tuple[tuple[str, ...], ...] = ()

    @property
    def slots(self) -> tuple[tuple[str, ...], ...]:
        """The gold set: for each tool the tool itself, then its alternatives."""
        others = self.alternatives or ((),) * len(self.tools)
        return tuple((tool, *further) for tool, further in zip(self.tools, others, strict=True))

    @property
    def id(self) -> str:
        """12 hex digits of the SHA-256 of the sorted slots: requests with the same path id have the same gold set.

        It does not depend on which tool of a slot is first.
        """
        slots = sorted("\t".join(sorted(slot)) for slot in self.slots)
        return hashlib.sha256("\n".join(slots).encode()).hexdigest()[:12]

    @property
    def rp_pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of tools, (source, target), of its R-P edges."""
        return frozenset((edge.source, edge.target) for edge in self.edges if edge.kind == "R-P")

    def into(self, tool_id: str) -> tuple[PathEdge, ...]:
        """Return the R-P edges that fill inputs of a tool."""
        return tuple(edge for edge in self.edges if edge.kind == "R-P" and edge.target == tool_id)
