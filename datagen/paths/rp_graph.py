"""The R-P graph: which output of one tool fills which input of another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from datagen.interfaces import ToolOutput, ToolOutputs
from datagen.parameter_index import ParameterIndex
from datagen.paths.infer_outputs import produced_keys
from datagen.paths.part_of import Part, parts_of
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.tool_links import ToolLinks
from datagen.tool_path import PathEdge
from ingest.linking import DerivedEdge, LinkLimits, OutputIndex, ProducedValue, ToolProfile, derive_rp_edges

__all__ = ["LIMITS", "build_rp_graph"]

LIMITS = LinkLimits(
    max_providers=32,
    min_confidence=0.2,
    min_value_providers=12,
    max_value_share=0.02,
    optional_values=True,
    nearest_login=True,
    resources_across_groups=False,
)
"""Wider than the limits of a build: a path needs any one of the possible producers, not the best few."""

_PART_CONFIDENCE = 0.3  # of an edge between a whole and its part: the edge is true, but its output was an input already


def build_rp_graph(catalogue: ProfiledCatalogue, outputs: ToolOutputs) -> ToolLinks:
    """Build the edges from each output to the inputs that it can fill, tool by tool in the catalogue's order.

    Time and memory grow with the number of parameters, not of pairs of tools.

    :param outputs: documented outputs, and inferred outputs that have exactly the name of an input of the catalogue.
    """
    profiles = [
        _producing(catalogue.extended_profiles[tool.id], outputs.by_tool.get(tool.id, ()), catalogue.parameter_index)
        for tool in catalogue.tools
    ]
    inferred = {(one.tool, one.name): one for found in outputs.by_tool.values() for one in found if not one.documented}
    edges = tuple(_path_edges(derive_rp_edges(profiles, OutputIndex(profiles), LIMITS), inferred))
    known = {(edge.source, edge.target) for edge in edges}
    parts = _part_edges(parts_of(catalogue.tools, profiles, catalogue.names), catalogue)
    return ToolLinks((*edges, *(edge for edge in parts if (edge.source, edge.target) not in known)))


def _producing(profile: ToolProfile, outputs: Iterable[ToolOutput], index: ParameterIndex) -> ToolProfile:
    """Return the profile with exactly these outputs."""
    documented: set[str] = set()
    inferred: list[ProducedValue] = []
    for output in outputs:
        if output.documented:
            documented.add(output.name)
            continue
        for key in produced_keys(output.name, profile, index):
            inferred.append(ProducedValue(output=output.name, type="", key=key, confidence=output.confidence))
    kept = (value for value in profile.produces if value.output in documented)
    return replace(profile, produces=(*kept, *inferred))


def _path_edges(derived: Iterable[DerivedEdge], inferred: Mapping[tuple[str, str], ToolOutput]) -> Iterator[PathEdge]:
    for edge in derived:
        what = f"{edge.field} of the {edge.entity}" if edge.entity else edge.field
        output = inferred.get((edge.source, edge.output))
        how = f"; the output is inferred: {output.reason}" if output is not None else ""
        yield PathEdge(
            kind="R-P",
            source=edge.source,
            target=edge.target,
            output=edge.output,
            parameter=edge.parameter,
            confidence=min(edge.confidence, 1.0),
            reason=f"{edge.output} gives the {what} that {edge.parameter} takes{how}",
        )


def _part_edges(parts: Iterable[Part], catalogue: ProfiledCatalogue) -> Iterator[PathEdge]:
    """Both ways: the whole's key is a part of its part's key, and the part holds the key of its whole."""
    names = catalogue.names
    for part in parts:
        for source, target in ((part.whole, part.part), (part.part, part.whole)):
            gives = {names.canonical(one.name): one.name for one in reversed(catalogue.tool(source).returns)}
            takes = {names.canonical(one.name): one.name for one in catalogue.tool(target).parameters}
            shared = next((name for name in part.shared if name in gives and name in takes), "")
            if shared:
                yield PathEdge(
                    kind="R-P",
                    source=source,
                    target=target,
                    output=gives[shared],
                    parameter=takes[shared],
                    confidence=_PART_CONFIDENCE,
                    reason=f"both are read by the same {shared}, and the one is a part of the other",
                )
