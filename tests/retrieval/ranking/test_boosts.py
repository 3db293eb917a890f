"""Boosts: bounded, monotone, in standard deviations of the scores."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval.ranking.boosts import add_boosts
from retrieval.ranking.ranking import Ranking


def _ranking(scores: list[float], tools: list[int]) -> Ranking:
    return Ranking(tools=np.array(tools, dtype=np.int64), scores=np.array(scores, dtype=np.float32), features={})


def test_a_boost_is_added_in_standard_deviations() -> None:
    boosts = np.array([1.0, 0.0, -0.5, 0.0], dtype=np.float32)
    ranking = add_boosts(_ranking([2.0, 4.0, 6.0], [0, 1, 2]), boosts)
    spread = (8 / 3) ** 0.5
    assert ranking.scores.tolist() == pytest.approx([2 + spread, 4, 6 - spread / 2])
    assert ranking.features["overlay_boost"].tolist() == pytest.approx([spread, 0, -spread / 2])


@pytest.mark.parametrize("scores", [[], [3.0, 3.0]])
def test_candidates_without_spread_are_boosted_by_the_boost_itself(scores: list[float]) -> None:
    ranking = add_boosts(_ranking(scores, list(range(len(scores)))), np.array([0.5, 0.0], dtype=np.float32))
    assert ranking.scores.tolist() == [3.5, 3.0][: len(scores)]
