"""Ablations: each takes its feature away, and nothing else."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import pytest

from egotools.values import RankedTool, Response
from inference import HashingEncoder
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.request import MAX_K, Request
from retrieval.ranking.weights import SHIPPED
from retrieval.retriever import DEFAULT, RetrievalConfig, Retriever
from retrieval.snapshot.reader import open_snapshot

QUERIES = (
    "give a spot award of 100",
    "find the supplier and create a purchase order for an amount",
    "list the pending items of purchase orders",
    "manager and department of an employee",
    "find the supplier Acme in Leeds and give Jan Smith a spot award",
)
WITH_A_VALUE = "approve the items of AW-20418 in award/budget-2025.xlsx"  # the baselines match it as words
IN_OTHER_WORDS = "buy from a vendor, then reward somebody"
STAGES = [field.name for field in fields(RetrievalConfig)]


def _answers(retriever: Retriever, queries: Sequence[str] = QUERIES) -> list[Response]:
    return [retriever.retrieve(Request(query=query, k=MAX_K)) for query in queries]


def _ranked(retriever: Retriever) -> list[tuple[RankedTool, ...]]:
    return [answer.tools for answer in _answers(retriever, (*QUERIES, WITH_A_VALUE, IN_OTHER_WORDS))]


@pytest.mark.parametrize("name", [*STAGES, *(name for name in SHIPPED if name != "resolver_margin")])
def test_no_stage_and_no_weight_is_without_effect(said: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """With pools of one tool the ensemble matters, with pools of all the pools do."""
    snapshot = open_snapshot(said)
    without = (
        GraphRetriever(snapshot, HashingEncoder(), config=replace(DEFAULT, **{name: False}))
        if name in STAGES
        else GraphRetriever(snapshot, HashingEncoder(), weights=SHIPPED.replace(**{name: 0.0}))
    )
    default = GraphRetriever(snapshot, HashingEncoder())
    differs = False
    for pool in (1, 100):
        monkeypatch.setattr("retrieval.candidates.candidate_generation.POOL", pool)
        monkeypatch.setattr("retrieval.candidates.candidate_generation.CLAUSE_POOL", pool)
        monkeypatch.setattr("retrieval.candidates.candidate_generation.PHRASE_POOL", pool)
        differs |= _ranked(without) != _ranked(default)
    assert differs
