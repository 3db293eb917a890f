"""Builds: tool documents in, a published snapshot and its report out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from inference import EMBEDDED_MODELS, load_encoder
from inference.cached_encoder import CachedEncoder
from inference.encoder import Encoder
from inference.pooled_encoder import PooledEncoder
from inference.result_cache import ResultCache
from ingest.build_report import BuildReport, keep_build_report, make_report, overlay_report
from ingest.extract.extractor import Extractor
from ingest.linking.observed_values import ObservedShapes, read_observed_values
from ingest.overlay.apply_overlay import AppliedOverlays, apply_overlays
from ingest.overlay.overlay_file import load_overlays
from ingest.pipeline import GraphBuild, build_tool_graph
from ingest.sources import Catalog, read_catalog
from ingest.sources.catalog import DocumentReport
from ingest.sources.file_state import file_state
from ingest.sources.named_sources import named_sources
from ingest.sources.read_cache import ReadCache
from ingest.sources.sources_file import is_sources_file, overlays_of
from ingest.trust.approvals import APPROVALS
from ingest.trust.quarantine import Examined, admitted, read_record
from ontology.errors import CatalogError, InvalidArgumentError
from ontology.ontology import Ontology
from ontology.ontology_file import load_ontology
from ontology.progress import Progress, no_progress, timed
from retrieval.snapshot.collect import collect_after
from retrieval.snapshot.manifest import OverlayInfo
from retrieval.snapshot.publish import publish, set_aside_changes, staging_folder
from retrieval.snapshot.writer import SnapshotContent, write_snapshot
from services.jobs.build_inputs import BuildInputs
from services.jobs.build_weights import build_weights, tuned_snapshot
from services.jobs.examination import examine_tools
from services.jobs.model_factory import answer_cache, llm_extractor, open_chat
from services.jobs.plans import DEFAULT_KEEP, BuildPlan
from services.jobs.rare_collections import rare_collections
from services.jobs.unchanged import earlier_build, inputs_key, remember_build

if TYPE_CHECKING:
    from ingest.stores import GraphStore

__all__ = ["build", "build_snapshot", "overlays_of_sources"]

_NAMED = 20
_CACHE = "cache.sqlite"
_EXTRACTORS = ("rules", "llm")


def build(
    plan: BuildPlan,
    progress: Progress,
    *,
    finished: Callable[[DocumentReport], None] | None = None,
    pool: Callable[..., Executor] | None = None,
    complete: Callable[[Catalog], Catalog] | None = None,
) -> BuildReport:
    """Load the models that a plan names, and build.

    :param finished: called with the counts of each document when it is read.
    :param pool: makes what runs the extraction by rules and an embedded encoder; None for this machine. No byte depends on it.
    :param complete: as for :func:`build_snapshot`.
    :raises EgotoolsError: as for :func:`build_snapshot`.
    """
    if plan.graph_store and not plan.published:
        problem, remedy = "it replaces the graph of a database, which others read", "Leave one of the two out"
        raise InvalidArgumentError(problem, subject="--graph-store with --no-publish", remedy=remedy)
    ontology = load_ontology(plan.ontology)
    extractor = _extractor(plan, ontology, pool)
    return build_snapshot(
        plan.addresses,
        plan.store,
        graph_store=_graph_store(plan.graph_store),
        encoder=_encoder(plan, pool),
        extractor=extractor,
        ontology=ontology,
        overlays=plan.overlays,
        strict=plan.strict,
        cached=plan.cached,
        published=plan.published,
        observed=plan.observed,
        keep=plan.keep,
        weights=plan.weights,
        signing_key=plan.signing_key,
        workers=plan.workers,
        findings=plan.findings,
        progress=progress,
        finished=finished,
        complete=complete,
    )


def _encoder(plan: BuildPlan, pool: Callable[..., Executor] | None) -> Encoder:
    if pool is None or plan.encoder not in EMBEDDED_MODELS:
        return load_encoder(plan.encoder, workers=plan.workers)
    return PooledEncoder(plan.encoder, pool)


def _extractor(plan: BuildPlan, ontology: Ontology, pool: Callable[..., Executor] | None) -> Extractor | None:
    """The extractor that a plan names; None for ``rules.v1`` on this machine."""
    if plan.extractor not in _EXTRACTORS:
        problem = f"there is no extractor {plan.extractor!r}"
        raise InvalidArgumentError(problem, subject="--extractor", remedy=f"Use {' or '.join(_EXTRACTORS)}")
    if plan.extractor == "llm":
        chat = open_chat(plan.endpoint, needed_by="the extractor llm")
        return llm_extractor(ontology, chat, cache=answer_cache(plan.store / _CACHE) if plan.cached else None)
    return _rules_extractor(ontology, plan.workers, pool) if pool is not None else None


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
    overlays: Sequence[Path] = (),
    strict: bool = False,
    cached: bool = True,
    published: bool = True,
    observed: Path | None = None,
    keep: int = DEFAULT_KEEP,
    weights: str = "shipped",
    signing_key: Path | None = None,
    workers: int = 1,
    findings: str = "report",
    progress: Progress = no_progress,
    finished: Callable[[DocumentReport], None] | None = None,
    complete: Callable[[Catalog], Catalog] | None = None,
) -> BuildReport:
    """Read the documents, build the tool graph, write the snapshot and publish it in ``store``.

    :param addresses: files, folders, glob patterns, live addresses, ``NAME=ADDRESS`` and sources files.
    :param extractor: makes the triples; ``rules.v1`` where None.
    :param graph_store: also written with the graph; its counts must be those of the graph.
    :param overlays: overlay files, in the order in which they are applied, after those that sources files name.
    :param strict: fail when a document or record is rejected.
    :param observed: file of values that were observed in use; see :func:`ingest.linking.observed_values.read_observed_values`.
    :param cached: reuse what was read of unchanged files, and extractions and vectors of unchanged tools, from ``store/cache.sqlite``.
    :param published: False to keep the snapshot in the store beside the published one.
    :param keep: how many snapshots the store keeps when this one is published; 0 for all.
    :param weights: one of :data:`services.jobs.build_weights.WEIGHTS`; the command ``build`` keeps.
    :param signing_key: as for :func:`retrieval.snapshot.publish.publish`.
    :param findings: one of :data:`ingest.trust.quarantine.POLICIES`; the command ``build`` reports.
    :param finished: called with the counts of each document when it is read.
    :param complete: as for :func:`~ingest.sources.catalog.read_catalog`.
    :raises EgotoolsError: nothing is published then, and the snapshot that was published before is unchanged.
    """
    ontology = ontology or load_ontology()
    inputs = BuildInputs(
        addresses=addresses,
        encoder=encoder,
        extractor=extractor or _rules_extractor(ontology, workers),
        ontology=ontology,
        overlays=load_overlays([*overlays_of_sources(addresses), *overlays]),
        observed=observed,
        strict=strict,
        findings=findings,
        approvals=file_state(store / APPROVALS).digest,
        tuned=tuned_snapshot(store, weights),
    )
    key = inputs_key(inputs) if cached and graph_store is None else None
    if key is not None and (store / _CACHE).is_file() and read_record(store).policy == findings:
        with ResultCache(store / _CACHE) as cache:
            earlier = earlier_build(cache, key, store, published=published, signing_key=signing_key)
            if earlier is not None and (complete is None or not earlier.rejected_tools.all):
                return earlier
    seconds: dict[str, float] = {}
    with rare_collections(), contextlib.ExitStack() as stack:
        opened = stack.enter_context(ResultCache(store / _CACHE)) if cached and (store / _CACHE).is_file() else None
        documents = ReadCache(opened) if cached else None
        with timed(seconds, "read"):
            read = _read(inputs, store, documents, progress, finished, complete)
        folder = stack.enter_context(staging_folder(store))
        kept = stack.enter_context(ResultCache(store / _CACHE)) if cached else None
        if documents is not None and kept is not None:
            documents.write(kept)
        build = _Build(inputs, store, folder, kept, graph_store, published, signing_key, progress)
        report = replace(build.run(read, seconds), findings=read.examined.report)
        # A file that changed while it was read was read in a state that the key does not tell; nor does it tell what was published before.
        if (
            kept is not None
            and key is not None
            and key == inputs_key(inputs)
            and not (report.findings.kept or (complete and read.catalog.unread))
        ):
            remember_build(kept, key, read.catalog, report)
    keep_build_report(store, report)
    if published:
        set_aside_changes(store)
        collect_after(store, keep)
    return report


class _Read(NamedTuple):
    """The catalogue without hidden and quarantined tools, what the overlays declare, the shapes of observed values, and what was found."""

    catalog: Catalog
    applied: AppliedOverlays
    observed: ObservedShapes | None
    examined: Examined


def _read(
    inputs: BuildInputs,
    store: Path,
    cache: ReadCache | None,
    progress: Progress,
    finished: Callable[[DocumentReport], None] | None,
    complete: Callable[[Catalog], Catalog] | None,
) -> _Read:
    """Read the documents, and apply the overlays.

    :raises CatalogError: when the overlays hide every tool, and as :func:`read_catalog`.
    """
    catalog = read_catalog(
        inputs.addresses,
        strict=inputs.strict,
        progress=lambda address: progress(f"read {address}", 0, 0),
        finished=finished,
        cache=cache,
        complete=complete,
    )
    applied = apply_overlays(inputs.overlays, catalog.tools, inputs.ontology)
    if not applied.tools:
        names = ", ".join(overlay.name for overlay in inputs.overlays)
        raise CatalogError("every tool is hidden", subject=names, remedy="Leave `hidden` out for some tools")
    examined = examine_tools(applied.tools, store, inputs.findings)
    if examined.left_out or examined.kept:
        applied = apply_overlays(inputs.overlays, admitted(catalog.tools, examined), inputs.ontology)
    observed = read_observed_values(inputs.observed) if inputs.observed else None
    return _Read(replace(catalog, tools=applied.tools), applied, observed, examined)


@dataclass(frozen=True, slots=True)
class _Build:
    """One build: what it reads with, and where it writes."""

    inputs: BuildInputs
    store: Path
    folder: Path
    cache: ResultCache | None
    graph_store: GraphStore | None
    published: bool
    signing_key: Path | None
    progress: Progress

    def run(self, read: _Read, seconds: dict[str, float]) -> BuildReport:
        """Extract, link, write and publish; the time of each stage is added to ``seconds``."""
        inputs, progress = self.inputs, self.progress
        encoder = CachedEncoder(
            inputs.encoder, self.cache, progress=lambda done, total: progress("encode", done, total)
        )
        graph = self._graph(read)
        seconds |= graph.seconds
        stored = _write_graph_store(self.graph_store, graph)
        encoding = encoder.seconds
        with timed(seconds, "write"):
            weights = build_weights(self.store, inputs.tuned, graph.tools)
            snapshot_id = write_snapshot(
                self.folder,
                replace(_content(inputs, read, graph, encoder), ranking=weights.section),
                progress=lambda stage: progress(f"write {stage}", 0, 0),
            )
        seconds["write"] -= encoder.seconds - encoding
        seconds["encode"] = encoder.seconds
        with timed(seconds, "publish"):
            folder = publish(self.store, self.folder, snapshot_id, current=self.published, signing_key=self.signing_key)
        return make_report(
            snapshot_id=snapshot_id,
            folder=folder,
            catalog=read.catalog,
            build=graph,
            stored=stored,
            vectors_reused=encoder.reused,
            vectors_encoded=encoder.encoded,
            seconds=seconds,
            overlay=overlay_report(inputs.overlays, read.applied, graph),
            weights=weights.told,
        )

    def _graph(self, read: _Read) -> GraphBuild:
        catalog = read.catalog
        graph = build_tool_graph(
            # Sorted by id, so that the snapshot depends neither on the order of the addresses nor on the file system.
            sorted(catalog.tools, key=lambda tool: tool.id),
            self.inputs.ontology,
            self.inputs.extractor,
            cache=self.cache,
            declared=read.applied.declarations,
            observed=read.observed,
            aliases={name: source.aliases for source in named_sources(catalog) for name in source.namespaces},
            progress=self.progress,
        )
        _check_extractions(graph, strict=self.inputs.strict)
        return graph


def _rules_extractor(ontology: Ontology, workers: int, pool: Callable[..., Executor] | None = None) -> Extractor:
    from ingest.extract.rules_extractor import RulesExtractor

    return RulesExtractor(ontology, workers=workers, pool=pool)


def _check_extractions(graph: GraphBuild, *, strict: bool) -> None:
    if strict and graph.failed:
        raise CatalogError(
            f"the extraction of {len(graph.failed)} tool(s) failed",
            subject=", ".join(sorted(graph.failed)[:_NAMED]),
            remedy="Correct their documents, or build without --strict",
        )


def overlays_of_sources(addresses: Sequence[str]) -> list[Path]:
    """Return the overlay files that sources files name."""
    files = sorted({Path(address) for address in addresses if is_sources_file(Path(address))})
    return [overlay for file in files for overlay in overlays_of(file)]


def _content(inputs: BuildInputs, read: _Read, graph: GraphBuild, encoder: Encoder) -> SnapshotContent:
    return SnapshotContent(
        tools=graph.tools,
        graph=graph.graph,
        ontology=inputs.ontology,
        encoder=encoder,
        extractor=inputs.extractor.name,
        abbreviations=graph.canonical.abbreviations,
        created_by=f"egotools {version('egotools')}",
        sources=named_sources(read.catalog),
        overlays=tuple(OverlayInfo(name=overlay.name, sha256=overlay.sha256) for overlay in inputs.overlays),
        boosts=read.applied.declarations.boosts,
        value_shapes=graph.value_shapes,
    )


def _write_graph_store(graph_store: GraphStore | None, graph: GraphBuild) -> dict[str, Any]:
    if graph_store is None:
        return {}
    counts = graph_store.write(graph.graph)
    return {"store": graph_store.name, "nodes": counts.nodes, "edges": counts.edges}
