"""The tool path: the tools that one request needs, in the order of their calls, and the edges between them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

__all__ = ["MAX_TOOLS", "EdgeKind", "PathEdge", "Shape", "ToolPath"]

MAX_TOOLS = 5

EdgeKind = Literal["R-P", "P-P"]
"""``R-P``: an output of one tool fills an input of another. ``P-P``: their inputs are similar."""
Shape = Literal["single", "chain", "join", "fan", "set"]
"""One tool; each feeds the next; two or more feed one; one feeds two or more; parts that do not need each other, each
of which may be a chain of its own."""


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
    """One to five distinct tools.

    :param tools: ids, in an order in which they can be called.
    :param edges: the edges of the path; none for the shape ``single``.
    """

    tools: tuple[str, ...]
    edges: tuple[PathEdge, ...] = ()
    shape: Shape = "single"

    @property
    def id(self) -> str:
        """12 hex digits of the SHA-256 of the sorted tools: requests with the same path id have the same gold set."""
        return hashlib.sha256("\n".join(sorted(self.tools)).encode()).hexdigest()[:12]

    @property
    def rp_pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of tools, (source, target), of its R-P edges."""
        return frozenset((edge.source, edge.target) for edge in self.edges if edge.kind == "R-P")

    def into(self, tool_id: str) -> tuple[PathEdge, ...]:
        """Return the R-P edges that fill inputs of a tool."""
        return tuple(edge for edge in self.edges if edge.kind == "R-P" and edge.target == tool_id)
