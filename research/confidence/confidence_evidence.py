"""What the confidence models are fitted to and measured on: evidence of requests that are served, and of some that are not.

Unserved requests are made of served ones in two ways: requests of other catalogues (*foreign*), and requests whose gold
tools, with all that are near to them, are taken out of the catalogue (*bereft*).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d
from inference.encoder import Encoder
from research.enterprise_benchmark import read_rows
from retrieval.query.request import MAX_K, Request
from retrieval.ranking.confidence import RANKS, BackgroundStatistics, background_statistics, tool_evidence
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot_engine import open_engine

__all__ = ["Asked", "Case", "Evidence", "gather", "read_cases", "remembering"]

_NEAR = 0.8  # cosine from which on a tool does what a gold tool does


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One catalogue with its labelled requests."""

    name: str
    store: Path
    queries: tuple[tuple[str, frozenset[str]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One served request: evidence of its best tools [ranks, features], which of them are gold, and how many gold tools there are."""

    evidence: NDArray[np.float64]
    gold: NDArray[np.bool_]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence of one catalogue: kind of request (``served``, ``foreign``, ``bereft``) → rows [requests, features]."""

    name: str
    requests: dict[str, NDArray[np.float64]]
    asked: tuple[Asked, ...]


def read_cases(said: Sequence[str], *, limit: int, seed: int = 0) -> list[Case]:
    """Cases from ``STORE=QUERIES`` texts, each with a random ``limit`` of its requests."""
    cases = []
    for text in said:
        store, _, queries = text.partition("=")
        rows = [(row["query"], frozenset(row["tools"])) for row in read_rows(Path(queries))]
        some = random.Random(seed).sample(rows, min(limit, len(rows)))
        cases.append(Case(name=Path(queries).parent.name, store=Path(store), queries=tuple(some)))
    return cases


class _Remembering:
    """An encoder that encodes no text twice: each is asked of several catalogues."""

    def __init__(self, encoder: Encoder) -> None:
        self.name, self.dimensions, self.digest = encoder.name, encoder.dimensions, encoder.digest
        self._encoder = encoder
        self._known: dict[str, Floats1d] = {}

    def encode(self, texts: Sequence[str]) -> Floats2d:
        for text in texts:
            if text not in self._known:
                self._known[text] = self._encoder.encode([text])[0]
        return np.stack([self._known[text] for text in texts])


def remembering(encoder: Encoder) -> Encoder:
    """The same encoder, which encodes no text twice."""
    return _Remembering(encoder)


def gather(case: Case, foreign: Sequence[str], background_BD: Floats2d, encoder: Encoder) -> Evidence:
    """Ask the requests of a case, and foreign ones, and write down the evidence."""
    engine = open_engine(case.store, encoder=encoder)
    snapshot, retriever = engine.snapshot, engine.retriever()
    statistics = background_statistics(snapshot, background_BD)
    tools_ND = snapshot.vectors.rows(np.arange(snapshot.tool_count))
    found: dict[str, list[list[float]]] = {"served": [], "bereft": [], "foreign": []}
    asked = []
    for text, gold in case.queries:
        vector = encoder.encode([text])[0]
        found["served"].append(_evidence(statistics, vector, tools_ND))
        kept = ~_near(snapshot, tools_ND, gold)
        if kept.any():
            bereft = BackgroundStatistics(
                sample_SD=statistics.sample_SD,
                background_BD=background_BD,
                served_B=(background_BD @ tools_ND[kept].T).max(axis=1),
            )
            found["bereft"].append(_evidence(bereft, vector, tools_ND[kept]))
        answer = retriever.retrieve(Request(query=text, k=MAX_K, explain=False)).tools
        scores = np.asarray([tool.score for tool in answer])
        columns = list(tool_evidence(scores).values())
        gold_here = np.asarray([tool.id in gold for tool in answer])
        asked.append(
            Asked(
                evidence=np.stack(columns, axis=1)[:RANKS].astype(np.float64), gold=gold_here[:RANKS], count=len(gold)
            )
        )
    for text in foreign:
        found["foreign"].append(_evidence(statistics, encoder.encode([text])[0], tools_ND))
    return Evidence(
        name=case.name, requests={kind: np.asarray(rows) for kind, rows in found.items()}, asked=tuple(asked)
    )


def _evidence(statistics: BackgroundStatistics, vector: Floats1d, tools_ND: Floats2d) -> list[float]:
    return list(statistics.evidence(vector, float((tools_ND @ vector).max())).values())


def _near(snapshot: Snapshot, tools_ND: Floats2d, gold: frozenset[str]) -> NDArray[np.bool_]:
    numbers = [number for tool in gold if (number := snapshot.find_node(f"tool:{tool}")) is not None]
    return np.asarray((tools_ND @ tools_ND[numbers].T).max(axis=1, initial=-1.0) > _NEAR)
