"""The analysed request: everything is made once, and the encoder is asked once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from inference import Floats2d, HashingEncoder
from ontology.errors import ModelError
from retrieval.graph_retriever import GraphRetriever
from retrieval.index.analysis import ngrams, terms
from retrieval.query.context import QueryContext
from retrieval.query.decompose import MAX_CLAUSES, decompose
from retrieval.query.query import Query, analyse
from retrieval.query.request import MAX_K, Request
from retrieval.snapshot.reader import Snapshot

TEXT = "find the supplier Acme, create a purchase order and give Jan a spot award"


class _Watched(HashingEncoder):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> Floats2d:
        self.asked.append(list(texts))
        return super().encode(texts)


class _Down(HashingEncoder):
    def encode(self, texts: Sequence[str]) -> Floats2d:
        raise ModelError("it does not answer", subject="http://127.0.0.1:9")


def test_the_whole_and_each_clause_are_encoded_in_one_call() -> None:
    encoder = _Watched()
    query = analyse(TEXT, encoder, {}, decomposed=True)
    assert encoder.asked == [[TEXT, *decompose(TEXT)]]
    assert [clause.text for clause in query.clauses] == list(decompose(TEXT))
    for part in (query, *query.clauses):
        assert part.vector_D is not None
        np.testing.assert_allclose(part.vector_D, HashingEncoder().encode([part.text])[0], atol=1e-6)
        assert part.terms == tuple(terms(part.text))


def test_without_decomposition_the_request_is_not_cut() -> None:
    encoder = _Watched()
    query = analyse(TEXT, encoder, {})
    assert encoder.asked == [[TEXT]]
    assert query.clauses == ()


@pytest.mark.parametrize("text", ["give Jan a spot award", "x", "Hello, and?"])
def test_a_request_of_one_clause_has_none_and_is_encoded_once(text: str) -> None:
    encoder = _Watched()
    query = analyse(text, encoder, {}, decomposed=True)
    assert encoder.asked == [[text]]
    assert query.clauses == ()


def test_decomposed_or_not_the_whole_request_is_the_same() -> None:
    split = analyse(TEXT, HashingEncoder(), {"po": "purchase order"}, decomposed=True)
    whole = analyse(TEXT, HashingEncoder(), {"po": "purchase order"})
    assert (split.text, split.terms, split.ngrams) == (whole.text, whole.terms, whole.ngrams)
    assert split.ngrams == tuple(ngrams([TEXT], {}))
    assert split.vector_D is not None and whole.vector_D is not None
    np.testing.assert_allclose(split.vector_D, whole.vector_D, atol=1e-6)


@pytest.mark.parametrize("decomposed", [True, False])
def test_where_the_encoder_is_down_the_words_are_left(snapshot: Snapshot, decomposed: bool) -> None:
    with pytest.raises(ModelError):
        analyse(TEXT, _Down(), {}, decomposed=decomposed)
    context = QueryContext.begin(Request(query=TEXT), snapshot, _Down(), decomposed=decomposed)
    query = context.query
    assert context.fallbacks == ["no semantic matching: it does not answer"]
    assert len(query.clauses) == (len(decompose(TEXT)) if decomposed else 0)
    assert all(part.vector_D is None and part.terms for part in (query, *query.clauses))


def test_no_encoder_wanted_is_nothing_left_out(snapshot: Snapshot) -> None:
    context = QueryContext.begin(Request(query=TEXT), snapshot, None, decomposed=True)
    assert context.fallbacks == [] and context.query.vector_D is None


def test_a_retriever_encodes_a_request_once_however_many_stages_use_it(snapshot: Snapshot) -> None:
    encoder = _Watched()
    GraphRetriever(snapshot, encoder).retrieve(Request(query=TEXT))
    assert encoder.asked == [[TEXT, *decompose(TEXT)]]
    long = ", ".join(f"order paper item{number}" for number in range(40))
    GraphRetriever(snapshot, encoder).retrieve(Request(query=long))
    assert len(encoder.asked[1]) == 1 + MAX_CLAUSES


def test_every_clause_brings_its_tool_by_words_alone(snapshot: Snapshot) -> None:
    response = GraphRetriever(snapshot, _Down()).retrieve(Request(query=TEXT, k=MAX_K))
    assert response.fallbacks == ("no semantic matching: it does not answer",)
    assert {tool.id for tool in response.tools[:3]} == {
        "hr/give_spot_award",
        "procurement/create_purchase_order",
        "procurement/search_suppliers",
    }
    assert all(not name.startswith("cosine") for tool in response.tools for name in tool.reasons.features)


def test_a_query_is_a_clause_of_itself() -> None:
    query = analyse("give Jan a spot award", None, {})
    assert isinstance(query, Query)
    assert query.terms == ("give", "jan", "spot", "award")
