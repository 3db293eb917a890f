"""Builds: tool documents in, a published snapshot and its report out."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inference import load_encoder
from inference.cached_encoder import CachedEncoder
from inference.encoder import Encoder
from inference.result_cache import ResultCache
from ingest.build_report import BuildReport, keep_build_report, make_report
from ingest.extract.extractor import Extractor
from ingest.pipeline import GraphBuild, build_tool_graph
from ingest.sources import Catalog, read_catalog
from ingest.sources.named_sources import named_sources
from ontology.errors import CatalogError, InvalidArgumentError
from ontology.ontology import Ontology
from ontology.ontology_file import load_ontology
from ontology.progress import Progress, no_progress, timed
from ontology.tool import Tool
from retrieval.snapshot.manifest import SourceInfo
from retrieval.snapshot.publish import publish, staging_folder
from retrieval.snapshot.writer import SnapshotContent, write_snapshot
from services.jobs.model_factory import llm_extractor
from services.jobs.plans import BuildPlan
from services.jobs.unchanged import earlier_build, inputs_key, remember_build

if TYPE_CHECKING:
    from ingest.stores import GraphStore

__all__ = ["build", "build_snapshot"]

_NAMED = 20
_THRESHOLDS = (200_000, 20, 50)  # chosen, not tuned
_CACHE = "cache.sqlite"
_EXTRACTORS = ("rules", "llm")


def build(plan: BuildPlan, progress: Progress) -> BuildReport:
    """Load the models that a plan names, and build.

    :raises EgotoolsError: as for :func:`build_snapshot`.
    """
    ontology = load_ontology(plan.ontology)
    extractor = _extractor(plan, ontology)
    return build_snapshot(
        plan.addresses,
        plan.store,
        graph_store=_graph_store(plan.graph_store),
        encoder=load_encoder(plan.encoder, workers=plan.workers),
        extractor=extractor,
        ontology=ontology,
        strict=plan.strict,
        cached=plan.cached,
        workers=plan.workers,
        progress=progress,
    )


def _extractor(plan: BuildPlan, ontology: Ontology) -> Extractor | None:
    if plan.extractor not in _EXTRACTORS:
        raise InvalidArgumentError(
            f"there is no extractor {plan.extractor!r}", subject="--extractor", remedy=f"Use {' or '.join(_EXTRACTORS)}"
        )
    if plan.extractor == "rules":
        return None
    return llm_extractor(ontology, plan.endpoint, cache_file=plan.store / _CACHE if plan.cached else None)


def _graph_store(address: str) -> GraphStore | None:
    if not address:
        return None
    from ingest.stores import open_store

    return open_store(address)


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

    :param addresses: files, folders, glob patterns, live addresses, ``NAME=ADDRESS`` and sources files.
    :param extractor: makes the triples; ``rules.v1`` where None.
    :param graph_store: also written with the graph; its counts must be those of the graph.
    :param strict: fail when a document or record is rejected.
    :param cached: reuse extractions and vectors of unchanged tools from ``store/cache.sqlite``.
    :raises EgotoolsError: nothing is published then, and the snapshot that was published before is unchanged.
    """
    ontology = ontology or load_ontology()
    extractor = extractor or _rules_extractor(ontology, workers)

    def inputs() -> str | None:
        if not cached or graph_store is not None:
            return None
        return inputs_key(addresses, encoder=encoder, extractor=extractor, ontology=ontology, strict=strict)

    key = inputs()
    if key is not None and (store / _CACHE).is_file():
        with ResultCache(store / _CACHE) as cache:
            if (earlier := earlier_build(cache, key, store)) is not None:
                return earlier
    seconds: dict[str, float] = {}
    with _rare_collections():
        with timed(seconds, "read"):
            catalog = read_catalog(addresses, strict=strict, progress=lambda address: progress(f"read {address}", 0, 0))
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(staging_folder(store))
            kept = stack.enter_context(ResultCache(store / _CACHE)) if cached else None
            report = _Build(store, folder, kept, encoder, extractor, ontology, graph_store, progress).run(
                catalog, seconds, strict=strict
            )
            # A file that changed while it was read was read in a state that the key does not tell.
            if kept is not None and key is not None and key == inputs():
                remember_build(kept, key, catalog, report)
    keep_build_report(store, report)
    return report


@dataclass(frozen=True, slots=True)
class _Build:
    """One build: what it reads with, and where it writes."""

    store: Path
    folder: Path
    cache: ResultCache | None
    encoder: Encoder
    extractor: Extractor
    ontology: Ontology
    graph_store: GraphStore | None
    progress: Progress

    def run(self, catalog: Catalog, seconds: dict[str, float], *, strict: bool) -> BuildReport:
        """Extract, link, write and publish; the time of each stage is added to ``seconds``."""
        progress, ontology, extractor = self.progress, self.ontology, self.extractor
        # Sorted by id, so that the snapshot depends neither on the order of the addresses nor on the file system.
        tools = sorted(catalog.tools, key=lambda tool: tool.id)
        encoder = CachedEncoder(self.encoder, self.cache, progress=lambda done, total: progress("encode", done, total))
        graph = build_tool_graph(tools, ontology, extractor, encoder=encoder, cache=self.cache, progress=progress)
        _check_extractions(graph, strict=strict)
        seconds |= graph.seconds
        stored = _write_graph_store(self.graph_store, graph)
        encoding = encoder.seconds
        with timed(seconds, "write"):
            snapshot_id = write_snapshot(
                self.folder,
                _content(graph.tools, graph, ontology, encoder, extractor, catalog),
                progress=lambda stage: progress(f"write {stage}", 0, 0),
            )
        seconds["write"] -= encoder.seconds - encoding
        seconds["encode"] = encoder.seconds
        with timed(seconds, "publish"):
            published = publish(self.store, self.folder, snapshot_id)
        return make_report(
            snapshot_id=snapshot_id,
            folder=published,
            catalog=catalog,
            build=graph,
            stored=stored,
            vectors_reused=encoder.reused,
            vectors_encoded=encoder.encoded,
            seconds=seconds,
        )


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Let the collector of reference cycles run rarely: a build makes millions of objects, nearly none of them in a cycle, and
    each full collection visits all of them.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _rules_extractor(ontology: Ontology, workers: int) -> Extractor:
    from ingest.extract.rules_extractor import RulesExtractor

    return RulesExtractor(ontology, workers=workers)


def _check_extractions(graph: GraphBuild, *, strict: bool) -> None:
    if strict and graph.failed:
        raise CatalogError(
            f"the extraction of {len(graph.failed)} tool(s) failed",
            subject=", ".join(sorted(graph.failed)[:_NAMED]),
            remedy="Correct their documents, or build without --strict",
        )


def _content(
    tools: Sequence[Tool],
    graph: GraphBuild,
    ontology: Ontology,
    encoder: Encoder,
    extractor: Extractor,
    catalog: Catalog,
) -> SnapshotContent:
    return SnapshotContent(
        tools=tools,
        graph=graph.graph,
        ontology=ontology,
        encoder=encoder,
        extractor=extractor.name,
        abbreviations=graph.canonical.abbreviations,
        created_by=f"egotools {version('egotools')}",
        sources=tuple(SourceInfo(**asdict(source)) for source in named_sources(catalog)),
    )


def _write_graph_store(graph_store: GraphStore | None, graph: GraphBuild) -> dict[str, Any]:
    if graph_store is None:
        return {}
    counts = graph_store.write(graph.graph)
    return {"store": graph_store.name, "nodes": counts.nodes, "edges": counts.edges}
