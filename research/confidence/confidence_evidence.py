"""What the confidence models are fitted to and measured on: evidence of requests that are served, and of some that are not.

Requests that nothing serves are of four kinds: *talk* (the background texts, each without itself), *foreign* (requests of catalogues of other
domains), *bereft* (requests whose gold tools, with all near to them, are taken out of the catalogue), and *tasks*, which were
written for the catalogue.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.queries import Slot, gold_slots
from inference.encoder import Encoder, Floats1d, Floats2d
from research.enterprise_benchmark import read_rows
from retrieval.engine import SnapshotEngine, open_engine
from retrieval.query.query import analyse
from retrieval.query.request import MAX_K, Request
from retrieval.ranking.confidence import RANKS, Background, CatalogueStatistics, catalogue_statistics, tool_evidence
from scripts.bench_sets import BenchSet

__all__ = ["Asked", "Case", "Evidence", "gather", "read_case", "read_cases", "remembering"]

_NEAR = 0.8  # cosine from which on a tool does what a gold tool does

Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One catalogue with its labelled requests."""

    name: str
    store: Path
    queries: tuple[tuple[str, tuple[Slot, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One served request: evidence of its best tools [ranks, features], which of them are gold, the number of slots, and the rank from which
    on the answer is complete, or infinity.
    """

    evidence: Rows
    gold: NDArray[np.bool_]
    count: int
    complete: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence of one catalogue: kind of request → rows [requests, features]."""

    name: str
    requests: dict[str, Rows]
    asked: tuple[Asked, ...]


def read_cases(said: Sequence[str], *, limit: int, seed: int = 0) -> list[Case]:
    """Cases from ``STORE=QUERIES`` texts, each with a random ``limit`` of its requests."""
    cases = []
    for text in said:
        store, _, queries = text.partition("=")
        rows = list(read_rows(Path(queries)))
        cases.append(_case(Path(queries).parent.name, Path(store), rows, limit, seed))
    return cases


def read_case(bench_set: BenchSet, store: Path, *, limit: int, seed: int = 0) -> Case:
    """The case of a set, with a random ``limit`` of the requests of its split."""
    rows = [row for row in read_rows(bench_set.queries) if bench_set.split in ("", row.get("split"))]
    return _case(bench_set.name, store, rows, limit, seed)


def _case(name: str, store: Path, rows: Sequence[Mapping[str, Any]], limit: int, seed: int) -> Case:
    some = random.Random(seed).sample(list(rows), min(limit, len(rows)))
    queries = tuple((str(row["query"]), gold_slots(row["tools"])) for row in some)
    return Case(name=name, store=store, queries=queries)


class _Remembering:
    """An encoder that encodes no text twice: each is asked of several catalogues."""

    def __init__(self, encoder: Encoder) -> None:
        self.name, self.dimensions, self.digest = encoder.name, encoder.dimensions, encoder.digest
        self._encoder = encoder
        self._known: dict[str, Floats1d] = {}

    def encode(self, texts: Sequence[str]) -> Floats2d:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._encoder.encode(new), strict=True))
        return np.stack([self._known[text] for text in texts])


def remembering(encoder: Encoder) -> Encoder:
    """The same encoder, which encodes no text twice."""
    return _Remembering(encoder)


def gather(
    case: Case,
    unserved: Mapping[str, Sequence[str]],
    background: Background,
    probes: Sequence[Floats1d],
    encoder: Encoder,
) -> Evidence:
    """Ask the requests of a case, and what nothing serves, and write down the evidence.

    :param unserved: kind of request that nothing serves → texts; those of ``talk`` are the background's, in its order.
    :param background: with a probe that saw nothing of this case.
    :param probes: for each text of talk a probe that did not see it, in turns.
    """
    engine = open_engine(case.store, encoder=encoder)
    catalogue = _Catalogue(engine, background, encoder)
    found: dict[str, list[list[float]]] = {kind: [] for kind in ("served", "bereft", *unserved)}
    for text, slots in case.queries:
        found["served"].append(catalogue.evidence(text))
        kept = ~catalogue.near({tool for slot in slots for tool in slot})
        if kept.any():
            found["bereft"].append(catalogue.evidence(text, kept))
    for kind, texts in unserved.items():
        if kind != "talk":
            found[kind] += [catalogue.evidence(text) for text in texts]
            continue
        for number, text in enumerate(texts):
            catalogue.probe(probes[number % len(probes)])
            found[kind].append(catalogue.evidence(text, without=number))
    rows = {kind: np.asarray(values) for kind, values in found.items() if values}
    return Evidence(name=case.name, requests=rows, asked=tuple(_asked(engine, *query) for query in case.queries))


class _Catalogue:
    """Evidence of requests to one catalogue, all of it or a part."""

    def __init__(self, engine: SnapshotEngine, background: Background, encoder: Encoder) -> None:
        self._snapshot, self._encoder = engine.snapshot, encoder
        self._tools_ND = engine.snapshot.vectors.rows(np.arange(engine.snapshot.tool_count))
        self._statistics = catalogue_statistics(engine.snapshot, background)
        self._talk_TN = background.talk_TD @ self._tools_ND.T
        self._tasks_BN = background.tasks_BD @ self._tools_ND.T
        self._others_BN = background.tools_BD @ self._tools_ND.T

    def probe(self, probe: Floats1d) -> None:
        """Use another probe."""
        self._statistics = replace(self._statistics, background=replace(self._statistics.background, probe=probe))

    def evidence(self, text: str, kept: NDArray[np.bool_] | None = None, *, without: int | None = None) -> list[float]:
        """The evidence of a request, in the order of the names."""
        query = analyse(text, self._encoder, self._snapshot.abbreviations, decomposed=True)
        tools_ND = self._tools_ND if kept is None else self._tools_ND[kept]
        statistics = self._statistics if kept is None else self._part(kept)
        return list(statistics.evidence(query, lambda vector_D: tools_ND @ vector_D, without=without).values())

    def near(self, gold: set[str]) -> NDArray[np.bool_]:
        """The tools that do what a gold tool does."""
        numbers = [number for tool in gold if (number := self._snapshot.find_node(f"tool:{tool}")) is not None]
        return np.asarray((self._tools_ND @ self._tools_ND[numbers].T).max(axis=1, initial=-1.0) > _NEAR)

    def _part(self, kept: NDArray[np.bool_]) -> CatalogueStatistics:
        talk_T, tasks_B, tools_B = (
            cosines[:, kept].max(axis=1) for cosines in (self._talk_TN, self._tasks_BN, self._others_BN)
        )
        whole = self._statistics
        margin_T = whole.margin_T - whole.talk_T + talk_T
        return replace(whole, talk_T=talk_T, tasks_B=tasks_B, tools_B=tools_B, margin_T=margin_T)


def _asked(engine: SnapshotEngine, text: str, slots: tuple[Slot, ...]) -> Asked:
    answer = engine.retriever().retrieve(Request(query=text, k=MAX_K, explain=False)).tools
    clauses = len(analyse(text, None, engine.snapshot.abbreviations, decomposed=True).clauses)
    columns = list(tool_evidence(np.asarray([tool.score for tool in answer]), clauses).values()) if answer else []
    firsts = [next((tool.rank for tool in answer if tool.id in slot), float("inf")) for slot in slots]
    gold = np.isin(np.arange(1, len(answer) + 1), firsts)  # of a slot, only the first tool is needed
    rows = np.stack(columns, axis=1).astype(np.float64) if answer else np.empty((0, 0))
    return Asked(evidence=rows[:RANKS], gold=gold[:RANKS], count=len(slots), complete=max(firsts))
