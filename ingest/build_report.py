"""The report of a build: what was read, rejected, reused, and how long each stage took. It is kept in the store."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ingest.overlay.apply_overlay import AppliedOverlays
from ingest.overlay.overlay_file import Overlay
from ingest.phrases import PhraseReport
from ingest.pipeline import GraphBuild
from ingest.sources import Catalog
from ingest.sources.catalog import DocumentReport, named_sources
from ingest.trust.quarantine import FindingsReport
from ontology.errors import InvalidArgumentError, StorageError
from ontology.files import write_file
from ontology.names import words
from ontology.tool import NamedSource, Tool

_LOG = logging.getLogger(__name__)
_EXAMPLES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The number of nodes and of edges."""

    nodes: int
    edges: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedTools:
    """The records of documents that were rejected; ``all`` has (subject, reason, detail)."""

    by_reason: dict[str, int]
    all: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TripleReport:
    """The triples: predicate → count of those ``kept``, before equal ones were merged, and why tools ``failed``, by id."""

    kept: dict[str, int]
    rejected_by_reason: dict[str, int]
    rejected_examples: tuple[tuple[str, ...], ...]  # (head, predicate, tail, reason, detail), at most 20
    tools_failed: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayReport:
    """What the overlay files did: (name, SHA-256) in their order, ids of hidden tools, kind of change → number of
    tools, and ``FILE:LINE: …`` for each rule that matches nothing."""

    files: tuple[tuple[str, str], ...]
    hidden: tuple[str, ...]
    changes: dict[str, int]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseReport:
    """How many extractions and vectors came from the cache, and of how many."""

    extractions: int
    of_extractions: int
    vectors: int
    of_vectors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What a build did. Its JSON form is printed by ``--json``, and kept in ``reports/<snapshot id>.json`` of the store."""

    snapshot_id: str
    folder: Path  # of the published snapshot
    documents: tuple[DocumentReport, ...]
    sources: tuple[NamedSource, ...] = ()  # the named sources, as in the manifest of the snapshot
    tools: int  # number of tools
    # (id in its document, id in the catalogue) of tools whose ids clash between documents
    renamed: tuple[tuple[str, str], ...]
    rejected_tools: RejectedTools
    triples: TripleReport
    graph: Counts
    # (namespace, input, number of tools that take it) of the inputs that name the surroundings
    context_parameters: tuple[tuple[str, str, int], ...] = ()
    overlay: OverlayReport | None = None
    phrases: PhraseReport | None = None
    # groups of tools of one namespace that their documents hardly tell apart
    near_duplicates: tuple[tuple[str, ...], ...] = ()
    # places in documents that could mislead a model, and the tools that were left out for them
    findings: FindingsReport = field(default_factory=FindingsReport)
    # where the ranking weights come from, one sentence; empty for the shipped ones, where nothing was tuned
    weights: str = ""
    reused: ReuseReport
    seconds: dict[str, float]  # stage → seconds

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        report: dict[str, Any] = _codec().dump_python(self, mode="json")
        return report


@cache
def _codec() -> TypeAdapter[BuildReport]:
    return TypeAdapter(BuildReport)


def report_file(store: Path, name: str) -> Path:
    """Return the path of a report in a store; ``<snapshot id>.json`` is the name of a build report."""
    return store / "reports" / name


def keep_report(store: Path, name: str, text: str) -> Path | None:
    """Write a report beside the snapshots: it holds times, so it cannot be a part of them. None where that fails, which stops nothing."""
    try:
        return write_file(report_file(store, name), text)
    except StorageError as error:
        _LOG.warning("the report could not be written: %s", error)
        return None


def keep_build_report(store: Path, report: BuildReport) -> None:
    """Write ``reports/<snapshot id>.json``."""
    keep_report(store, f"{report.snapshot_id}.json", json.dumps(report.to_json(), ensure_ascii=False, indent=1) + "\n")


def read_build_report(store: Path, snapshot_id: str) -> BuildReport | None:
    """The report of a published snapshot; None when it is not there or is no JSON.

    :raises InvalidArgumentError: when it is of another snapshot, or is no build report.
    """
    path = report_file(store, f"{snapshot_id}.json")
    try:
        row = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (OSError, ValueError) as error:
        _LOG.warning("%s: the build report cannot be read, so rejected records are unknown: %s", path, error)
        return None
    if not isinstance(row, dict):
        return None
    if row.get("snapshot_id") != snapshot_id:
        problem, remedy = f"the build report is of snapshot {row.get('snapshot_id')}", "Give its own report"
        raise InvalidArgumentError(problem, subject=f"snapshot {snapshot_id}", remedy=remedy)
    return build_report_from(row)


def build_report_from(row: Any) -> BuildReport:
    """The report of its JSON form.

    :raises InvalidArgumentError: when it is no build report.
    """
    try:
        return _codec().validate_json(json.dumps(row))  # as JSON, where lists may be tuples of strict types
    except (ValidationError, TypeError, RecursionError) as error:
        subject = f"snapshot {row.get('snapshot_id') if isinstance(row, dict) else ''}"
        place = error.errors()[0]["loc"] if isinstance(error, ValidationError) else "no JSON"
        problem = f"the build report lacks what a build writes: {place}"
        raise InvalidArgumentError(problem, subject=subject, remedy="Build again") from error


def make_report(
    *,
    snapshot_id: str,
    folder: Path,
    catalog: Catalog,
    build: GraphBuild,
    vectors_reused: int,
    vectors_encoded: int,
    seconds: dict[str, float],
    overlay: OverlayReport | None = None,
    phrases: PhraseReport | None = None,
    weights: str = "",
) -> BuildReport:
    """Make the report of a build from the results of its stages."""
    rejected = build.rejected
    namespaces = {tool.id: tool.namespace for tool in build.tools}
    context = Counter((namespaces[tool], name) for tool, names in build.context_parameters.items() for name in names)
    return BuildReport(
        snapshot_id=snapshot_id,
        folder=folder,
        documents=catalog.documents,
        sources=named_sources(catalog),
        tools=len(catalog.tools),
        renamed=catalog.renamed,
        rejected_tools=RejectedTools(
            by_reason=catalog.rejected_by_reason(),
            all=tuple((record.subject, record.reason, record.detail) for record in catalog.rejected),
        ),
        triples=TripleReport(
            kept=dict(sorted(build.kept.items())),
            rejected_by_reason=dict(sorted(Counter(one.reason for one in rejected).items())),
            rejected_examples=tuple((*one.triple.key, one.reason, one.detail) for one in rejected[:_EXAMPLES]),
            tools_failed=build.failed,
        ),
        graph=Counts(nodes=len(build.graph.nodes), edges=len(build.graph.heads)),
        context_parameters=tuple((*key, count) for key, count in sorted(context.items())),
        overlay=overlay,
        phrases=phrases,
        near_duplicates=near_duplicates(catalog.tools),
        weights=weights,
        reused=ReuseReport(
            extractions=build.reused,
            of_extractions=len(catalog.tools),
            vectors=vectors_reused,
            of_vectors=vectors_reused + vectors_encoded,
        ),
        seconds={stage: round(spent, 3) for stage, spent in seconds.items()},
    )


def overlay_report(overlays: Sequence[Overlay], applied: AppliedOverlays) -> OverlayReport | None:
    """Return what overlay files did; None without any."""
    if not overlays:
        return None
    return OverlayReport(
        files=tuple((overlay.name, overlay.sha256) for overlay in overlays),
        hidden=applied.hidden,
        changes=applied.changes,
        warnings=applied.warnings,
    )


_FEWEST_WORDS = 5  # a shorter text says too little to be compared
_ARTICLES = frozenset("a an the of to in for".split())  # others (not, all, before) tell tools apart
_VERSION = re.compile(r"v\d+(?:(?:alpha|beta|preview)\d*)?|alpha|beta")  # a preview alone is another object


def near_duplicates(tools: Iterable[Tool]) -> tuple[tuple[str, ...], ...]:
    """Groups of ids in one namespace with one method and path, and the same name and inputs, or the same words but for
    spelling and version; sorted. Time is linear in the tools."""
    by_call: defaultdict[object, list[Tool]] = defaultdict(list)
    for tool in sorted(tools, key=lambda tool: tool.id):
        path = re.sub(r"\{[^}]*\}", "{}", str(tool.metadata.get("path", ""))).lower().split("/")
        segments = tuple(part for part in path if part and not _VERSION.fullmatch(part))
        by_call[tool.namespace, str(tool.metadata.get("method", "")).upper(), segments].append(tool)
    found: list[tuple[str, ...]] = []
    for same in by_call.values():
        groups: dict[object, list[Tool]] = {}
        for tool in same if len(same) > 1 else ():
            inputs = frozenset(" ".join(words(parameter.name)) for parameter in tool.parameters)
            title = f"{tool.title} " if tool.title != tool.name else ""
            content = frozenset(_telling(title + tool.description))
            keys: list[object] = [(tuple(sorted(_telling(tool.name))), inputs)]
            if tool.description and len(content) >= _FEWEST_WORDS:
                keys.append(content)
            group = next((groups[key] for key in keys if key in groups), [])
            group.append(tool)
            for key in keys:
                groups.setdefault(key, group)
        found += {tuple(tool.id for tool in group) for group in groups.values() if len(group) > 1}
    return tuple(sorted(found))


def _telling(text: str) -> list[str]:
    return [word for word in words(text) if word not in _ARTICLES and not _VERSION.fullmatch(word)]
