"""The quality of a published tool graph."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eval.graph_quality.edge_precision import EdgePrecision, ExternalEdges, measure_edge_precision
from eval.graph_quality.statistics import Connectivity, GraphStatistics, graph_statistics, measure_connectivity
from eval.queries import QuerySet
from ingest.build_report import BuildReport, RejectedTriples, keep_build_report, read_build_report
from ingest.canonical.duplicates import american, near_duplicates, veto
from ontology.errors import InvalidArgumentError
from ontology.names import noun_lemma, verb_lemma
from retrieval.snapshot.reader import Snapshot

__all__ = [
    "REASONS",
    "BuildCounts",
    "GraphQuality",
    "ResidualDuplicates",
    "TypeDuplicates",
    "copy_build_report",
    "find_build_report",
    "graph_quality",
]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildCounts:
    """The counts of a build report.

    :param extractions_failed: documents of which nothing was extracted, because the extractor failed.
    :param tools_rejected: reason → count; ``merges``: kind of merge → names.
    :param warnings: of the canonicalisation.
    """

    triples_kept: int
    triples_rejected: tuple[RejectedTriples, ...]
    extractions_failed: int
    tools_read: int
    tools_rejected: Mapping[str, int]
    tools_renamed: int
    merges: Mapping[str, int]
    warnings: int


def find_build_report(snapshot: Snapshot) -> BuildReport | None:
    """The build report beside a published snapshot, as :func:`~ingest.build_report.read_build_report` reads it."""
    return read_build_report(snapshot.folder.resolve().parent.parent, snapshot.id)


def copy_build_report(snapshot: Snapshot, store: Path, snapshot_id: str) -> None:
    """Copy the build report of a snapshot to another version of it in a store, which has the same content."""
    if (store / "reports" / f"{snapshot_id}.json").exists():
        return
    try:
        report = find_build_report(snapshot)
    except InvalidArgumentError as error:
        _LOG.warning("the new version has no build report: %s", error)
        return
    if report is not None:
        keep_build_report(store, replace(report, snapshot_id=snapshot_id))


def count_build(report: BuildReport) -> BuildCounts:
    """The counts of a build report."""
    triples = report.triples
    return BuildCounts(
        triples_kept=sum(triples.kept.values()),
        triples_rejected=triples.rejected_by_predicate_and_reason,
        extractions_failed=len(triples.tools_failed),
        tools_read=report.tools,
        tools_rejected=report.rejected_tools.by_reason,
        tools_renamed=len(report.renamed),
        merges=report.merges.by_kind,
        warnings=len(report.merges.warnings),
    )


REASONS = ("letters", "words", "vectors")
"""Why two names are suspects: the same letters, or British and American spelling; the same words with other inflection
or order; vectors with a cosine of :data:`_NEAR` or more, where no veto separates the names.
"""
_NEAR = 0.92  # minimum cosine of two names, in [-1, 1]
_NO_NAMES = ("tool", "value")  # ids and literals, which have no canonical names
_DIRECTIONS = frozenset("after before by for from in into of on onto per than to until with without".split())
_EXAMPLES = 20
_NEIGHBOURS = 8  # maximum number of nearest names for each name


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """Two canonical names of one type; ``cosine`` of their vectors, in [-1, 1]."""

    type: str
    one: str
    other: str
    reason: str
    cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeDuplicates:
    """The suspects of one type of nodes.

    :param names: number of nodes in a pair, of ``nodes``.
    :param by_reason: number of pairs by reason; each pair counts once, under the first of :data:`REASONS` that applies.
    """

    nodes: int
    names: int
    pairs: int
    by_reason: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualDuplicates:
    """The counts of all suspects.

    :param examples: 20 pairs: for each reason in turn the pair with the highest cosine.
    """

    least_cosine: float
    pairs: int
    by_type: Mapping[str, TypeDuplicates]
    examples: tuple[Suspect, ...]


def find_residual_duplicates(snapshot: Snapshot) -> ResidualDuplicates:
    """Find the suspected duplicates in a snapshot's graph."""
    types = _names_by_type(snapshot)
    found = {type_: list(_suspects(snapshot, type_, names)) for type_, names in types.items()}
    by_type = {
        type_: TypeDuplicates(
            nodes=len(types[type_]),
            names=len({name for pair in pairs for name in (pair.one, pair.other)}),
            pairs=len(pairs),
            by_reason=dict(sorted(Counter(pair.reason for pair in pairs).items())),
        )
        for type_, pairs in found.items()
    }
    examples = _in_turn([pair for pairs in found.values() for pair in pairs])[:_EXAMPLES]
    return ResidualDuplicates(
        least_cosine=_NEAR,
        pairs=sum(len(pairs) for pairs in found.values()),
        by_type=by_type,
        examples=tuple(replace(pair, cosine=round(pair.cosine, 3)) for pair in examples),
    )


