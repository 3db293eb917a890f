"""How many past requests of one reporter are among the nearest: at most two, or twice its share."""

from __future__ import annotations

import numpy as np

from retrieval.index.bm25 import make_postings
from retrieval.index.learned_use import LearnedUse, UsedWith

_NONE = np.empty(0, dtype=np.int32)


def _past(reporters: list[int], cosines: list[float], tools: list[int]) -> LearnedUse:
    """Past requests of one tool each, with their cosines to the request (1, 0)."""
    near = np.asarray(cosines, dtype=np.float32)
    size = len(reporters)
    return LearnedUse(
        vectors_PD=np.stack((near, np.sqrt(1 - near**2)), axis=1),
        words=make_postings([[] for _ in reporters]),
        lengths=np.ones(size, dtype=np.float32),
        pointers=np.arange(size + 1, dtype=np.int64),
        tools=np.asarray(tools, dtype=np.int32),
        weights=np.ones(size, dtype=np.float32),
        reporters=np.asarray(reporters, dtype=np.int32),
        used_with=UsedWith(
            heads=_NONE, tails=_NONE, confidences=_NONE.astype(np.float32), sessions=_NONE, reporters=_NONE
        ),
        min_reporters=2,
    )


def test_who_reports_most_has_two_votes_among_many_reporters() -> None:
    """One reporter says 18 times, nearest of all, what another says once; 38 others say something else once each."""
    reporters = [0] * 18 + [1] + list(range(2, 40))
    cosines = [0.9] * 18 + [0.9] + [0.8] * 38
    votes = _past(reporters, cosines, [7] * 19 + [5] * 38).votes(np.asarray([1, 0], dtype=np.float32), {})
    counted = dict(zip(votes.tools.tolist(), votes.sessions.tolist(), strict=True))
    assert counted == {5: 17, 7: 3}, "two of the first reporter, one of the second, and the nearest others"
