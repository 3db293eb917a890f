"""Small catalogues, and what tests read of a graph."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence

from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.tool_links import ToolLinks
from ontology.ontology_file import load_ontology
from ontology.tool import Parameter, Tool
from tests.conftest import ROOT

__all__ = ["catalogue_of", "edge_ends", "said_by", "tool"]


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


def said_by(code: str, seeds: Sequence[str] = ("0", "4711")) -> set[str]:
    """What a program prints under each hash seed."""
    found = set()
    for seed in seeds:
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        found.add(done.stdout)
    return found
