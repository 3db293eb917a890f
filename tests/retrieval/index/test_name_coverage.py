"""Coverage of names against a plain loop over shares of IDF."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.index.bm25 import Bm25Index, coverage_scores, make_coverage_postings

word = st.sampled_from(["order", "item", "supplier", "get", "ü", "订单", "list", "history"])
names = st.lists(st.lists(word, max_size=6), min_size=1, max_size=10)


def share(name: Sequence[str], said: Sequence[str], every: Sequence[Sequence[str]]) -> float:
    """The covered share of a name's IDF, from the definition."""
    idf = {term: math.log(1 + len(every) / (1 + sum(term in other for other in every))) for term in name}
    return sum(idf[term] for term in idf if term in said) / sum(idf.values()) if idf else 0.0


@settings(max_examples=150)
@given(every=names, said=st.lists(word, max_size=8))
def test_coverage_is_the_share_of_the_idf_of_a_name(every: list[list[str]], said: list[str]) -> None:
    found = coverage_scores(Bm25Index(make_coverage_postings(every), len(every)), said)
    assert found.dtype == np.float32
    assert found == pytest.approx([share(name, said, every) for name in every], abs=1e-5)
    assert ((found >= 0) & (found <= 1 + 1e-6)).all()


def test_the_rare_word_of_a_name_counts_more_and_the_history_that_was_not_asked_for_against_it() -> None:
    every = [["get", "order"], ["get", "order", "history"], ["get", "supplier"], ["get", "award"]]
    said = coverage_scores(Bm25Index(make_coverage_postings(every), 4), ["get", "order"])
    assert said[0] == 1.0
    assert said[1] < 0.7
    assert 0 < said[2] == said[3] < 0.5, "the word that all names have says little"
