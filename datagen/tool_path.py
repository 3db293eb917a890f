"""The ToolPath: tools that one request needs, in the order they run, and the edges that say so."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

__all__ = ["MAX_TOOLS", "EdgeKind", "PathEdge", "Shape", "ToolPath"]

MAX_TOOLS = 5

EdgeKind = Literal["R-P", "P-P"]
"""``R-P``: an output of one tool fills an input of another. ``P-P``: their inputs are alike."""
Shape = Literal["single", "chain", "join", "fan", "set"]
"""One tool; each feeds the next; two or more feed one; one feeds two or more; parts that do not need each other, each
of which may be a chain of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathEdge:
    """An edge between two tools.

    :param source: id of the tool that runs first; of a P-P edge the lower id.
    :param target: id of the tool that runs after it.
    :param output: the output that fills the input, as documented or inferred; the input of ``source`` for P-P.
    :param parameter: the input of ``target``.
    :param confidence: in [0, 1].
    :param reason: why, in a sentence without a full stop.
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

    :param tools: ids, in an order in which they can run.
    :param edges: those that the path was made from; none for the shape ``single``.
    """

    tools: tuple[str, ...]
    edges: tuple[PathEdge, ...] = ()
    shape: Shape = "single"

    @property
    def id(self) -> str:
        """12 hex digits of the SHA-256 over the tools, whatever their order: requests of one id have one gold set."""
        return hashlib.sha256("\n".join(sorted(self.tools)).encode()).hexdigest()[:12]

    @property
    def rp_pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of tools, (source, target), that its R-P edges connect."""
        return frozenset((edge.source, edge.target) for edge in self.edges if edge.kind == "R-P")

    def into(self, tool_id: str) -> tuple[PathEdge, ...]:
        """The R-P edges that fill inputs of a tool."""
        return tuple(edge for edge in self.edges if edge.kind == "R-P" and edge.target == tool_id)