def _names_by_type(snapshot: Snapshot) -> dict[str, dict[str, int]]:
    """Return the node numbers by type and canonical name, types and names in order."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for number in range(snapshot.tool_count, len(snapshot.nodes)):
        type_, _, name = snapshot.node_key(number).partition(":")
        if type_ not in _NO_NAMES:
            found[type_][name] = number
    return dict(sorted(found.items()))


def _suspects(snapshot: Snapshot, type_: str, numbers: Mapping[str, int]) -> Iterator[Suspect]:
    """Yield each suspected pair of one type once, in the order of :data:`REASONS`."""
    finders = {
        "letters": _same_letters(numbers),
        "words": _same_words(type_, numbers),
        "vectors": _near(snapshot, numbers),
    }
    seen: set[tuple[str, str]] = set()
    for reason, pairs in finders.items():
        for pair in pairs:
            one, other = sorted(pair)
            if (one, other) not in seen:
                seen.add((one, other))
                vectors = snapshot.vectors.rows(np.asarray([numbers[one], numbers[other]]))
                yield Suspect(type=type_, one=one, other=other, reason=reason, cosine=float(vectors[0] @ vectors[1]))


def _same_letters(names: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for duplicate in near_duplicates(dict.fromkeys(names, 1)):
        yield duplicate.target, duplicate.name


def _same_words(type_: str, names: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield names that are equal except for inflection and word order, each with the first of its group.

    Word order matters in names with a preposition ("from usd to eur"); the first word of a capability is its verb.
    """
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in names:
        words = name.split()
        if type_ == "capability":
            key = (verb_lemma(words[0]), *_order_free(words[1:]))
        else:
            key = _order_free(words)
        groups[key].append(name)
    for first, *others in groups.values():
        yield from ((first, other) for other in others)


def _order_free(words: Sequence[str]) -> tuple[str, ...]:
    lemmas = [noun_lemma(word) for word in words]
    return tuple(lemmas) if _DIRECTIONS & set(words) else tuple(sorted(lemmas))


def _near(snapshot: Snapshot, numbers: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield names with similar vectors that no veto separates.

    The veto separates names with another number of words or another last word, so only names that share both are
    compared.
    """
    blocks: dict[tuple[int, str], list[str]] = defaultdict(list)
    for name in numbers:
        words = name.split()
        if len(words) > 1:
            blocks[len(words), american(words[-1])].append(name)
    for names in blocks.values():
        vectors = snapshot.vectors.rows(np.asarray([numbers[name] for name in names]))
        for one, name in enumerate(names[:-1]):
            cosines = vectors[one + 1 :] @ vectors[one]
            close = np.flatnonzero(cosines >= _NEAR)
            nearest = close[np.argsort(-cosines[close], kind="stable")][:_NEIGHBOURS]
            yield from ((name, other) for at in nearest.tolist() if _may_be_one(name, other := names[one + 1 + at]))


def _may_be_one(one: str, other: str) -> bool:
    """Whether two names may mean the same; names with the same words in another order were found before."""
    return sorted(one.split()) != sorted(other.split()) and not veto(one, other)


def _in_turn(pairs: Sequence[Suspect]) -> list[Suspect]:
    """Return the pair with the highest cosine of each reason, then the second of each, and so on."""
    ranked = sorted(pairs, key=lambda pair: (-pair.cosine, pair.type, pair.one, pair.other))
    places: Counter[str] = Counter()
    turns = []
    for pair in ranked:
        turns.append((places[pair.reason], REASONS.index(pair.reason), pair))
        places[pair.reason] += 1
    return [pair for _, _, pair in sorted(turns, key=lambda turn: turn[:2])]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuality:
    """The measures of a tool graph; None where the input for a measure was not given."""

    snapshot_id: str
    statistics: GraphStatistics
    edges: EdgePrecision | None
    connectivity: Connectivity | None
    duplicates: ResidualDuplicates
    build: BuildCounts | None


def graph_quality(
    snapshot: Snapshot,
    *,
    gold_edges: Sequence[Path] = (),
    external_edges: ExternalEdges | None = None,
    queries: QuerySet | None = None,
    build_report: BuildReport | None = None,
) -> GraphQuality:
    """Measure the tool graph of a snapshot.

    :param gold_edges: files of true dependencies; never part of the catalogue.
    :param external_edges: groups of edges from another method, scored in addition to the snapshot's own.
    :param queries: requests whose gold tools should be connected.
    :param build_report: the build report of this snapshot; see :func:`~eval.graph_quality.quality.find_build_report`.
    :raises DocumentError: when a file of gold edges cannot be read.
    """
    return GraphQuality(
        snapshot_id=snapshot.id,
        statistics=graph_statistics(snapshot),
        edges=measure_edge_precision(snapshot, gold_edges, external_edges) if gold_edges else None,
        connectivity=measure_connectivity(snapshot, queries) if queries is not None else None,
        duplicates=find_residual_duplicates(snapshot),
        build=count_build(build_report) if build_report is not None else None,
    )
