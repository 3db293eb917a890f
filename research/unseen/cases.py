"""The requests of unseen sets as cases, so that a search tries weights without a new retrieval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ontology.errors import InvalidArgumentError
from research.unseen.answers import CUTOFFS
from research.unseen.found_rules import catalogue_of, switches_off
from research.unseen.switches import switched
from research.unseen.unseen_set import UnseenSet
from research.unseen.weight_search import FLAT, Chosen, SearchSpace, best_mean

if TYPE_CHECKING:
    from eval.tuning import Case

__all__ = ["choose_without", "collect_cases", "spaces"]


def spaces() -> dict[str, SearchSpace]:
    """Return what is searched of each system whose weights are chosen: ``flat-tuned`` is the flat rival ``fusion-clauses``, tuned."""
    from eval.systems.ablations import ABLATIONS
    from retrieval.ranking.weights import SHIPPED

    names = tuple(SHIPPED)
    graph = (*ABLATIONS["default-no-graph"].zero, "resolver_margin")
    return {
        "default": SearchSpace(names),
        "default-no-graph": SearchSpace(tuple(name for name in names if name not in graph)),
        "flat-tuned": SearchSpace(FLAT),
    }


def collect_cases(unseen: UnseenSet, system: str, limit: int) -> list[Case]:
    """Return at most so many requests of a set with the candidates and features of a system of :func:`spaces`."""
    from eval.systems.ablations import ABLATIONS
    from eval.tuning import collect
    from ontology.reporting import no_progress
    from research.unseen.flat_tuned import flat_cases
    from retrieval.graph_retriever import GraphRetriever
    from retrieval.retriever import DEFAULT

    queries = unseen.queries[:limit]
    with switched(switches_off(unseen.name, during="retrieval")):
        if system == "flat-tuned":
            return flat_cases(unseen.snapshot, unseen.encoder, queries)
        config = DEFAULT if system == "default" else ABLATIONS[system].config
        retriever = GraphRetriever(unseen.snapshot, unseen.encoder, config=config)
        return collect(retriever, unseen.snapshot, queries, no_progress)


def choose_without(
    cases: Mapping[str, Sequence[Case]], space: SearchSpace, names: Sequence[str], *, budget: int
) -> dict[str, Chosen]:
    """Return for each set what is chosen on the sets of all other catalogues.

    :param cases: set → its cases.
    :param names: the sets to choose for; they need no cases.
    :param budget: how many points are tried.
    :raises InvalidArgumentError: where all cases are of the set's own catalogue.
    """
    points = space.draw(budget, seed=0)
    worth = {
        name: np.array([_worth(of_set, name, space.at(point)) for point in points]) for name, of_set in cases.items()
    }
    found: dict[str, Chosen] = {}
    for name in names:
        others = [values for other, values in worth.items() if catalogue_of(other) != catalogue_of(name)]
        if not others:
            raise InvalidArgumentError(
                "no other catalogue is there to choose weights on", subject=name, remedy="Name sets of two catalogues"
            )
        found[name] = best_mean(space, points, np.mean(others, axis=0))
    return found


def _worth(cases: Sequence[Case], name: str, chosen: Chosen) -> float:
    """Return the smooth CompleteRecall of a set, in [0, 1]."""
    from eval.tuning import smooth_recall

    with switched([*switches_off(name, during="retrieval"), *chosen.factors]):
        return smooth_recall(cases, chosen.weights, CUTOFFS)
