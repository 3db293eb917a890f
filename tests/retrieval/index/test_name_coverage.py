"""Coverage of names against a plain loop over shares of IDF."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontology import Tool
from retrieval.index.analysis import terms
from retrieval.index.bm25 import Bm25Index, read_bm25, write_postings
from retrieval.index.name_coverage import coverage_scores, make_coverage_postings, name_terms
from retrieval.snapshot.reader import Snapshot

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


@settings(max_examples=60)
@given(every=names, others=st.lists(word, max_size=4))
def test_all_of_a_name_said_in_any_order_is_1_and_nothing_of_it_0(every: list[list[str]], others: list[str]) -> None:
    index = Bm25Index(make_coverage_postings(every), len(every))
    for number, name in enumerate(every):
        if name:
            assert coverage_scores(index, [*others, *reversed(name), *name])[number] == pytest.approx(1.0, abs=1e-6)
        assert coverage_scores(index, [term for term in others if term not in name])[number] == 0


def test_the_rare_word_of_a_name_counts_more_and_the_history_that_was_not_asked_for_against_it() -> None:
    every = [["get", "order"], ["get", "order", "history"], ["get", "supplier"], ["get", "award"]]
    said = coverage_scores(Bm25Index(make_coverage_postings(every), 4), ["get", "order"])
    assert said[0] == 1.0
    assert said[1] < 0.7
    assert 0 < said[2] == said[3] < 0.5, "the word that all names have says little"


def test_a_name_beside_the_title_counts_too() -> None:
    titled = Tool(id="a/po_list", name="po_list", description="", metadata={"title": "List purchase orders"})
    assert name_terms(titled) == ["list", "purchase", "order", "po", "list"]
    plain = Tool(id="a/po_list", name="po_list", description="")
    assert name_terms(plain) == terms(plain.title)


@settings(max_examples=30)
@given(every=names, said=st.lists(word, max_size=4))
def test_it_is_read_back_as_it_was_written(tmp_path: Path, every: list[list[str]], said: list[str]) -> None:
    postings = make_coverage_postings(every)
    write_postings(tmp_path, "names", postings)
    read = read_bm25(tmp_path, "names", len(every))
    assert coverage_scores(read, said).tolist() == coverage_scores(Bm25Index(postings, len(every)), said).tolist()


def test_a_snapshot_knows_what_its_names_cover(snapshot: Snapshot) -> None:
    every = [name_terms(snapshot.tool(number)) for number in range(snapshot.tool_count)]
    said = terms("create a purchase order and give an award")
    expected = [share(name, said, every) for name in every]
    assert coverage_scores(snapshot.names_index, said) == pytest.approx(expected, abs=1e-5)
