"""Builds: tool documents in, a published snapshot and its report out."""

from __future__ import annotations

import contextlib
import gc
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from inference import EMBEDDED_MODELS, load_encoder
from inference.cached_encoder import CachedEncoder, PooledEncoder
from inference.chat import ChatModel
from inference.encoder import Encoder
from inference.result_cache import ResultCache
from ingest.build_report import (
    BuildReport,
    keep_build_report,
    make_report,
    overlay_report,
)
from ingest.extract.extractor import Extractor
from ingest.overlay.apply_overlay import AppliedOverlays, apply_overlays
from ingest.overlay.overlay_file import Overlay, load_overlays
from ingest.phrases import PhraseReport, Phrases, collect_phrases
from ingest.pipeline import build_tool_graph
from ingest.sources import Catalog, read_catalog
from ingest.sources.catalog import named_sources
from ingest.sources.read_cache import ReadCache
from ingest.sources.sources_file import is_sources_file, overlays_of
from ingest.tool_cache import ToolCache
from ingest.trust.quarantine import Examined, admitted, examine, read_approvals, read_record, write_record
from ontology.errors import CatalogError, EgotoolsError, InvalidArgumentError, NotFoundError
from ontology.ontology import Ontology, load_ontology
from ontology.reporting import Progress, no_progress, timed
from ontology.tool import CONTEXT_PARAMETERS, OVERLAY_ORIGINS, PHRASES, Tool
from retrieval.index.records import Records, Texts
from retrieval.ranking.weights import weights_of
from retrieval.snapshot.history import collect_after
from retrieval.snapshot.manifest import (
    NODE_KEYS,
    TOOLS,
    OverlayInfo,
    RankingSection,
    read_manifest,
    verify_snapshot,
)
from retrieval.snapshot.publish import current_snapshot, publish, staging_folder
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.writer import SnapshotContent, write_snapshot
from services.jobs.plans import BuildPlan, answer_cache, open_chat, phrase_writer

_LOG = logging.getLogger(__name__)
_CACHE = "cache.sqlite"
_ADDED_BY_BUILD = (CONTEXT_PARAMETERS, OVERLAY_ORIGINS, PHRASES)  # metadata of a tool
_NAMED = 20


def build(
    plan: BuildPlan,
    progress: Progress = no_progress,
    *,
    encoder: Encoder | None = None,
    extractor: Extractor | None = None,
    ontology: Ontology | None = None,
    phrases: ChatModel | None = None,  # writes everyday phrases of the tools
    pool: Callable[..., Executor] | None = None,  # of the extraction by rules and an embedded encoder; changes no byte
    complete: Callable[[Catalog], Catalog] | None = None,  # as for :func:`~ingest.sources.catalog.read_catalog`
) -> BuildReport:
    """Build, with the models that a plan names where they are not given.

    :raises EgotoolsError: nothing is published then, and the snapshot that was published before is unchanged.
    """
    ontology = ontology or load_ontology(plan.ontology)
    if encoder is None and pool is not None and plan.encoder in EMBEDDED_MODELS:
        encoder = PooledEncoder(plan.encoder, pool)
    if extractor is None and plan.extractor == "rules":
        from ingest.extract.rules_extractor import RulesExtractor

        extractor = RulesExtractor(ontology, workers=plan.workers, pool=pool)
    elif extractor is None and plan.extractor == "llm":
        from ingest.extract.llm_extractor import LlmExtractor

        chat = open_chat(plan.endpoint, needed_by="the extractor llm")
        extractor = LlmExtractor(chat, ontology, cache=answer_cache(plan.store / _CACHE) if plan.cached else None)
    elif extractor is None:
        problem = f"there is no extractor {plan.extractor!r}"
        raise InvalidArgumentError(problem, subject="--extractor", remedy="Use rules or llm")
    made = _Build(
        plan=plan,
        extractor=extractor,
        encoder=encoder or load_encoder(plan.encoder, workers=plan.workers),
        ontology=ontology,
        phrases=phrases or phrase_writer(plan.phrases, plan.endpoint),
        progress=progress,
        complete=complete,
    )
    return made.run()


def build_snapshot(addresses: Sequence[str], store: Path, *, encoder: Encoder, **options: Any) -> BuildReport:
    """Build with an encoder that is loaded already, and other arguments of :func:`build`; the rest are fields of
    :class:`~services.jobs.plans.BuildPlan`, one worker where left out.
    """
    parts = {name: options.pop(name) for name in ("extractor", "ontology", "phrases", "progress") if name in options}
    plan = BuildPlan(addresses=tuple(addresses), store=store, **{"workers": 1, **options})
    return build(plan, encoder=encoder, **parts)


