"""The R-P graph: which output of one tool fills which input of another."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import chain

from datagen.interfaces import ToolOutput, ToolOutputs
from datagen.parameter_index import ParameterIndex
from datagen.paths.infer_outputs import produced_keys
from datagen.patterns import load_patterns
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.tool_links import ToolLinks
from datagen.tool_path import PathEdge
from ingest.linking import (
    AUTH_KEY,
    TYPED_RESOURCE,
    DerivedEdge,
    LinkLimits,
    OutputIndex,
    ProducedValue,
    ToolProfile,
    derive_resolver_edges,
    derive_rp_edges,
)

__all__ = ["LIMITS", "MIN_CONFIDENCE", "build_rp_graph"]

MIN_CONFIDENCE = 0.9
"""Minimum calibrated confidence of an edge that makes a path. Of the judged edges of ``research/edge_verdicts/real_documents.jsonl``, which the
calibration has not seen, 54 of the 57 with this confidence are true (95 %, interval 86 to 98 %), and 31 of the 43 below it."""
LIMITS = LinkLimits(max_providers=32, min_confidence=0.2, nearest_login=True, resources_across_groups=False)
"""As in a build, but with more producers of one input: a path needs any one of them, not the best few. A login is that of the
nearest name, and bare types join only what is filed together."""

_WORDS = load_patterns("paths/words")
_TYPED, _LOGIN = 0.99, 0.9  # share of the edges that is true: 661 of 667 on taskbench, 86 of 96 on toollinkos
_READS = ("search", "list", "get")
_End = tuple[str, str, str]
"""(source, target, input of the target)."""


def build_rp_graph(catalogue: ProfiledCatalogue, outputs: ToolOutputs) -> ToolLinks:
    """Build the edges of a build, with its calibrated confidence, tool by tool in the catalogue's order.

    Context parameters have no edges. Typed resources (``image``) and logins are not calibrated, as the judged documents
    have none: their confidence is the share that is true on taskbench and on toollinkos. Only edges of
    :data:`MIN_CONFIDENCE` make paths; what fills an input of a given path may be any edge. Time and memory grow with the
    number of parameters, not of pairs of tools.

    :param outputs: what tools without documented outputs return, with exactly the names of inputs of the catalogue.
    """
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
    derived = chain(derive_rp_edges(profiles, index, LIMITS), derive_resolver_edges(profiles, index))
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
    """Leave out tools that find the object besides the ones that are there for it.

    A tool that takes the identifier of another object finds by a relation (the groups of a user), and stays. Of the
    others, where a resolver finds the object from words, only resolvers stay; where one gives the objects themselves, no
    list stays that only refers to them (a mapping of schemes to projects). Found on the document of Jira.
    """
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
        set(value.key[1].split()) <= _WORDS.words("queries")
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
