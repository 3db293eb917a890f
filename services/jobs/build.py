"""Building: documents in, a published snapshot out, with an account of everything kept, changed and refused."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inference.cached_encoder import CachedEncoder
from inference.encoder import Encoder
from inference.result_cache import ResultCache
from ingest.extract.extractor import Extractor
from ingest.pipeline import GraphBuild, build_tool_graph
from ingest.sources import Catalog, read_catalog
from ontology.errors import CatalogError, StorageError
from ontology.files import write_file
from ontology.ontology import Ontology, load_ontology
from ontology.progress import Progress, no_progress
from retrieval.snapshot.publish import publish, staging_folder
from retrieval.snapshot.writer import SnapshotContent, write_snapshot

if TYPE_CHECKING:
    from ingest.stores import GraphStore

__all__ = ["BuildReport", "build_snapshot"]

_LOG = logging.getLogger(__name__)
_EXAMPLES = 20  # examples of each kind that the report lists in full


@dataclass(frozen=True, kw_only=True)
class BuildReport:
    """What a build did. ``to_json`` is what ``--json`` prints and ``reports/<id>.json`` keeps."""

    snapshot_id: str
    folder: Path
    catalog: Catalog
    graph: GraphBuild
    stored: Mapping[str, Any] = field(default_factory=dict)
    vectors_reused: int = 0
    vectors_encoded: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        graph, catalog = self.graph, self.catalog
        return {
            "snapshot_id": self.snapshot_id,
            "folder": str(self.folder),
            "documents": [
                {"address": d.address, "format": d.format, "tools": d.tools, "refused": d.rejected}
                for d in catalog.documents
            ],
            "tools": len(catalog.tools),
            "renamed": [list(pair) for pair in catalog.renamed],
            "refused_tools": {
                "by_reason": dict(sorted(Counter(r.reason for r in catalog.rejected).items())),
                "all": [[r.subject, r.reason, r.detail] for r in catalog.rejected],
            },
            "triples": {
                "kept": dict(sorted(graph.kept.items())),
                "refused_by_reason": dict(sorted(Counter(r.reason for r in graph.rejected).items())),
                "refused_by_predicate_and_reason": [
                    [predicate, reason, count]
                    for (predicate, reason), count in sorted(
                        Counter((r.triple.predicate, r.reason) for r in graph.rejected).items()
                    )
                ],
                "refused_examples": [[*r.triple.key, r.reason, r.detail] for r in graph.rejected[:_EXAMPLES]],
                "tools_failed": graph.failed,
            },
            "merges": {
                "by_kind": dict(sorted(Counter(m.kind for m in graph.canonical.merges).items())),
                "all": [[m.kind, m.surface, m.canonical, m.evidence, m.score] for m in graph.canonical.merges],
                "warnings": list(graph.canonical.warnings),
            },
            "graph": {"nodes": graph.graph.number_of_nodes(), "edges": graph.graph.number_of_edges()},
            "stored": dict(self.stored),
            "reused": {
                "extractions": graph.reused,
                "of_extractions": len(catalog.tools),
                "vectors": self.vectors_reused,
                "of_vectors": self.vectors_reused + self.vectors_encoded,
            },
            "seconds": {stage: round(spent, 3) for stage, spent in self.seconds.items()},
        }


def build_snapshot(
    addresses: Sequence[str],
    store: Path,
    *,
    encoder: Encoder,
    extractor: Extractor | None = None,
    ontology: Ontology | None = None,
    graph_store: GraphStore | None = None,
    strict: bool = False,
    cached: bool = True,
    workers: int = 1,
    progress: Progress = no_progress,
) -> BuildReport:
    """Read the documents, build the tool graph, write the snapshot and publish it in ``store``.

    :param addresses: files, folders, globs and live addresses.
    :param extractor: reads the triples; by default ``rules.v1``.
    :param graph_store: also filled with the graph; its counts must equal the graph's.
    :param strict: refuse the whole build when anything was refused.
    :param cached: reuse extractions and vectors of unchanged documents from ``store/cache.sqlite``.
    :raises EgotoolsError: nothing is published then; what was published before still serves.
    """
    ontology = ontology or load_ontology()
    if extractor is None:
        from ingest.extract.rules_extractor import RulesExtractor

        extractor = RulesExtractor(ontology, workers=workers)
    seconds: dict[str, float] = {}
    started = time.perf_counter()
    catalog = read_catalog(addresses, strict=strict, progress=lambda address: progress(f"read {address}", 0, 0))
    seconds["read"] = time.perf_counter() - started
    # By id, so that the snapshot depends neither on the order of the addresses nor on the file system's.
    tools = sorted(catalog.tools, key=lambda tool: tool.id)
    with staging_folder(store) as folder:
        cache = ResultCache(store / "cache.sqlite") if cached else None
        try:
            remembering = CachedEncoder(encoder, cache, progress=lambda done, total: progress("encode", done, total))
            graph = build_tool_graph(tools, ontology, extractor, encoder=remembering, cache=cache, progress=progress)
            if strict and graph.failed:
                raise CatalogError(
                    f"{len(graph.failed)} tool(s) could not be extracted",
                    subject=", ".join(sorted(graph.failed)[:_EXAMPLES]),
                    remedy="Mend them, or build without --strict",
                )
            seconds |= graph.seconds
            stored = _fill(graph_store, graph)
            started, encoding = time.perf_counter(), remembering.seconds
            snapshot_id = write_snapshot(
                folder,
                SnapshotContent(
                    tools=tools,
                    graph=graph.graph,
                    ontology=ontology,
                    encoder=remembering,
                    extractor=extractor.name,
                    abbreviations=graph.canonical.abbreviations,
                    created_by=f"egotools {version('egotools')}",
                ),
                progress=lambda stage: progress(f"write {stage}", 0, 0),
            )
            seconds["write"] = time.perf_counter() - started - (remembering.seconds - encoding)
            seconds["encode"] = remembering.seconds
        finally:
            if cache is not None:
                cache.close()
        started = time.perf_counter()
        target = publish(store, folder, snapshot_id)
        seconds["publish"] = time.perf_counter() - started
    report = BuildReport(
        snapshot_id=snapshot_id,
        folder=target,
        catalog=catalog,
        graph=graph,
        stored=stored,
        vectors_reused=remembering.reused,
        vectors_encoded=remembering.encoded,
        seconds=seconds,
    )
    _keep(store, report)
    return report


def _fill(graph_store: GraphStore | None, graph: GraphBuild) -> dict[str, Any]:
    if graph_store is None:
        return {}
    counts = graph_store.write(graph.graph)
    return {"store": graph_store.name, "nodes": counts.nodes, "edges": counts.edges}


def _keep(store: Path, report: BuildReport) -> None:
    """Keep the report beside the snapshots; it is no part of them, since it holds times, and it stops nothing."""
    text = json.dumps(report.to_json(), ensure_ascii=False, indent=1) + "\n"
    try:
        write_file(store / "reports" / f"{report.snapshot_id}.json", text)
    except StorageError as error:
        _LOG.warning("the snapshot is published, but its report could not be kept: %s", error)
