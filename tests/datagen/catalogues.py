"""Small catalogues, and what tests read of a graph."""

from __future__ import annotations

from collections.abc import Iterable

from datagen.catalogue import ProfiledCatalogue
from datagen.requests import ToolLinks
from ontology.ontology import load_ontology
from ontology.tool import Parameter, Tool


def tool(
    name: str, inputs: str = "", outputs: str = "", *, description: str = "", types: str = "string", **metadata: object
) -> Tool:
    """A tool of namespace ``shop`` unless told otherwise.

    :param inputs: names in one line; those that end in ``?`` need not be given.
    :param outputs: names in one line.
    :param types: of all its inputs and outputs.
    """
    namespace = metadata.setdefault("namespace", "shop")
    return Tool(
        id=f"{namespace}/{name}",
        name=name,
        description=description,
        parameters=tuple(
            Parameter(name=one.rstrip("?"), type=types, required=not one.endswith("?")) for one in inputs.split()
        ),
        returns=tuple(Parameter(name=one, type=types) for one in outputs.split()),
        metadata=metadata,
    )


def catalogue_of(tools: Iterable[Tool]) -> ProfiledCatalogue:
    """A catalogue that no snapshot stands behind."""
    return ProfiledCatalogue(snapshot_id="", tools=tuple(tools), ontology=load_ontology())


def edge_ends(links: ToolLinks) -> set[tuple[str, str, str, str]]:
    """The edges as (source, output, target, parameter), sources and targets without their namespace."""
    return {(edge.source.split("/")[-1], edge.output, edge.target.split("/")[-1], edge.parameter) for edge in links}
