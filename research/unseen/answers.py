"""The answers of every system to the requests of an unseen set, as the ranks at which they are complete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from research.unseen.found_rules import switches_off
from research.unseen.switches import switched
from research.unseen.unseen_set import UnseenSet
from research.unseen.weight_search import Chosen

if TYPE_CHECKING:
    from eval.queries import LabelledQuery
    from retrieval.retriever import Retriever

__all__ = ["CUTOFFS", "Ranks", "completed_rank", "completed_ranks"]

CUTOFFS = (3, 5, 10)
Ranks: TypeAlias = dict[str, list[int]]
"""System → for each request the rank, from 1, at which its answer of ten tools is complete; 11 where it is not."""
_SEEDS = (0, 1, 2)


def completed_ranks(unseen: UnseenSet, chosen: Mapping[str, Chosen], *, controls: bool) -> Ranks:
    """Ask every system.

    :param chosen: system → what was chosen without the set.
    :param controls: whether the controls are asked too; each rewiring is one system a seed.
    """
    found: Ranks = {}
    with switched(switches_off(unseen.name, during="retrieval")):
        for name, factors_of, retriever in _systems(unseen, chosen, controls=controls):
            with switched(chosen[factors_of].factors if factors_of else ()):
                found[name] = [_completed(retriever, query) for query in unseen.queries]
    return found


def _systems(
    unseen: UnseenSet, chosen: Mapping[str, Chosen], *, controls: bool
) -> Iterator[tuple[str, str, Retriever]]:
    """Yield the name of each system, the system whose factors of clause fusion it has (none: the shipped ones), and the system."""
    from benchmarks.controls import CONTROLS, make_control
    from eval.systems.ablations import ABLATIONS
    from research.unseen.flat_tuned import FlatTunedRanker
    from retrieval.baselines.flat import FlatRetriever, make_flat
    from retrieval.graph_retriever import GraphRetriever
    from retrieval.retriever import DEFAULT

    snapshot, encoder = unseen.snapshot, unseen.encoder
    for flat in make_flat(snapshot, encoder):
        yield flat.name, "", flat
    flat_tuned = FlatTunedRanker(chosen["flat-tuned"].weights)
    yield "flat-tuned", "flat-tuned", FlatRetriever(snapshot, encoder, flat_tuned, name="flat-tuned", decomposed=True)
    for name in ("default-no-graph", "default"):
        config = ABLATIONS[name].config if name in ABLATIONS else DEFAULT
        weights = chosen[name].weights
        yield name, name, GraphRetriever(snapshot, encoder, name=name, config=config, weights=weights)
    for name in CONTROLS if controls else ():
        for seed in _SEEDS if "rewired" in name else _SEEDS[:1]:
            weights = chosen["default"].weights
            yield f"{name} {seed}", "default", make_control(name, snapshot, encoder, weights=weights, seed=seed)


def _completed(retriever: Retriever, query: LabelledQuery) -> int:
    from retrieval.query.request import Request

    answer = retriever.retrieve(Request(query=query.text, k=max(CUTOFFS), explain=False))
    return completed_rank([tool.id for tool in answer.tools], query.slots)


def completed_rank(answer: Sequence[str], slots: Sequence[Sequence[str]]) -> int:
    """The rank from 1 at which each slot has a tool; one more than the last cutoff where some slot has none."""
    ranks = {tool: rank for rank, tool in enumerate(answer, start=1)}
    never = max(CUTOFFS) + 1
    return max((min((ranks.get(tool, never) for tool in slot), default=never) for slot in slots), default=never)
