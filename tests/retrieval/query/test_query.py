"""The analysed request: everything is made once, and the encoder is asked once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from inference import Floats2d, HashingEncoder
from ontology.errors import ModelError
from retrieval.graph_retriever import GraphRetriever
from retrieval.index.bm25 import terms
from retrieval.query.context import QueryContext
from retrieval.query.query import MAX_CLAUSES, analyse, decompose
from retrieval.query.request import Request
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


@pytest.mark.parametrize("decomposed", [True, False])
def test_where_the_encoder_is_down_the_words_are_left(snapshot: Snapshot, decomposed: bool) -> None:
    with pytest.raises(ModelError):
        analyse(TEXT, _Down(), {}, decomposed=decomposed)
    context = QueryContext.begin(Request(query=TEXT), snapshot, _Down(), decomposed=decomposed)
    query = context.query
    assert context.fallbacks == ["no semantic matching: it does not answer"]
    assert len(query.clauses) == (len(decompose(TEXT)) if decomposed else 0)
    assert all(part.vector_D is None and part.terms for part in (query, *query.clauses))


def test_a_retriever_encodes_a_request_once_however_many_stages_use_it(snapshot: Snapshot) -> None:
    encoder = _Watched()
    GraphRetriever(snapshot, encoder).retrieve(Request(query=TEXT))
    assert encoder.asked == [[TEXT, *decompose(TEXT)]]
    long = ", ".join(f"order paper item{number}" for number in range(40))
    GraphRetriever(snapshot, encoder).retrieve(Request(query=long))
    assert len(encoder.asked[1]) == 1 + MAX_CLAUSES
