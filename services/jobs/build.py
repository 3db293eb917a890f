"""Builds: tool documents in, a published snapshot and its report out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from inference import load_encoder
from inference.cached_encoder import CachedEncoder
from inference.encoder import Encoder
from inference.result_cache import ResultCache
from ingest.build_report import BuildReport, keep_build_report, make_report, overlay_report
from ingest.extract.extractor import Extractor
from ingest.linking.observed_values import read_observed_values
from ingest.overlay.apply_overlay import AppliedOverlays, apply_overlays
from ingest.overlay.overlay_file import load_overlays
from ingest.overlay.overlay_rules import Overlay
from ingest.pipeline import GraphBuild, build_tool_graph
from ingest.sources import Catalog, read_catalog
from ingest.sources.catalog import DocumentReport
from ingest.sources.named_sources import named_sources
from ingest.sources.sources_file import is_sources_file, overlays_of
from ingest.usage.usage_build import UsageBuild, UsageMaker
from ontology.errors import CatalogError, InvalidArgumentError
from ontology.ontology import Ontology
from ontology.ontology_file import load_ontology
from ontology.progress import Progress, no_progress, timed
from retrieval.snapshot.manifest import OverlayInfo
from retrieval.snapshot.publish import publish, staging_folder
from retrieval.snapshot.writer import SnapshotContent, write_snapshot
from services.jobs.model_factory import answer_cache, llm_extractor, open_chat, usage_maker
from services.jobs.plans import BuildPlan

if TYPE_CHECKING:
    from ingest.stores import GraphStore

__all__ = ["build", "build_snapshot"]

_NAMED = 20
_CACHE = "cache.sqlite"
_EXTRACTORS = ("rules", "llm")
_USAGE = ("rules", "llm", "none")


def build(
    plan: BuildPlan, progress: Progress, *, finished: Callable[[DocumentReport], None] | None = None
) -> BuildReport:
    """Load the models that a plan names, and build.

    :param finished: called with the counts of each document when it is read.
    :raises EgotoolsError: as for :func:`build_snapshot`.
    """
    if plan.graph_store and not plan.published:
        problem, remedy = "it replaces the graph of a database, which others read", "Leave one of the two out"
        raise InvalidArgumentError(problem, subject="--graph-store with --no-publish", remedy=remedy)
    ontology = load_ontology(plan.ontology)
    models = _models(plan, ontology)
    return build_snapshot(
        plan.addresses,
        plan.store,
        graph_store=_graph_store(plan.graph_store),
        encoder=load_encoder(plan.encoder, workers=plan.workers),
        extractor=models.extractor,
        usage=models.usage,
        ontology=ontology,
        overlays=plan.overlays,
        strict=plan.strict,
        cached=plan.cached,
        published=plan.published,
        observed=plan.observed,
        workers=plan.workers,
        progress=progress,
        finished=finished,
    )


class _Models(NamedTuple):
    """The extractor, or None for ``rules.v1``; and what makes the usage lines, or None for none."""

    extractor: Extractor | None
    usage: UsageMaker | None


def _models(plan: BuildPlan, ontology: Ontology) -> _Models:
    """The parts of a build that may use the chat model. They share it, so that its budget is that of the build."""
    for option, name, known in (
        ("--extractor", plan.extractor, _EXTRACTORS),
        ("--usage", plan.usage, _USAGE),
    ):
        if name not in known:
            problem = f"there is no {option.removeprefix('--')} {name!r}"
            raise InvalidArgumentError(problem, subject=option, remedy=f"Use {' or '.join(known)}")
    needed = [option for option, name in (("extractor", plan.extractor), ("usage", plan.usage)) if name == "llm"]
    chat = open_chat(plan.endpoint, needed_by=f"the {needed[0]} llm") if needed else None
    cache = answer_cache(plan.store / _CACHE) if chat is not None and plan.cached else None
    extractor = llm_extractor(ontology, chat, cache=cache) if chat is not None and plan.extractor == "llm" else None
    maker = usage_maker(
        plan.usage,
        ontology,
        chat if plan.usage == "llm" else None,
        cache=cache,
        max_tools=plan.usage_max_tools,
    )
    return _Models(extractor, maker)


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
    usage: UsageMaker | None = None,
    ontology: Ontology | None = None,
    graph_store: GraphStore | None = None,
    overlays: Sequence[Path] = (),
    strict: bool = False,
    cached: bool = True,
    published: bool = True,
    observed: Path | None = None,
    workers: int = 1,
    progress: Progress = no_progress,
    finished: Callable[[DocumentReport], None] | None = None,
) -> BuildReport:
    """Read the documents, build the tool graph, write the snapshot and publish it in ``store``.

    :param addresses: files, folders, glob patterns, live addresses, ``NAME=ADDRESS`` and sources files.
    :param extractor: makes the triples; ``rules.v1`` where None.
    :param usage: makes the usage lines; None for none.
    :param graph_store: also written with the graph; its counts must be those of the graph.
    :param overlays: overlay files, in the order in which they are applied, after those that sources files name.
    :param strict: fail when a document or record is rejected.
    :param observed: file of values that were observed in use; see :func:`ingest.linking.observed_values.read_observed_values`.
    :param cached: reuse extractions and vectors of unchanged tools from ``store/cache.sqlite``.
    :param published: False to keep the snapshot in the store beside the published one.
    :param finished: called with the counts of each document when it is read.
    :raises EgotoolsError: nothing is published then, and the snapshot that was published before is unchanged.
    """
    ontology = ontology or load_ontology()
    seconds: dict[str, float] = {}
    rules = load_overlays([*_overlays_of_sources(addresses), *overlays])
    with timed(seconds, "read"):
        catalog = read_catalog(
            addresses,
            strict=strict,
            progress=lambda address: progress(f"read {address}", 0, 0),
            finished=finished,
        )
        applied = _apply(rules, catalog, ontology)
        catalog = replace(catalog, tools=applied.tools)
    shapes = read_observed_values(observed) if observed else None
    # Sorted by id, so that the snapshot depends neither on the order of the addresses nor on the file system.
    tools = sorted(catalog.tools, key=lambda tool: tool.id)
    with staging_folder(store) as folder:
        with ResultCache(store / _CACHE) if cached else contextlib.nullcontext() as cache:
            cached_encoder = CachedEncoder(encoder, cache, progress=lambda done, total: progress("encode", done, total))
            extractor = extractor or _rules_extractor(ontology, workers)
            graph = build_tool_graph(
                tools,
                ontology,
                extractor,
                encoder=cached_encoder,
                cache=cache,
                declared=applied.declarations,
                observed=shapes,
                aliases={name: source.aliases for source in named_sources(catalog) for name in source.namespaces},
                progress=progress,
            )
            _check_extractions(graph, strict=strict)
            seconds |= graph.seconds
            with timed(seconds, "usage"):
                usage_build = usage.make(graph.tools, progress) if usage is not None else None
            stored = _write_graph_store(graph_store, graph)
            encoding = cached_encoder.seconds
            with timed(seconds, "write"):
                snapshot_id = write_snapshot(
                    folder,
                    _content(graph, ontology, cached_encoder, extractor, catalog, rules, applied, usage_build),
                    progress=lambda stage: progress(f"write {stage}", 0, 0),
                )
            seconds["write"] -= cached_encoder.seconds - encoding
            seconds["encode"] = cached_encoder.seconds
        with timed(seconds, "publish"):
            kept = publish(store, folder, snapshot_id, current=published)
    report = make_report(
        snapshot_id=snapshot_id,
        folder=kept,
        catalog=catalog,
        build=graph,
        usage=usage_build,
        stored=stored,
        vectors_reused=cached_encoder.reused,
        vectors_encoded=cached_encoder.encoded,
        seconds=seconds,
        overlay=overlay_report(rules, applied, graph),
    )
    keep_build_report(store, report)
    return report


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


def _overlays_of_sources(addresses: Sequence[str]) -> list[Path]:
    files = sorted({Path(address) for address in addresses if is_sources_file(Path(address))})
    return [overlay for file in files for overlay in overlays_of(file)]


def _apply(rules: Sequence[Overlay], catalog: Catalog, ontology: Ontology) -> AppliedOverlays:
    """Apply the overlays to a catalogue.

    :raises CatalogError: when they hide every tool.
    """
    applied = apply_overlays(rules, catalog.tools, ontology)
    if not applied.tools:
        names = ", ".join(overlay.name for overlay in rules)
        raise CatalogError("every tool is hidden", subject=names, remedy="Leave `hidden` out for some tools")
    return applied


def _content(
    graph: GraphBuild,
    ontology: Ontology,
    encoder: Encoder,
    extractor: Extractor,
    catalog: Catalog,
    rules: Sequence[Overlay],
    applied: AppliedOverlays,
    usage: UsageBuild | None,
) -> SnapshotContent:
    return SnapshotContent(
        tools=graph.tools,
        graph=graph.graph,
        ontology=ontology,
        encoder=encoder,
        extractor=extractor.name,
        abbreviations=graph.canonical.abbreviations,
        created_by=f"egotools {version('egotools')}",
        usage_maker=usage.maker if usage is not None else "",
        usage=usage.lines if usage is not None else (),
        sources=named_sources(catalog),
        overlays=tuple(OverlayInfo(name=overlay.name, sha256=overlay.sha256) for overlay in rules),
        boosts=applied.declarations.boosts,
        value_shapes=graph.value_shapes,
    )


def _write_graph_store(graph_store: GraphStore | None, graph: GraphBuild) -> dict[str, Any]:
    if graph_store is None:
        return {}
    counts = graph_store.write(graph.graph)
    return {"store": graph_store.name, "nodes": counts.nodes, "edges": counts.edges}