def overlays_of_sources(addresses: Sequence[str]) -> list[Path]:
    """Return the overlay files that sources files name."""
    files = sorted({Path(address) for address in addresses if is_sources_file(Path(address))})
    return [overlay for file in files for overlay in overlays_of(file)]


def as_read(tool: Tool) -> Tool:
    """Return a tool of a snapshot without what the build adds to its metadata."""
    return replace(tool, metadata={key: each for key, each in tool.metadata.items() if key not in _ADDED_BY_BUILD})


@dataclass(slots=True, kw_only=True)
class _Build:
    """One build: everything that its snapshot depends on, beside the code, and where it is written."""

    plan: BuildPlan
    encoder: Encoder
    extractor: Extractor
    ontology: Ontology
    phrases: ChatModel | None
    progress: Progress
    complete: Callable[[Catalog], Catalog] | None = None
    overlays: Sequence[Overlay] = ()

    def run(self) -> BuildReport:
        """Read the documents, build the tool graph, write the snapshot and publish it."""
        plan, store, file = self.plan, self.plan.store, self.plan.store / _CACHE
        self.overlays = load_overlays([*overlays_of_sources(plan.addresses), *plan.overlays])
        seconds: dict[str, float] = {}
        with contextlib.ExitStack() as stack:
            stack.callback(gc.set_threshold, *gc.get_threshold())
            # Chosen, not tuned: a build makes millions of objects, nearly none in a cycle, and each collection visits all.
            gc.set_threshold(200_000, 20, 50)
            opened = stack.enter_context(ResultCache(file)) if plan.cached and file.is_file() else None
            documents = ReadCache(opened) if plan.cached else None
            with timed(seconds, "read"):
                catalog = read_catalog(
                    plan.addresses,
                    strict=plan.strict,
                    progress=lambda address: self.progress(f"read {address}", 0, 0),
                    cache=documents,
                    complete=self.complete,
                )
                applied = apply_overlays(self.overlays, catalog.tools, self.ontology)
                if not applied.tools:
                    names = ", ".join(overlay.name for overlay in self.overlays)
                    remedy = "Leave `hidden` out for some tools"
                    raise CatalogError("every tool is hidden", subject=names, remedy=remedy)
            folder = stack.enter_context(staging_folder(store))
            kept = stack.enter_context(ResultCache(file)) if plan.cached else None
            if documents is not None and kept is not None:
                documents.write(kept)
            tool_cache = ToolCache(kept, documents.digests if documents is not None else ())
            with timed(seconds, "examine"):
                examined = self._examined(applied.tools, tool_cache)
                if examined.left_out or examined.kept:
                    applied = apply_overlays(self.overlays, admitted(catalog.tools, examined), self.ontology)
                catalog = replace(catalog, tools=applied.tools)
            seconds["read"] += seconds.pop("examine")
            report = replace(self._write(catalog, applied, folder, kept, tool_cache, seconds), findings=examined.report)
            tool_cache.published(report.snapshot_id, catalog.tools)
        keep_build_report(store, report)
        if plan.published:
            collect_after(store, plan.keep)
        return report

    def _examined(self, tools: tuple[Tool, ...], cache: ToolCache) -> Examined:
        """Examine the tools against what the store published, found and released before. The record is written before
        anything is published: a build that is cut off in between must not let a tool that it left out pass for a new
        one in the next."""
        store, whole = self.plan.store, True
        try:  # as it was published, by somebody who is trusted: what is kept of it is published again
            verify_snapshot(current_snapshot(store))
        except EgotoolsError:
            whole = False
        published = _Published(store, whole=whole)
        examined = examine(
            tools,
            self.plan.findings,
            previous=published,
            earlier=read_record(store),
            approvals=read_approvals(store),
            keep=whole,
            unchanged=cache.unchanged(published.snapshot_id, tools),
            cache=cache,
        )
        write_record(store, examined.record)
        if examined.refused is not None:
            raise examined.refused
        return examined

    def _write(
        self,
        catalog: Catalog,
        applied: AppliedOverlays,
        folder: Path,
        cache: ResultCache | None,
        tool_cache: ToolCache,
        seconds: dict[str, float],
    ) -> BuildReport:
        """Extract, link, write and publish; the time of each stage is added to ``seconds``."""
        plan, progress = self.plan, self.progress
        encoder = CachedEncoder(self.encoder, cache, progress=lambda done, total: progress("encode", done, total))
        # Sorted by id, so that the snapshot depends neither on the order of the addresses nor on the file system.
        tools = sorted(catalog.tools, key=lambda tool: tool.id)
        phrases: Mapping[str, Phrases] = {}
        written = PhraseReport() if self.phrases is not None or plan.phrases_file is not None else None
        with timed(seconds, "phrases"):
            if written is not None:
                asked: dict[str, Any] = {"file": plan.phrases_file, "model": self.phrases, "cache": cache}
                phrases = collect_phrases(tools, encoder, **asked, report=written)
        seconds["phrases"] -= encoder.seconds
        graph = build_tool_graph(
            tools,
            self.ontology,
            self.extractor,
            cache=tool_cache,
            declared=applied.declarations,
            phrases=phrases,
            aliases={name: source.aliases for source in named_sources(catalog) for name in source.namespaces},
            progress=progress,
        )
        if plan.strict and graph.failed:
            named, problem = sorted(graph.failed)[:_NAMED], f"the extraction of {len(graph.failed)} tool(s) failed"
            raise CatalogError(
                problem, subject=", ".join(named), remedy="Correct their documents, or build without --strict"
            )
        seconds |= graph.seconds
        encoding = encoder.seconds
        with timed(seconds, "write"):
            weights, told = _weights(plan.store)
            content = SnapshotContent(
                tools=graph.tools,
                graph=graph.graph,
                ontology=self.ontology,
                encoder=encoder,
                extractor=self.extractor.name,
                abbreviations=graph.canonical.abbreviations,
                created_by=f"egotools {version('egotools')}",
                sources=named_sources(catalog),
                overlays=tuple(OverlayInfo(name=overlay.name, sha256=overlay.sha256) for overlay in self.overlays),
                boosts=applied.declarations.boosts,
                value_shapes=graph.value_shapes,
                ranking=weights,
            )
            snapshot_id = write_snapshot(
                folder, content, cache=cache, progress=lambda stage: progress(f"write {stage}", 0, 0)
            )
        seconds["write"] -= encoder.seconds - encoding
        seconds["encode"] = encoder.seconds
        with timed(seconds, "publish"):
            folder = publish(plan.store, folder, snapshot_id, current=plan.published, signing_key=plan.signing_key)
        return make_report(
            snapshot_id=snapshot_id,
            folder=folder,
            catalog=catalog,
            build=graph,
            vectors_reused=encoder.reused,
            vectors_encoded=encoder.encoded,
            seconds=seconds,
            overlay=overlay_report(self.overlays, applied, graph),
            phrases=written,
            weights=told,
        )


