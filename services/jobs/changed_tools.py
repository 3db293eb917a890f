"""What the offline pipeline makes of changed tools: read, extracted, linked with the tools near them. It runs in a worker process."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
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
from ontology.files import disk_errors
from ontology.ontology_file import load_ontology
from ontology.tool import Dependency, Tool
from ontology.tool_graph import EdgeAttributes, NodeAttributes
from retrieval.delta.segment import ChangedTools, Segment, SegmentEdge
from retrieval.snapshot.graph_records import EdgeRecord, NodeRecord
from retrieval.snapshot.publish_lock import publishing
from services.jobs.sent_tool import NAMESPACE, documents_of, sent_tool

__all__ = ["ToolsMaker"]


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

        In every form the keys ``id`` and ``namespace`` of a row are those of its tool. A tool without an id is ``namespace/name``, in the
        namespace ``tools`` where none is given.

        :raises DocumentError: for a row that is no tool, and for a secret's place; nothing is kept then.
        """
        sent = [sent_tool(row) for row in rows]
        found: dict[int, Tool] = {}
        with tempfile.TemporaryDirectory() as folder:
            for numbers in documents_of(sent):
                lines = [json.dumps(each.row) if number in numbers else "" for number, each in enumerate(sent)]
                tools = _read_lines(Path(folder) / f"{NAMESPACE}.jsonl", lines, len(numbers))
                found.update(zip(numbers, tools, strict=True))
        tools = [
            replace(sent[number].named(found[number]), depends_on=_dependencies(row)) for number, row in enumerate(rows)
        ]
        repeated = [id_ for id_, count in Counter(tool.id for tool in tools).items() if count > 1]
        if repeated:
            raise DocumentError("several objects have this id", subject=repeated[0], remedy="Send one object a tool")
        return sorted(tools, key=lambda tool: tool.id)

    def examine(self, tools: Sequence[Tool], published: Sequence[Tool], store: Path) -> None:
        """Examine changed tools as the last build of the store did; see :func:`ingest.trust.quarantine.examine`.

        Where that only reported, so does this. Else tools with severe findings that were not released are refused. What is found is
        kept in the store, where it can be approved; see :meth:`ingest.trust.quarantine.TrustRecord.then`.
        Look-alike names are found among the changed tools; a build compares all.

        :raises CatalogError: naming them.
        :raises StorageError: when the findings cannot be written.
        """
        from ingest.trust.approvals import read_approvals
        from ingest.trust.quarantine import examine, read_record, write_record

        before = {tool.id: tool for tool in published}
        with disk_errors(store), publishing(store):  # a call to another server of the store may find something too
            earlier = read_record(store)
            policy = "report" if earlier.policy == "report" else "refuse"
            examined = examine(tools, policy, previous=before, earlier=earlier, approvals=read_approvals(store))
            ids = [tool.id for tool in tools]
            if examined.refused is not None:  # the others are not taken in either: what is known of them stays
                ids = list(examined.record.quarantined)
            record = earlier.then({*ids}, examined.record)
            if record != earlier:
                write_record(store, record)
        if examined.refused is not None:
            raise CatalogError(
                examined.refused.problem,
                subject="tools",
                remedy="Correct them; or release them with `egotools findings approve`, and send them again",
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


def _read_lines(path: Path, lines: Sequence[str], count: int) -> list[Tool]:
    """Return the tools of a document with these lines, of which ``count`` have a tool. Line numbers are those of the call's objects."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    try:
        tools = read_catalog([str(path)], strict=True).tools
    except CatalogError as error:
        problem = error.problem.replace(f"{path.parent}/", "")
        raise DocumentError(
            problem, subject="tools", remedy="Correct it, and send all tools of the call again"
        ) from error
    if len(tools) != count:
        raise DocumentError(
            f"{count} objects are {len(tools)} tools", subject="tools", remedy="Send one tool an object"
        )
    return list(tools)


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
