"""What says the same as a request that was kept, by its words or by its vector."""

from __future__ import annotations

import numpy as np

from datagen.run.dedup import NearDuplicateFilter
from inference import HashingEncoder


def test_the_same_words_or_a_close_vector_are_found_and_named() -> None:
    kept = NearDuplicateFilter(HashingEncoder())
    first, same, close, other = (
        "Could you pay the outstanding rent for the flat in Oslo this Friday, please?",
        "could you pay the outstanding rent for the flat in Oslo, this Friday please",
        "Could you pay the outstanding rent for the flat in Oslo this Friday, please please?",
        "Who leads the Oslo office?",
    )
    vectors = kept.encode([first, same, close, other])
    assert kept.find_duplicate(first, vectors[0]) == ""
    kept.add("r1", first, vectors[0])
    assert kept.find_duplicate(same, vectors[1]) == "it says the same as r1"
    assert kept.find_duplicate(close, vectors[2]).startswith("its cosine to r1 is 0.9")
    assert kept.find_duplicate(other, vectors[3]) == ""


def test_it_holds_more_than_it_was_made_for() -> None:
    kept = NearDuplicateFilter(HashingEncoder())
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((2_500, 256)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    before = kept.candidates(vectors[[0, 2_345]])
    for number, candidate in enumerate(kept.candidates(vectors)):
        assert kept.find_duplicate(f"text {number}", candidate) == ""
        kept.add(f"r{number}", f"text {number}", candidate)
    for candidates in (before, kept.candidates(vectors[[0, 2_345]])):  # of a batch, and of one that begins after them
        assert kept.find_duplicate("new", candidates[0]).startswith("its cosine to r0 is 1.000")
        assert kept.find_duplicate("new", candidates[1]).startswith("its cosine to r2345 is 1.000")
    assert sum(map(len, kept.vectors.blocks())) == 2_500
