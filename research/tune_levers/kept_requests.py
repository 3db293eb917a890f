"""Requests with their candidates and features, found once and kept in files: after that an experiment takes seconds."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from eval.queries import LabelledQuery
from eval.tuning import read_labels
from eval.tuning.cases import numbers_of
from eval.tuning.labels import group
from ontology.digests import code_digest
from retrieval.graph_retriever import GraphRetriever
from retrieval.presets import DEFAULT_PRESET
from retrieval.query.context import QueryContext
from retrieval.query.request import Request
from retrieval.ranking.feature_matrix import feature_matrix
from retrieval.ranking.ranking import Ranking
from retrieval.ranking.weights import SHIPPED
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot_engine import open_engine

__all__ = ["Catalogue", "Kept", "keep", "read_catalogue", "read_kept", "read_steps", "write_kept"]


@dataclass(kw_only=True)
class Kept:
    """One request with what was found for it.

    :param gold: for each slot of the gold set the numbers of its tools; None where the snapshot lacks a slot.
    :param group: requests of one path or gold set have the same.
    :param fused: the scores of the candidates, before completion.
    :param completed: the ranking at the shipped weights.
    :param steps: of a generated request the edges that it was made of: a tool, and the one that needs it.
    """

    query: LabelledQuery
    context: QueryContext
    gold: NDArray[np.int64] | None
    group: int
    fused: Ranking
    completed: Ranking
    steps: tuple[tuple[int, int], ...] = ()

    @property
    def needed(self) -> NDArray[np.int64]:
        """The first tool of each slot, ascending."""
        return np.empty(0, dtype=np.int64) if self.gold is None else np.unique(self.gold[:, 0])


@dataclass(kw_only=True)
class Catalogue:
    """A catalogue with its generated and its hand-made requests."""

    snapshot: Snapshot
    snapshot_id: str
    retriever: GraphRetriever
    generated: list[Kept] = field(default_factory=list)
    hand: list[Kept] = field(default_factory=list)


def read_catalogue(folder: Path, queries: Sequence[LabelledQuery], most: int) -> Catalogue:
    """The requests of a catalogue; what an earlier run has found for them is read.

    :param folder: its snapshot in ``store`` and its generated requests in ``requests``.
    :param queries: the hand-made ones.
    :param most: how many of those, chosen by the hash of their ids; 0: all.
    """
    engine = open_engine(folder / "store")
    retriever = GraphRetriever(engine.snapshot, engine.encoder, name=DEFAULT_PRESET)
    labels = read_labels(folder / "requests")
    chosen = sorted(queries, key=lambda one: hashlib.sha256(one.id.encode()).hexdigest())[: most or None]
    catalogue = Catalogue(snapshot=engine.snapshot, snapshot_id=engine.snapshot_id, retriever=retriever)
    catalogue.generated = _found(catalogue, folder, labels.queries.queries, labels.groups_Q.tolist())
    catalogue.hand = _found(catalogue, folder, chosen, group(chosen, {}).tolist())
    read_steps(folder / "requests" / "queries.jsonl", catalogue.generated, engine.snapshot)
    return catalogue


def _found(catalogue: Catalogue, folder: Path, queries: Sequence[LabelledQuery], groups: Sequence[int]) -> list[Kept]:
    snapshot = catalogue.snapshot
    asked = [(one.id, one.text, one.slots) for one in queries]
    key = repr((catalogue.snapshot_id, code_digest("eval", "retrieval", "inference"), asked))
    file = folder / f"kept-{hashlib.sha256(key.encode()).hexdigest()[:16]}.pickle"
    if not file.exists():
        write_kept(file, [keep(catalogue, one, at) for one, at in zip(queries, groups, strict=True)], snapshot)
    return read_kept(file, snapshot)


def keep(catalogue: Catalogue, query: LabelledQuery, at: int) -> Kept:
    """Find the candidates of a request and rank them.

    :param at: its group.
    """
    context = catalogue.retriever.find_candidates(Request(query=query.text))
    fused = Ranking(tools=context.candidates, scores=feature_matrix(context).scores(SHIPPED), features={})
    completed = catalogue.retriever.complete(context, fused, margin=SHIPPED.resolver_margin, with_features=False)
    context._once.clear()  # it names the retriever
    gold = numbers_of(catalogue.snapshot, query.slots)
    return Kept(query=query, context=context, gold=gold, group=at, fused=fused, completed=completed)


def read_steps(file: Path, rows: Iterable[Kept], snapshot: Snapshot) -> None:
    """Give each generated request the edges that its file says it was made of."""
    edges = {row["id"]: row["edges"] for row in map(json.loads, file.read_text(encoding="utf-8").splitlines())}
    for one in rows:
        ends = [
            [snapshot.find_node(f"tool:{edge[end]}") for end in ("source", "target")] for edge in edges[one.query.id]
        ]
        one.steps = tuple((source, target) for source, target in ends if source is not None and target is not None)


def write_kept(file: Path, rows: Sequence[Kept], snapshot: Snapshot) -> None:
    """Write requests without the snapshot that they refer to."""
    with file.open("wb") as out:
        _Pickler(out, {id(snapshot): "snapshot"}).dump(list(rows))


def read_kept(file: Path, snapshot: Snapshot) -> list[Kept]:
    """Read requests of a snapshot, from a file that this program wrote: a pickle can run anything."""
    with file.open("rb") as kept:
        rows: list[Kept] = _Unpickler(kept, {"snapshot": snapshot}).load()
    return rows


class _Pickler(pickle.Pickler):
    def __init__(self, out: IO[bytes], names: Mapping[int, str]) -> None:
        super().__init__(out, protocol=5)
        self._names = names

    def persistent_id(self, thing: Any) -> str | None:
        return self._names.get(id(thing))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: IO[bytes], things: Mapping[str, Any]) -> None:
        super().__init__(file)
        self._things = things

    def persistent_load(self, name: Any) -> Any:
        return self._things[name]
