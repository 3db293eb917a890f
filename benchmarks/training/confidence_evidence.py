"""What the confidence models are fitted to: evidence of requests that are served, and of some that are not.

Requests that nothing serves are of four kinds: *talk* (the background texts, each without itself), *foreign* (requests of catalogues of other
domains), *bereft* (requests whose gold tools, with all near to them, are taken out of the catalogue), and *tasks*, which were
written for the catalogue.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.command import ROOT
from benchmarks.sets import BenchSet, sampled
from eval.queries import Slot, gold_slots
from inference.encoder import Encoder, Floats1d
from retrieval.engine import Engine, open_engine
from retrieval.query.query import analyse
from retrieval.query.request import MAX_K, Request
from retrieval.ranking.confidence import RANKS, Background, CatalogueStatistics, catalogue_statistics, tool_evidence

_NEAR = 0.8  # cosine from which on a tool does what a gold tool does
_FOREIGN = 100

Rows = NDArray[np.float64]
CATALOGUES: Mapping[str, str] = {
    "restbench": "workbench gtc tau2_service enterprise real taskbench apibank toolsandbox tooltalk",
    "gtc": "restbench tau2_service enterprise taskbench toolsandbox apibank toollens",
    "tau2_service": "restbench gtc taskbench real workbench toolsandbox toollens enterprise",
    "workbench": "restbench gtc tau2_service taskbench toollens",
    "tooltalk": "restbench gtc tau2_service enterprise real taskbench",
    "toolsandbox": "restbench gtc tau2_service enterprise real",
    "apibank": "gtc tau2_service enterprise real restbench",
    "enterprise": "restbench gtc tau2_service taskbench toolsandbox toollens",
    "real": "restbench taskbench tau2_service toolsandbox toollens",
    "taskbench": "gtc enterprise real tau2_service restbench",
    "metatool": "gtc tau2_service enterprise real",
    "toollens": "gtc enterprise real tau2_service",
    "ultratool": "gtc real",
    "bfcl": "gtc real",
}
"""The catalogues that are fitted to (Seal-Tools is not: the background tools are means of its tools), and those whose requests are of other
domains: hardly any is served by accident. By the descriptions of the sets; no request was read for it.
"""


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


def read_case(bench_set: BenchSet, store: Path, *, limit: int) -> Case:
    """The case of a set, with a random ``limit`` of the requests of its split."""
    rows = sampled(bench_set, 0)
    some = random.Random(0).sample(rows, min(limit, len(rows)))
    queries = tuple((str(row["query"]), gold_slots(row["tools"])) for row in some)
    return Case(name=bench_set.name, store=store, queries=queries)


def background_lines(name: str) -> tuple[str, ...]:
    """The texts of ``talk`` or ``tasks``."""
    lines = (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def foreign(case: Case, cases: Sequence[Case], *, seed: int = 0) -> list[str]:
    """Requests of catalogues of other domains, about as many of each."""
    rng = random.Random(seed)
    others = [other for other in cases if other.name in CATALOGUES[case.name].split()]
    each = -(-_FOREIGN // max(1, len(others)))
    return [text for other in others for text, _ in rng.sample(other.queries, min(each, len(other.queries)))]


def written(name: str, split: str) -> list[str]:
    """The requests of a half that were written for a catalogue, or the ``talk``; none where there is no such file."""
    file = ROOT / "examples" / "unserved" / (f"{name}.jsonl" if name == "talk" else f"{name}_tasks.jsonl")
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines()) if file.exists() else ()
    return [row["query"] for row in rows if row["split"] == split]


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

    def __init__(self, engine: Engine, background: Background, encoder: Encoder) -> None:
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
        rows_ND = self._tools_ND if kept is None else self._tools_ND[kept]
        statistics = self._statistics if kept is None else self._part(kept)
        found = statistics.evidence(query, lambda one: rows_ND @ np.asarray(one.vector_D), without=without)
        return list(found.values())

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


def _asked(engine: Engine, text: str, slots: tuple[Slot, ...]) -> Asked:
    answer = engine.retriever().retrieve(Request(query=text, k=MAX_K, explain=False)).tools
    clauses = len(analyse(text, None, engine.snapshot.abbreviations, decomposed=True).clauses)
    columns = list(tool_evidence(np.asarray([tool.score for tool in answer]), clauses).values()) if answer else []
    firsts = [next((tool.rank for tool in answer if tool.id in slot), float("inf")) for slot in slots]
    gold = np.isin(np.arange(1, len(answer) + 1), firsts)  # of a slot, only the first tool is needed
    rows = np.stack(columns, axis=1).astype(np.float64) if answer else np.empty((0, 0))
    return Asked(evidence=rows[:RANKS], gold=gold[:RANKS], count=len(slots), complete=max(firsts))
