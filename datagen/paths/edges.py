"""The R-P graph: which output of one tool fills which input of another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from datagen.catalogue import ParameterIndex, ProfiledCatalogue, word_set
from datagen.paths.outputs import ToolOutput, ToolOutputs, produced_keys
from datagen.paths.sequence import SequenceRules
from datagen.requests import PathEdge, RejectedRequest, ToolLinks
from ingest.linking import (
    AUTH_KEY,
    TYPED_RESOURCE,
    DerivedEdge,
    OutputIndex,
    ProducedValue,
    ToolProfile,
    derive_resolver_edges,
    derive_rp_edges,
)

# Minimum calibrated confidence of an edge that makes a path. Of the judged edges of
# ``benchmarks/training/edge_verdicts/real_documents.jsonl``, which the calibration has not seen, 54 of the 57 with this
# confidence are true (95 %, interval 86 to 98 %), and 31 of the 43 below it.
MIN_CONFIDENCE = 0.9
_TYPED, _LOGIN = 0.99, 0.9  # share of the edges that is true: 661 of 667 on taskbench, 86 of 96 on toollinkos
_READS = ("search", "list", "get")
_End = tuple[str, str, str]  # (source, target, input of the target)
_MAX_TRIES = 3  # edges between two tools that are validated, most confident first, until one passes
_MAX_INPUTS = 4  # inputs of a step that one earlier step may fill
_Pair = tuple[str, str]


def build_rp_graph(catalogue: ProfiledCatalogue, outputs: ToolOutputs) -> ToolLinks:
    """Build the edges of a build, with its calibrated confidence, tool by tool in the catalogue's order. ``outputs`` is
    what tools without documented outputs return, with exactly the names of inputs of the catalogue. Context parameters
    have no edges. Typed resources (``image``) and logins are not calibrated, as the judged documents have none: their
    confidence is the share that is true on taskbench and on toollinkos. Only edges of :data:`MIN_CONFIDENCE` make
    paths; what fills an input of a given path may be any edge. Time and memory grow with the number of parameters, not
    of pairs of tools."""
    profiles = [
        _producing(catalogue.extended_profiles[tool.id], outputs.by_tool.get(tool.id, ()), catalogue.parameter_index)
        for tool in catalogue.tools
    ]
    inferred = {(one.tool, one.name): one for found in outputs.by_tool.values() for one in found if not one.documented}
    measured = {
        (profile.id, value.parameter): _TYPED if value.key[0] == TYPED_RESOURCE else _LOGIN
        for profile in profiles
        for value in profile.consumes
        if value.key[0] == TYPED_RESOURCE or value.key == AUTH_KEY
    }
    index = OutputIndex(profiles)
    derived = chain(derive_rp_edges(profiles, index, for_paths=True), derive_resolver_edges(profiles, index))
    best: dict[_End, PathEdge] = {}
    resolving: set[_End] = set()
    for edge in derived:
        supplies = edge.predicate == "supplies"
        source, target = (edge.source, edge.target) if supplies else (edge.target, edge.source)
        if not supplies:
            resolving.add((source, target, edge.parameter))
        known = best.get((source, target, edge.parameter))
        confidence = min(measured.get((target, edge.parameter), edge.confidence), 1.0)
        if source != target and (known is None or known.confidence < confidence):
            output = inferred.get((source, edge.output))
            best[source, target, edge.parameter] = _path_edge(edge, source, target, confidence, output)
    edges = _nearest(best.values(), resolving, profiles)
    position = {profile.id: profile.position for profile in profiles}
    return ToolLinks(tuple(sorted(edges, key=lambda edge: position[edge.target])))


def _nearest(
    edges: Collection[PathEdge], resolving: Collection[_End], profiles: Collection[ToolProfile]
) -> Iterator[PathEdge]:
    """Leave out tools that find the object besides the ones that are there for it. A tool that takes the identifier of
    another object finds by a relation (the groups of a user), and stays. Of the others, where a resolver finds the
    object from words, only resolvers stay; where one gives the objects themselves, no list stays that only refers to
    them (a mapping of schemes to projects)."""
    keys = {(profile.id, value.output) for profile in profiles for value in profile.produces if value.is_object}
    related = {
        profile.id
        for profile in profiles
        if profile.action not in _READS
        or any(value.required and value.identifier and not value.context for value in profile.consumes)
    }
    free = [edge for edge in edges if edge.source not in related]
    plain = {one.id for one in profiles if _needs_words_only(one)}
    resolvers = [edge for edge in free if _end(edge) in resolving]
    by_words = {(edge.target, edge.parameter) for edge in resolvers if edge.source in plain}
    resolving = {_end(one) for one in resolvers if one.source in plain or (one.target, one.parameter) not in by_words}
    resolved = {(edge.target, edge.parameter) for edge in resolvers}
    given = {(edge.target, edge.parameter) for edge in free if (edge.source, edge.output) in keys}
    for edge in edges:
        needs = edge.target, edge.parameter
        near = (
            _end(edge) in resolving if needs in resolved else needs not in given or (edge.source, edge.output) in keys
        )
        if near or edge.source in related:
            yield edge


def _needs_words_only(profile: ToolProfile) -> bool:
    """Whether a tool requires nothing, or only the words to search for, beside context parameters."""
    return all(
        set(value.key[1].split()) <= word_set("queries")
        for value in profile.consumes
        if value.required and not value.context
    )


def _end(edge: PathEdge) -> _End:
    return edge.source, edge.target, edge.parameter


def _producing(profile: ToolProfile, outputs: Iterable[ToolOutput], index: ParameterIndex) -> ToolProfile:
    """Return the profile with all its documented outputs, if any of them was found, and with the inferred ones."""
    found = tuple(outputs)
    documented = any(output.documented for output in found)
    inferred = (
        ProducedValue(output=output.name, type="", key=key, confidence=output.confidence)
        for output in found
        if not output.documented
        for key in produced_keys(output.name, profile, index)
    )
    return replace(profile, produces=(*(value for value in profile.produces if documented and value.output), *inferred))


def _path_edge(edge: DerivedEdge, source: str, target: str, confidence: float, output: ToolOutput | None) -> PathEdge:
    what = f"{edge.field} of the {edge.entity}" if edge.entity else edge.field
    how = f"; the output is inferred: {output.reason}" if output is not None else ""
    finds = "gives" if edge.predicate == "supplies" else "finds by words"
    return PathEdge(
        kind="R-P",
        source=source,
        target=target,
        output=edge.output,
        parameter=edge.parameter,
        confidence=confidence,
        reason=f"{edge.output} {finds} the {what} that {edge.parameter} takes{how}".strip(),
    )


class EdgeFilter:
    """The R-P edges of a catalogue that a validator passes; each pair of tools is validated once, on demand. Edges
    below ``min_confidence`` make no step; two tools that one connects are not independent. ``fault`` says why an edge
    makes no step, whatever the validator says; it is empty where it may."""

    def __init__(
        self,
        catalogue: ProfiledCatalogue,
        rp: ToolLinks,
        validator: SequenceRules,
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
        """Return the edges from the first to the second tool, one for each input, if one passes; else none. The edge
        that passed is first. The verdict is on the two tools, so edges to other required inputs are added."""
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
