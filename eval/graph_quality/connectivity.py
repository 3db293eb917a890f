"""Connectivity: the share of requests whose tools are connected by edges, compared with random edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from eval.graph_quality.tool_edges import Flags, ToolEdges
from eval.queries import QuerySet
from ontology.proportion import Proportion
from retrieval.snapshot.reader import Snapshot

__all__ = ["ANY_TOOL_EDGE", "Connectivity", "ConnectivityShare", "Relation", "measure_connectivity"]

ANY_TOOL_EDGE = "an edge between tools"
_TWO_TOOL_EDGES = "at most 2 edges between tools"
_TWO_EDGES = "at most 2 edges of any kind"  # also through a common neighbour that is not a hub
_SHUFFLES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectivityShare:
    """A share of the requests, and the chance level: the same share in graphs with permuted edges.

    :param chance: mean over the random graphs, in [0, 1]; ``chance_max``: their maximum.
    :param chance_in_system: the same, with ends permuted only among edges between the same two systems.
    """

    share: Proportion
    chance: float
    chance_max: float
    chance_in_system: float
    chance_in_system_max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """The share of requests for which a relation connects at least ``two`` of the tools, or ``all``."""

    relation: str
    two: ConnectivityShare
    all: ConnectivityShare


@dataclass(frozen=True, slots=True, kw_only=True)
class Connectivity:
    """The relations between tools, over the requests that need several tools.

    :param requests: number of these requests, of ``of_requests``.
    :param shuffles: number of random graphs for each chance level.
    """

    requests: int
    of_requests: int
    shuffles: int
    relations: tuple[Relation, ...]


class _Count(NamedTuple):
    """The number of requests for which a relation connects two tools, and all tools."""

    two: int
    all: int


_Counts = Mapping[str, _Count]


def measure_connectivity(snapshot: Snapshot, queries: QuerySet, *, seed: int = 0) -> Connectivity:
    """Measure for each relation the share of requests with several tools for which it connects two, or all, of them.

    Of alternatives, the first counts. Gold tools that the catalogue does not have are left out. In the random graphs the tails of the edges of each predicate
    are permuted, so each tool and each node keeps its number of edges. Permuting within the same two systems is the
    stricter comparison, because the tools of a request are mostly of one system, and so are the tools of an edge.
    """
    firsts = [[slot[0] for slot in query.slots] for query in queries.queries]
    gold = [known for tools in firsts if len(known := _known(snapshot, tools)) > 1]
    edges = ToolEdges.of(snapshot)
    requests = _Requests(gold, snapshot.tool_count)
    true = _counts(edges, requests)
    random = np.random.default_rng(seed)
    drawn = [
        [_counts(edges.shuffled(random, within_systems=within), requests) for _ in range(_SHUFFLES if gold else 0)]
        for within in (False, True)
    ]
    relations = [
        Relation(
            relation=name,
            two=_share(true[name].two, [[counts[name].two for counts in each] for each in drawn], len(gold)),
            all=_share(true[name].all, [[counts[name].all for counts in each] for each in drawn], len(gold)),
        )
        for name in (true if gold else ())
    ]
    return Connectivity(
        requests=len(gold), of_requests=len(queries.queries), shuffles=_SHUFFLES, relations=tuple(relations)
    )


def _share(true: int, drawn: Sequence[Sequence[int]], requests: int) -> ConnectivityShare:
    """:param drawn: the counts of the random graphs, permuted over all edges, and within systems."""
    anywhere, in_system = drawn
    return ConnectivityShare(
        share=Proportion(true, requests),
        chance=sum(anywhere) / len(anywhere) / requests,
        chance_max=max(anywhere) / requests,
        chance_in_system=sum(in_system) / len(in_system) / requests,
        chance_in_system_max=max(in_system) / requests,
    )


def _known(snapshot: Snapshot, tools: Sequence[str]) -> list[int]:
    numbers = (snapshot.find_node(f"tool:{tool}") for tool in tools)
    return sorted({number for number in numbers if number is not None})


class _Requests:
    """The pairs of tools that requests need together.

    :param gold: for each request the numbers of its tools, at least two, ascending.
    """

    def __init__(self, gold: Sequence[Sequence[int]], tool_count: int) -> None:
        self.gold = gold
        pairs = [one * tool_count + other for tools in gold for one, other in combinations(tools, 2)]
        self.pairs, self._places = np.unique(np.asarray(pairs, dtype=np.int64), return_inverse=True)
        self._starts = np.cumsum([0, *(len(tools) * (len(tools) - 1) // 2 for tools in gold)])

    def count(self, joined: Flags) -> _Count:
        """Count the requests with two connected tools, and with all tools connected.

        :param joined: for each of ``pairs``, whether it is connected.
        """
        two = all_ = 0
        for tools, start, end in zip(self.gold, self._starts[:-1], self._starts[1:], strict=True):
            links = joined[self._places[start:end]]
            number = int(links.sum())
            two += number > 0
            all_ += number >= len(tools) - 1 and _connected(len(tools), links)
        return _Count(two, all_)


def _connected(count: int, links: Flags) -> bool:
    """Whether ``links``, a flag for each pair of ``count`` nodes in order, connect all nodes."""
    component = list(range(count))
    for (one, other), linked in zip(combinations(range(count), 2), links.tolist(), strict=True):
        if linked and component[one] != component[other]:
            old, new = component[other], component[one]
            component = [new if number == old else number for number in component]
    return len(set(component)) == 1


def _counts(edges: ToolEdges, requests: _Requests) -> _Counts:
    pairs, between = requests.pairs, edges.between_tools()
    found = {name: edges.direct(edges.between_tools(kind), pairs) for name, kind in edges.names.items()}
    found[ANY_TOOL_EDGE] = edges.direct(between, pairs)
    found[_TWO_TOOL_EDGES] = found[ANY_TOOL_EDGE] | edges.through_one(between, pairs)
    found[_TWO_EDGES] = found[ANY_TOOL_EDGE] | edges.through_one(np.ones_like(between), pairs)
    return {name: requests.count(joined) for name, joined in found.items()}