class _Published(Mapping[str, Tool]):
    """The tools of the published snapshot, as they were read, by id; none where there is no snapshot, or one that
    cannot be read. Of one that is as it was published, each is decoded when it is asked for."""

    def __init__(self, store: Path, *, whole: bool) -> None:
        self.snapshot_id = ""
        self._numbers: dict[str, int] = {}
        try:
            folder = current_snapshot(store)
            self._tools: Sequence[Tool] | Records[Tool] = Records(folder / TOOLS, Tool.from_json)
            if whole:
                keys = Texts(folder / NODE_KEYS)
                ids = [keys[number].removeprefix("tool:") for number in range(len(self._tools))]
                self.snapshot_id = folder.name
            else:
                self._tools = list(self._tools)
                ids = [tool.id for tool in self._tools]
            self._numbers = {id_: number for number, id_ in enumerate(ids)}
        except NotFoundError:
            return
        except (EgotoolsError, OSError) as error:
            problem = "%s: changed descriptions are not found, as the published snapshot cannot be read: %s"
            _LOG.warning(problem, store, error)

    def __getitem__(self, tool_id: str) -> Tool:
        return as_read(self._tools[self._numbers[tool_id]])

    def __contains__(self, tool_id: object) -> bool:
        return tool_id in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def _weights(store: Path) -> tuple[RankingSection | None, str]:
    """The tuned weights of the published snapshot, which a build keeps (None: the shipped ones), and where they come from, in a sentence."""
    try:
        if read_manifest(current_snapshot(store)).ranking is None:
            return None, ""
    except EgotoolsError:  # there is none, or a damaged one, which a build replaces
        return None, ""
    try:
        before = open_snapshot(store)
        weights_of(before)  # this egotools can rank with them
    except EgotoolsError as error:
        return None, f"the shipped ones: the tuned ones of the published snapshot cannot be read: {error.problem}"
    return before.manifest.ranking, f"tuned, as those of snapshot {before.id}; egotools tune --rollback drops them"
