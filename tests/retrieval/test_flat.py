"""The flat baselines against boring oracles: rank-bm25, brute force and a plain sum."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from inference import HashingEncoder
from ontology.names import words
from ontology.tool import Tool, tool_text
from retrieval.engine import Engine
from retrieval.index.bm25 import params_text, terms
from retrieval.query.request import MAX_K, Request
from tests.retrieval.conftest import TOOLS

ENCODER = HashingEncoder()
CATALOGUE = sorted(TOOLS, key=lambda tool: tool.id)
requests = st.lists(
    st.sampled_from(
        "purchase orders items supplier find employee manager give award amount number for unicorn".split()
    ),
    min_size=1,
    max_size=7,
).map(" ".join)
filters = st.sampled_from([{}, {"line_of_business": ("HR",)}, {"namespace": ("hr", "procurement")}])


def _bm25(texts: Sequence[str], query: str) -> NDArray[np.float64]:
    documents = [terms(text) for text in texts]
    oracle = BM25Okapi(documents, k1=1.5, b=0.75)
    for term in oracle.idf:
        holding = sum(term in document for document in documents)
        oracle.idf[term] = np.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
    return np.asarray(oracle.get_scores(terms(query)))


def _cosine(texts: Sequence[str], query: str) -> NDArray[np.float32]:
    """Cosines, without the requests in which terms cancel out: what is left of them then depends on the order of adding."""
    stored = ENCODER.encode(texts).astype(np.float16).astype(np.float32)
    terms_NT = stored * ENCODER.encode([query])[0]
    cosines = terms_NT.sum(axis=1)
    assume(not np.any((np.abs(cosines) < 1e-6) & np.any(terms_NT != 0, axis=1)))
    return np.asarray(cosines)


def _seen(tools: Sequence[Tool], wanted: Mapping[str, tuple[str, ...]]) -> list[int]:
    return [
        number
        for number, tool in enumerate(tools)
        if all(tool.metadata[key] in values for key, values in wanted.items())
    ]


@settings(max_examples=40)
@given(query=requests, wanted=filters)
def test_rrf_is_the_sum_of_reciprocal_ranks(engine: Engine, query: str, wanted: Mapping[str, tuple[str, ...]]) -> None:
    seen = _seen(CATALOGUE, wanted)
    lexical = _bm25([f"{tool_text(tool)} {params_text(tool)}" for tool in CATALOGUE], query)
    semantic = _cosine([tool_text(tool) for tool in CATALOGUE], query)
    fused: dict[int, float] = {}
    for feature in (lexical, semantic):
        ranking = sorted((n for n in seen if feature[n] != 0), key=lambda n: (-round(float(feature[n]), 6), n))
        for rank, number in enumerate(ranking, start=1):
            fused[number] = fused.get(number, 0.0) + 1 / (60 + rank)
    response = engine.retriever("rrf").retrieve(Request(query=query, k=MAX_K, filters=wanted))
    found = {tool.id: tool.score for tool in response.tools}
    assert found == pytest.approx({CATALOGUE[number].id: score for number, score in fused.items()}, abs=1e-6)
    ties_by_id = sorted(response.tools, key=lambda tool: (-tool.score, tool.id))
    assert [tool.id for tool in response.tools] == [tool.id for tool in ties_by_id]


@settings(max_examples=40)
@given(query=requests, wanted=filters)
def test_fusion_is_the_weighted_sum_of_z_scores_over_all_that_may_be_seen(
    engine: Engine, query: str, wanted: Mapping[str, tuple[str, ...]]
) -> None:
    seen = _seen(CATALOGUE, wanted)
    features = (
        (1.0, _bm25([tool_text(tool) for tool in CATALOGUE], query)[seen]),
        (0.5, _bm25([params_text(tool) for tool in CATALOGUE], query)[seen]),
        (1.0, _cosine([tool_text(tool) for tool in CATALOGUE], query)[seen]),
        (0.5, _cosine([" ".join(words(tool.title)) for tool in CATALOGUE], query)[seen]),
    )
    total = np.zeros(len(seen))
    for weight, values in features:
        total += weight * (values - values.mean()) / (values.std() if values.std() > 1e-6 else np.inf)
    response = engine.retriever("fusion").retrieve(Request(query=query, k=MAX_K, filters=wanted))
    found = {tool.id: tool.score for tool in response.tools}
    silent = np.all([values == 0 for _, values in features], axis=0)
    expected = {CATALOGUE[number].id: total[place] for place, number in enumerate(seen) if not silent[place]}
    assert found == pytest.approx(expected, abs=1e-2)
    scores = [tool.score for tool in response.tools]
    assert scores == sorted(scores, reverse=True)
