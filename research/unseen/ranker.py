"""The learned ranker of an unseen set: one that was trained without its catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retrieval.ranking.ranking import Ranker

__all__ = ["ranker_for"]


def ranker_for(name: str, *, graph: bool) -> Ranker | None:
    """Return the learned ranker that was trained without the catalogue of a set.

    None where ``default`` ranks by its weighted sum, as it does now: then the weights are those of a search without the catalogue.

    :param name: the set.
    :param graph: whether the ranker reads features of the graph; one without is of ``default-no-graph``.
    """
    return None
