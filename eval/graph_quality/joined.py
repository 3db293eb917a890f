"""Do the edges join what requests need together? Shares of requests, beside what edges drawn at random would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.graph_quality.hubs import hubs
from eval.graph_quality.pairs import NEED_PREDICATES, Pairs, encode
from eval.graph_quality.proportion import Proportion
from eval.queries import QuerySet
from retrieval.snapshot import Snapshot

__all__ = ["ANY_TOOL_EDGE", "SHUFFLES", "TWO_EDGES", "TWO_TOOL_EDGES", "joined_requests"]

SHUFFLES = 20
ANY_TOOL_EDGE = "an edge between tools"
TWO_TOOL_EDGES = "at most 2 edges between tools"
TWO_EDGES = "at most 2 edges of any kind"
"""Also through a node that both tools touch; hubs are left out."""

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def joined_requests(snapshot: Snapshot, queries: QuerySet, *, seed: int = 0) -> dict[str, Any]:
    """For each relation, the share of the requests with several tools in which it joins two of them, and all of them.

    Gold tools that the catalogue does not have are left out. The chance level is the mean over :data:`SHUFFLES` graphs in
    which the edges of each predicate swapped their far ends: each tool and each node keeps its number of edges, and
    only who is joined with whom is drawn.
    """
    gold = [tools for query in queries.queries if len(tools := _known(snapshot, query.tools)) > 1]
    edges = _Edges.of(snapshot)
    requests = _Requests(gold, snapshot.tool_count)
    random = np.random.default_rng(seed)
    true = _counts(edges, requests)
    drawn = [_counts(edges.shuffled(random), requests) for _ in range(SHUFFLES if gold else 0)]
    return {
        "requests": len(gold),
        "of_requests": len(queries.queries),
        "shuffles": len(drawn),
        "relations": [
            {
                "relation": relation,
                **{
                    name: _figure(counts[part], [one[relation][part] for one in drawn], len(gold))
                    for part, name in enumerate(("two", "all"))
                },
            }
            for relation, counts in true.items()
        ],
    }


def _figure(count: int, drawn: Sequence[int], of: int) -> dict[str, Any]:
    """A share of requests with its interval, and mean and maximum of the shares in the drawn graphs."""
    chance = {"chance": sum(drawn) / len(drawn) / of, "chance_max": max(drawn) / of} if drawn else {}
    return {**Proportion(count, of).to_json(), "chance": None, "chance_max": None, **chance}


def _known(snapshot: Snapshot, tools: Sequence[str]) -> list[int]:
    numbers = (snapshot.find_node(f"tool:{tool}") for tool in tools)
    return sorted({number for number in numbers if number is not None})


@dataclass(frozen=True)
class _Edges:
    """The edges that touch a tool, those to hubs left out; equal ones once.

    :param kinds: for each edge a number that edges of one predicate, with tools or without at the far end, share.
    :param names: the predicates between tools that the graph has.
    """

    heads: Numbers
    tails: Numbers
    kinds: Numbers
    names: dict[str, int]
    tool_count: int
    node_count: int

    @classmethod
    def of(cls, snapshot: Snapshot) -> _Edges:
        graph, tools = snapshot.adjacency, snapshot.tool_count
        hub = hubs(snapshot)
        kept = ((graph.heads < tools) | (graph.tails < tools)) & ~hub[graph.heads] & ~hub[graph.tails]
        rows = np.stack((graph.heads, graph.tails, graph.predicates), axis=1)[kept].astype(np.int64)
        heads, tails, predicates = np.unique(rows, axis=0).T
        kinds = 2 * predicates + ((heads < tools) & (tails < tools))
        numbers = {
            name: 2 * snapshot.predicates.index(name) + 1 for name in NEED_PREDICATES if name in snapshot.predicates
        }
        names = {name: kind for name, kind in numbers.items() if kind in kinds}
        return cls(heads, tails, kinds, names, tools, len(snapshot.nodes))

    def shuffled(self, random: np.random.Generator) -> _Edges:
        """The same edges with their tails swapped at random within each kind."""
        drawn = np.lexsort((random.random(len(self.kinds)), self.kinds))
        tails = np.empty_like(self.tails)
        tails[np.argsort(self.kinds, kind="stable")] = self.tails[drawn]
        return replace(self, tails=tails)

    def between_tools(self, kind: int | None = None) -> Flags:
        """Which edges lead from tool to tool, all or of one kind."""
        return np.asarray(self.kinds % 2 == 1 if kind is None else self.kinds == kind)

    def direct(self, chosen: Flags, pairs: Pairs) -> Flags:
        """Which of the pairs one of the chosen edges joins."""
        heads, tails = self.heads[chosen], self.tails[chosen]
        joined = encode(np.minimum(heads, tails), np.maximum(heads, tails), self.tool_count)
        return np.isin(pairs, joined, assume_unique=True)

    def through_one(self, chosen: Flags, pairs: Pairs) -> Flags:
        """Which of the pairs have a neighbour in common along the chosen edges."""
        first, second = np.divmod(pairs, self.tool_count)
        near = self._neighbours(chosen, np.union1d(first, second))
        nothing: frozenset[int] = frozenset()
        found = (
            not near.get(one, nothing).isdisjoint(near.get(other, nothing))
            for one, other in zip(first.tolist(), second.tolist(), strict=True)
        )
        return np.fromiter(found, dtype=bool, count=len(pairs))

    def _neighbours(self, chosen: Flags, tools: Numbers) -> dict[int, frozenset[int]]:
        wanted = np.zeros(self.node_count, dtype=bool)
        wanted[tools] = True
        near = np.concatenate((self.heads[chosen], self.tails[chosen]))
        far = np.concatenate((self.tails[chosen], self.heads[chosen]))
        near, far = near[wanted[near]], far[wanted[near]]
        order = np.argsort(near, kind="stable")
        near, far = near[order], far[order]
        starts = np.searchsorted(near, tools)
        ends = np.searchsorted(near, tools, side="right")
        return {
            tool: frozenset(far[start:end].tolist())
            for tool, start, end in zip(tools.tolist(), starts.tolist(), ends.tolist(), strict=True)
        }


class _Requests:
    """The pairs of tools that requests need together.

    :param gold: for each request its tools, two at least, ascending.
    """

    def __init__(self, gold: Sequence[Sequence[int]], tool_count: int) -> None:
        self.gold = gold
        pairs = [one * tool_count + other for tools in gold for one, other in combinations(tools, 2)]
        self.pairs, self._places = np.unique(np.asarray(pairs, dtype=np.int64), return_inverse=True)
        self._starts = np.cumsum([0, *(len(tools) * (len(tools) - 1) // 2 for tools in gold)])

    def count(self, joined: Flags) -> tuple[int, int]:
        """In how many requests two tools are joined, and in how many all are, given which pairs are."""
        two = all_ = 0
        for tools, start, end in zip(self.gold, self._starts[:-1], self._starts[1:], strict=True):
            links = joined[self._places[start:end]]
            number = int(links.sum())
            two += number > 0
            all_ += number >= len(tools) - 1 and _connected(len(tools), links)
        return two, all_


def _connected(count: int, links: Flags) -> bool:
    """Whether ``links``, one flag for each pair of ``count`` things in order, make one piece of them."""
    piece = list(range(count))
    for (one, other), linked in zip(combinations(range(count), 2), links.tolist(), strict=True):
        if linked and piece[one] != piece[other]:
            old, new = piece[other], piece[one]
            piece = [new if number == old else number for number in piece]
    return len(set(piece)) == 1


def _counts(edges: _Edges, requests: _Requests) -> dict[str, tuple[int, int]]:
    pairs, between = requests.pairs, edges.between_tools()
    found = {name: edges.direct(edges.between_tools(kind), pairs) for name, kind in edges.names.items()}
    found[ANY_TOOL_EDGE] = edges.direct(between, pairs)
    found[TWO_TOOL_EDGES] = found[ANY_TOOL_EDGE] | edges.through_one(between, pairs)
    found[TWO_EDGES] = found[ANY_TOOL_EDGE] | edges.through_one(np.ones_like(between), pairs)
    return {name: requests.count(joined) for name, joined in found.items()}
