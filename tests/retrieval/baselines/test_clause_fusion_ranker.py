"""The flat baseline with clause fusion, against the sum that it is said to be."""

from __future__ import annotations

import numpy as np
import pytest

from inference import HashingEncoder
from retrieval.baselines.flat import make_flat
from retrieval.query.context import QueryContext
from retrieval.query.request import MAX_K, Request
from retrieval.ranking.clause_fusion import clause_scores, fuse_clauses
from retrieval.ranking.features import bm25, cosine_name, cosine_text
from retrieval.ranking.z_scores import standardise
from retrieval.snapshot.reader import Snapshot

QUERY = "find the supplier Acme in Leeds and give Jan Smith a spot award"


def test_fusion_clauses_adds_three_z_scores_and_clause_fusion_over_the_whole_catalogue(snapshot: Snapshot) -> None:
    retriever = next(one for one in make_flat(snapshot, HashingEncoder()) if one.name == "fusion-clauses")
    answer = retriever.retrieve(Request(query=QUERY, k=MAX_K, explain=False))
    context = QueryContext.begin(Request(query=QUERY), snapshot, HashingEncoder(), decomposed=True)
    assert len(context.query.clauses) == 2
    context.candidates = np.arange(snapshot.tool_count)
    total = np.zeros(snapshot.tool_count, dtype=np.float32)
    for compute, weight in ((bm25("whole"), 1.0), (cosine_text, 1.0), (cosine_name, 0.5)):
        values = compute(context, context.query, context.candidates)
        assert values is not None
        total += weight * standardise(values)
    whole = standardise(total)
    expected = whole + 3.0 * fuse_clauses(clause_scores(context), whole)
    for tool in answer.tools:
        assert tool.score == pytest.approx(float(expected[snapshot.tool_number(tool.id)]), abs=1e-4)
