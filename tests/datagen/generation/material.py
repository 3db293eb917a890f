"""The shipped catalogue, and paths over it made from what its tools offer and need, for tests of generation."""

from __future__ import annotations

import random
from collections import defaultdict
from functools import cache
from pathlib import Path

from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.tool_links import ToolLinks
from datagen.tool_path import PathEdge, ToolPath
from ingest.sources.catalog import read_catalog
from ontology.ontology_file import load_ontology
from ontology.tool import Tool

_FOLDER = Path(__file__).resolve().parents[3] / "examples" / "enterprise" / "catalog"
CLASSES_OF_SHAPES = {
    "single": ("single-intent", "ir-multi-intent"),
    "set": ("multi-intent", "ir-multi-intent"),
    "chain": ("explicit-multi-step", "implicit-multi-step", "conditional-multi-step", "ir-multi-intent"),
}


def catalogue_of(*tools: Tool) -> ProfiledCatalogue:
    """A catalogue of these tools."""
    return ProfiledCatalogue(
        snapshot_id="test", tools=tuple(sorted(tools, key=lambda tool: tool.id)), ontology=load_ontology()
    )


@cache
def enterprise() -> ProfiledCatalogue:
    """The shipped catalogue."""
    return catalogue_of(*read_catalog([str(_FOLDER)]).tools)


@cache
def links() -> ToolLinks:
    """Edges where an output of one tool and an input of another are the same field of the same thing."""
    takers: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    profiles = [enterprise().profiles[tool.id] for tool in enterprise().tools]
    for profile in profiles:
        for need in profile.consumes:
            if need.identifier and need.confidence >= 0.5:
                takers[need.key].append((profile.id, need.parameter))
    edges = [
        PathEdge(
            kind="R-P",
            source=profile.id,
            target=tool,
            output=offer.output,
            parameter=parameter,
            confidence=offer.confidence,
        )
        for profile in profiles
        for offer in profile.produces
        if offer.output and offer.relevance >= 0.9
        for tool, parameter in takers[offer.key]
        if tool != profile.id
    ]
    return ToolLinks(tuple(edges))


@cache
def paths(count: int = 60) -> tuple[ToolPath, ...]:
    """As many singles, sets and chains each."""
    rng = random.Random(5)
    ids = [tool.id for tool in enterprise().tools]
    singles = [ToolPath(tools=(tool,)) for tool in rng.sample(ids, count)]
    sets = [ToolPath(tools=_of_one_system(rng), shape="set") for _ in range(count)]
    chains = {path.id: path for path in (_chain(rng) for _ in range(2 * count))}
    return (*singles, *sets, *list(chains.values())[:count])


def _of_one_system(rng: random.Random) -> tuple[str, ...]:
    systems = defaultdict(list)
    for tool in enterprise().tools:
        systems[tool.namespace].append(tool.id)
    return tuple(rng.sample(systems[rng.choice(sorted(systems))], rng.choice((2, 2, 3))))


def _chain(rng: random.Random) -> ToolPath:
    edges = [rng.choice(links().edges)]
    for _ in range(rng.choice((0, 0, 1, 2))):
        tools = {edges[0].source, *(edge.target for edge in edges)}
        nexts = [edge for edge in links().out_of(edges[-1].target) if edge.target not in tools]
        if nexts:
            edges.append(rng.choice(nexts))
    return ToolPath(tools=(edges[0].source, *(edge.target for edge in edges)), edges=tuple(edges), shape="chain")
