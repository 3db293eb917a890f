"""Boosts: what the owner of a catalogue adds to the scores of some tools, in an overlay file.

A boost is in standard deviations of the scores of the candidates, at most one up or down. So it decides between tools that are close,
whatever the scale of the scores, and a higher boost never lowers a tool. A tool that is no candidate stays none.
"""

from __future__ import annotations

import numpy as np

from inference.arrays import Floats1d
from retrieval.ranking.ranking import Ranking

__all__ = ["add_boosts"]


def add_boosts(ranking: Ranking, boosts: Floats1d) -> Ranking:
    """The ranking with the boosts of its tools; the feature ``overlay_boost`` is what was added to each score.

    :param boosts: of every tool of the snapshot, in standard deviations of the scores, float32 [tools].
    """
    spread = (float(ranking.scores.std()) if len(ranking.tools) else 0.0) or 1.0
    added = (np.float32(spread) * boosts[ranking.tools]).astype(np.float32)
    features = {**ranking.features, "overlay_boost": added}
    return Ranking(tools=ranking.tools, scores=ranking.scores + added, features=features)
