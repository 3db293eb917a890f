"""The R-P edges that are sure enough and that a validator passes; an edge is validated only when a path needs it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from datagen.interfaces import SequenceValidator
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import RejectedRequest
from datagen.tool_links import ToolLinks
from datagen.tool_path import PathEdge

__all__ = ["EdgeFilter"]

_MAX_TRIES = 3  # edges between two tools that are validated, most confident first, until one passes
_MAX_INPUTS = 4  # inputs of a step that one earlier step may fill

_Pair = tuple[str, str]


class EdgeFilter:
    """The R-P edges of a catalogue that a validator passes; each pair of tools is validated once, on demand.

    :param min_confidence: edges with a lower confidence make no step; two tools that one connects are not independent.
    :param fault: why an edge makes no step, whatever the validator says; empty where it may.
    """

    def __init__(
        self,
        catalogue: ProfiledCatalogue,
        rp: ToolLinks,
        validator: SequenceValidator,
        min_confidence: float,
        fault: Callable[[PathEdge], str] = lambda edge: "",
    ) -> None:
        self._connected = rp.pairs
        self._validator = validator
        self._fault = fault
        self._profiles = catalogue.profiles
        pairs: dict[_Pair, list[PathEdge]] = defaultdict(list)
        for edge in rp:
            if edge.kind == "R-P" and edge.source != edge.target and edge.confidence >= min_confidence:
                pairs[edge.source, edge.target].append(edge)
        self._edges = {
            pair: sorted(edges, key=lambda edge: (-edge.confidence, edge.parameter, edge.output))
            for pair, edges in pairs.items()
        }
        self._successors: dict[str, list[str]] = defaultdict(list)
        self._predecessors: dict[str, list[str]] = defaultdict(list)
        for source, target in self._edges:
            self._successors[source].append(target)
            self._predecessors[target].append(source)
        self._passed: dict[_Pair, tuple[PathEdge, ...]] = {}
        self._rejected: list[RejectedRequest] = []

    def __len__(self) -> int:
        """Number of ordered pairs of tools with an edge."""
        return len(self._edges)

    @property
    def rejected(self) -> tuple[RejectedRequest, ...]:
        """The pairs that were validated and did not pass, in the order in which they were validated."""
        return tuple(self._rejected)

    def successors(self, tool: str) -> Sequence[str]:
        """Return the tools to which an edge leads, validated or not."""
        return self._successors.get(tool, ())

    def predecessors(self, tool: str) -> Sequence[str]:
        """Return the tools from which an edge leads, validated or not."""
        return self._predecessors.get(tool, ())

    def connected(self, one: str, other: str) -> bool:
        """Whether an edge connects the two, in either direction."""
        return (one, other) in self._connected or (other, one) in self._connected

    def fills(self, source: str, target: str, parameter: str) -> bool:
        """Whether an edge fills that input of the second tool from the first."""
        return any(edge.parameter == parameter for edge in self._edges.get((source, target), ()))

    def edges(self, source: str, target: str) -> tuple[PathEdge, ...]:
        """Return the edges from the first to the second tool, one for each input, if one passes; else none.

        The edge that passed is first. The verdict is on the two tools, so edges to other required inputs are added.
        """
        pair = (source, target)
        if pair not in self._passed:
            self._passed[pair] = self._validated(pair)
        return self._passed[pair]

    def _validated(self, pair: _Pair) -> tuple[PathEdge, ...]:
        reason = ""
        edges: list[PathEdge] = []
        for edge in self._edges.get(pair, ()):
            if fault := self._fault(edge):
                reason = reason or fault
            else:
                edges.append(edge)
        for edge in edges[:_MAX_TRIES]:
            verdict = self._validator.validate(edge)
            if verdict.passed:
                return edge, *self._further(edge, edges)
            reason = reason or verdict.reason
        if reason:
            self._rejected.append(RejectedRequest(stage="sequence", subject=pair, reason=reason))
        return ()

    def _further(self, first: PathEdge, edges: Sequence[PathEdge]) -> list[PathEdge]:
        """Return the most confident edge to each other identifier that the second tool requires."""
        consumed = self._profiles[first.target].consumes
        required = {value.parameter for value in consumed if value.required and value.identifier} - {first.parameter}
        best: dict[str, PathEdge] = {}
        for edge in edges:
            if edge.parameter in required:
                best.setdefault(edge.parameter, edge)
        return list(best.values())[: _MAX_INPUTS - 1]
