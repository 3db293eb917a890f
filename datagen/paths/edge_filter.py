"""Which tool may follow which: R-P edges, validated when a path wants to walk them and not before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from datagen.catalogue import Catalogue
from datagen.links import Links
from datagen.seams import SequenceValidator
from datagen.synthetic_request import RejectedRequest
from datagen.tool_path import PathEdge

__all__ = ["Follows"]

_TRIES = 3  # edges between two tools that are validated, the surest first, until one passes
_MAX_INPUTS = 4  # inputs of one step that one step before it fills


class Follows:
    """The validated steps of a catalogue. A validator may be slow, so each pair is validated once, and only where it is walked."""

    def __init__(self, catalogue: Catalogue, rp: Links, validator: SequenceValidator) -> None:
        self._validator = validator
        pairs: dict[tuple[str, str], list[PathEdge]] = defaultdict(list)
        for edge in rp:
            if edge.kind == "R-P" and edge.source != edge.target:
                pairs[edge.source, edge.target].append(edge)
        self._edges: Mapping[tuple[str, str], list[PathEdge]] = {
            pair: sorted(edges, key=lambda edge: (-edge.confidence, edge.parameter, edge.output))
            for pair, edges in pairs.items()
        }
        self._after: dict[str, list[str]] = defaultdict(list)
        self._before: dict[str, list[str]] = defaultdict(list)
        for source, target in self._edges:
            self._after[source].append(target)
            self._before[target].append(source)
        self._catalogue = catalogue
        self._known: dict[tuple[str, str], tuple[PathEdge, ...]] = {}
        self._rejected: dict[tuple[str, str], RejectedRequest] = {}

    def __len__(self) -> int:
        """How many ordered pairs of tools an edge joins."""
        return len(self._edges)

    @property
    def rejected(self) -> tuple[RejectedRequest, ...]:
        """The pairs that were validated and did not pass, in the order in which they were validated."""
        return tuple(self._rejected.values())

    def after(self, tool: str) -> list[str]:
        """The tools to which an edge leads, validated or not."""
        return self._after.get(tool, [])

    def before(self, tool: str) -> list[str]:
        """The tools from which an edge leads, validated or not."""
        return self._before.get(tool, [])

    def joined(self, one: str, other: str) -> bool:
        """Whether any edge joins the two, in whichever direction."""
        return (one, other) in self._edges or (other, one) in self._edges

    def fills(self, source: str, target: str, parameter: str) -> bool:
        """Whether any edge fills that input of the second from the first."""
        return any(edge.parameter == parameter for edge in self._edges.get((source, target), ()))

    def edges(self, source: str, target: str) -> tuple[PathEdge, ...]:
        """The edges over which the second follows the first, one an input, the surest that passed first; none where it does not.

        The verdict is on the two tools: what else the first gives that the second requires comes along.
        """
        pair = (source, target)
        if pair not in self._known:
            self._known[pair] = self._validated(pair)
        return self._known[pair]

    def _validated(self, pair: tuple[str, str]) -> tuple[PathEdge, ...]:
        edges, reason = self._edges.get(pair, []), ""
        for edge in edges[:_TRIES]:
            verdict = self._validator.validate(edge)
            if verdict.passed:
                return edge, *self._along(edge, edges)
            reason = reason or verdict.reason
        if reason:
            self._rejected[pair] = RejectedRequest(stage="sequence", subject=pair, reason=reason)
        return ()

    def _along(self, first: PathEdge, edges: list[PathEdge]) -> list[PathEdge]:
        profile = self._catalogue.profile(first.target)
        required = {need.parameter for need in profile.consumes if need.required and need.identifier} - {
            first.parameter
        }
        best: dict[str, PathEdge] = {}
        for edge in edges:
            if edge.parameter in required:
                best.setdefault(edge.parameter, edge)
        return list(best.values())[: _MAX_INPUTS - 1]
