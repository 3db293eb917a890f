"""What the offline pipeline makes of changed tools: read, extracted, linked with the tools near them. It runs in a worker process."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from egotools.usage_lines import UsageLines
from ingest.extract.extractor import Extractor
from ingest.pipeline import GraphBuild, build_tool_graph
from ingest.sources import read_catalog
from ingest.usage.usage_build import RulesUsage
from ingest.usage.usage_rules import RULES
from ontology.errors import CatalogError, DocumentError
from ontology.ontology_file import load_ontology
from ontology.tool import Dependency, Tool
from ontology.tool_graph import EdgeAttributes, NodeAttributes
from retrieval.delta.segment import ChangedTools, Segment, SegmentEdge
from retrieval.snapshot.graph_records import EdgeRecord, NodeRecord

__all__ = ["ToolsMaker"]

_NAMESPACE = "tools"


class ToolsMaker:
    """Reads changed tools and makes segments of them, by rules: no model is called.

    :param ontology: the ontology file of the build; None for the one that is part of egotools.
    """

    def __init__(self, ontology: Path | None = None, extractor: Extractor | None = None) -> None:
        from ingest.extract.rules_extractor import RulesExtractor

        self._ontology = load_ontology(ontology)
        self._extractor = extractor or RulesExtractor(self._ontology)

    def read(self, rows: Sequence[Mapping[str, object]]) -> list[Tool]:
        """Return tools from JSON objects, read as the lines of a document, by id.

        A tool without an id gets its name in the namespace ``tools``.

        :raises DocumentError: for a row that is no tool, and for a secret's place; nothing is kept then.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{_NAMESPACE}.jsonl"
            # A dependency on a tool that is not among these is no fault here: the catalogue may have it.
            bare = [{key: value for key, value in row.items() if key != "depends_on"} for row in rows]
            path.write_text("".join(f"{json.dumps(row)}\n" for row in bare), encoding="utf-8")
            try:
                catalog = read_catalog([str(path)], strict=True)
            except CatalogError as error:
                problem = error.problem.replace(f"{folder}/", "")
                raise DocumentError(
                    problem, subject="tools", remedy="Correct it, and send all tools of the call again"
                ) from error
        if len(catalog.tools) != len(rows):
            raise DocumentError(
                f"{len(rows)} objects are {len(catalog.tools)} tools", subject="tools", remedy="Send one tool an object"
            )
        tools = [replace(tool, depends_on=_dependencies(row)) for tool, row in zip(catalog.tools, rows, strict=True)]
        return sorted(tools, key=lambda tool: tool.id)

    def examine(self, tools: Sequence[Tool], published: Sequence[Tool], store: Path) -> None:
        """Refuse tools with severe findings that were not released in the store; see :func:`ingest.trust.quarantine.examine`.

        Look-alike names are found among the changed tools; a build compares all.

        :raises CatalogError: naming them.
        """
        from ingest.trust.approvals import read_approvals
        from ingest.trust.quarantine import examine

        before = {tool.id: tool for tool in published}
        examined = examine(tools, "refuse", previous=before, approvals=read_approvals(store))
        if examined.refused is not None:
            raise CatalogError(
                examined.refused.problem,
                subject="tools",
                remedy="Correct them; or build their document, and release them with `egotools findings approve`",
            )

    def make(self, changed: ChangedTools) -> Segment:
        """Return the segment of changed tools."""
        graph = build_tool_graph(
            changed.tools,
            self._ontology,
            self._extractor,
            among=changed.among,
            abbreviations=changed.abbreviations,
        )
        usage: dict[str, UsageLines] = {}
        if changed.usage == RULES:
            made = RulesUsage(self._ontology).make(graph.tools)
            usage = {tool.id: lines for tool, lines in zip(graph.tools, made.lines, strict=True)}
        return _segment(graph, usage)


def _dependencies(row: Mapping[str, object]) -> tuple[Dependency, ...]:
    return Tool.from_json({"id": "t", "name": "t", "depends_on": row.get("depends_on") or []}).depends_on


def _segment(graph: GraphBuild, usage: Mapping[str, UsageLines]) -> Segment:
    ids = {f"tool:{tool.id}" for tool in graph.tools}
    edges = []
    for head, tail, key, data in graph.graph.edges(keys=True, data=True):
        joins_tools = head.startswith("tool:") and tail.startswith("tool:")
        if not joins_tools or head in ids or tail in ids:
            edge = cast("EdgeAttributes", data)
            edges.append(
                SegmentEdge(head, tail, edge["predicate"], float(edge["confidence"]), EdgeRecord.of(str(key), edge))
            )
    ends = {key for edge in edges for key in (edge.head, edge.tail)} | ids
    nodes = {
        key: NodeRecord.of(cast("NodeAttributes", graph.graph.nodes[key]))
        for key in ends
        if key in ids or graph.graph.nodes[key]["type"] != "tool"
    }
    return Segment(
        tools={tool.id: tool for tool in graph.tools},
        nodes=nodes,
        edges=tuple(edges),
        shapes=tuple(graph.value_shapes),
        usage=usage,
    )
