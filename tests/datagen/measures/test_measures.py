"""Diversity and leakage, against counts by hand."""

from __future__ import annotations

import numpy as np
import pytest

from datagen.measures import distinct_n, measure_diversity, measure_leakage, nearest_cosines
from inference import HashingEncoder
from ontology.tool import Tool

AWARD = Tool(
    id="hr/give_spot_award",
    name="give_spot_award",
    description="Give a spot award to an employee.",
    metadata={"title": "Give spot award"},
)
ORDERS = Tool(id="orders", name="Orders", description="Orders of a customer.")


@pytest.mark.parametrize(
    ("texts", "n", "share"),
    [
        (["pay the bill", "pay the rent"], 1, 4 / 6),
        (["pay the bill", "pay the rent"], 2, 3 / 4),
        (["pay the bill", "pay the rent"], 3, 1.0),
        (["Pay!", "pay"], 1, 1 / 2),
        (["pay"], 2, 0.0),
        ([], 1, 0.0),
    ],
)
def test_distinct_n_grams_are_those_counted_by_hand(texts: list[str], n: int, share: float) -> None:
    assert distinct_n(texts, n) == pytest.approx(share)


def test_the_nearest_cosine_is_that_of_every_pair() -> None:
    texts = [f"order {number} chairs for room {number % 7}" for number in range(1_100)]
    encoder = HashingEncoder()
    vectors = encoder.encode(texts)
    every = vectors @ vectors.T
    np.fill_diagonal(every, -1)
    assert np.allclose(nearest_cosines(texts, encoder), every.max(axis=1), atol=1e-6)


@pytest.mark.parametrize("texts", [[], ["alone"]])
def test_too_few_texts_have_no_nearest(texts: list[str]) -> None:
    diversity = measure_diversity(texts, HashingEncoder())
    assert (diversity.max_cosine, diversity.nearest_cosine) == (0.0, {})
    assert sum(diversity.histogram.counts) == 0


def test_equal_texts_are_at_cosine_one() -> None:
    diversity = measure_diversity(["pay the rent", "pay the rent", "who is Ann"], HashingEncoder())
    assert diversity.max_cosine == pytest.approx(1.0)
    assert diversity.distinct_openings == pytest.approx(2 / 3, abs=1e-4)


def test_content_words_and_pairs_that_stand_in_the_documents_are_counted() -> None:
    # content words: spot, awards, Dana, Friday: two stand there; pairs: spot-award alone does
    leakage = measure_leakage([("r1", "Any spot awards for Dana by Friday?", [AWARD])])
    assert leakage.content_words == pytest.approx(2 / 4)
    assert leakage.content_bigrams == pytest.approx(1 / 3, abs=1e-4)
    assert leakage.ids == ()


def test_words_of_other_tools_are_no_leak() -> None:
    assert measure_leakage([("r1", "Any spot awards for Dana?", [ORDERS])]).content_words == 0


@pytest.mark.parametrize(
    ("text", "leaks"),
    [
        ("run give_spot_award for Dana", True),
        ("call HR/give_spot_award", True),
        ("I want to give spot award to Dana", True),
        ("give Dana a spot award", False),
        ("show me her orders", False),
    ],
)
def test_ids_and_names_as_a_machine_spells_them_are_found(text: str, leaks: bool) -> None:
    assert measure_leakage([("r1", "hello", [ORDERS]), ("r2", text, [AWARD, ORDERS])]).ids == (("r2",) if leaks else ())


def test_no_request_leaks_nothing() -> None:
    nothing = measure_leakage([])
    assert (nothing.requests, nothing.content_words, nothing.content_bigrams) == (0, 0.0, 0.0)
    assert (nothing.requests_with_names, nothing.ids) == (0, ())
