"""Do the edges join what requests need together? Shares of requests, beside what edges drawn at random would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from eval.graph_quality.edges import Flags, ToolEdges
from eval.graph_quality.proportion import Proportion
from eval.queries import QuerySet
from retrieval.snapshot.reader import Snapshot

__all__ = ["ANY_TOOL_EDGE", "PARTS", "SHUFFLES", "TWO_EDGES", "TWO_TOOL_EDGES", "joined_requests"]

SHUFFLES = 20
ANY_TOOL_EDGE = "an edge between tools"
TWO_TOOL_EDGES = "at most 2 edges between tools"
TWO_EDGES = "at most 2 edges of any kind"
"""Also through a node that both tools touch; hubs are left out."""
PARTS = ("two", "all")

Counts = Mapping[str, tuple[int, int]]
"""Relation → in how many requests it joins two tools, and all."""


def joined_requests(snapshot: Snapshot, queries: QuerySet, *, seed: int = 0) -> dict[str, Any]:
    """For each relation, the share of the requests with several tools in which it joins two of them, and all of them.

    Gold tools that the catalogue does not have are left out. The chance levels are means over :data:`SHUFFLES` graphs in
    which the edges of each predicate swapped their far ends: each tool and each node keeps its number of edges, and
    only who is joined with whom is drawn; for ``chance_in_system`` only among edges that join the same two systems, since
    a request's tools are mostly of one system, and so are an edge's.
    """
    gold = [tools for query in queries.queries if len(tools := _known(snapshot, query.tools)) > 1]
    edges = ToolEdges.of(snapshot)
    requests = _Requests(gold, snapshot.tool_count)
    true = _counts(edges, requests)
    random = np.random.default_rng(seed)
    drawn = {
        name: [_counts(edges.shuffled(random, within_systems=within), requests) for _ in range(SHUFFLES if gold else 0)]
        for name, within in (("chance", False), ("chance_in_system", True))
    }
    return {
        "requests": len(gold),
        "of_requests": len(queries.queries),
        "shuffles": SHUFFLES,
        "relations": [
            {
                "relation": relation,
                **{part: _figure(relation, at, true, drawn, len(gold)) for at, part in enumerate(PARTS)},
            }
            for relation in (true if gold else ())
        ],
    }


def _figure(relation: str, part: int, true: Counts, drawn: Mapping[str, Sequence[Counts]], of: int) -> dict[str, Any]:
    """A share of requests with its interval, and mean and maximum of that share in the drawn graphs."""
    figure = Proportion(true[relation][part], of).to_json()
    for name, graphs in drawn.items():
        counts = [counts[relation][part] for counts in graphs]
        figure |= {name: sum(counts) / len(counts) / of, f"{name}_max": max(counts) / of}
    return figure


def _known(snapshot: Snapshot, tools: Sequence[str]) -> list[int]:
    numbers = (snapshot.find_node(f"tool:{tool}") for tool in tools)
    return sorted({number for number in numbers if number is not None})


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


def _counts(edges: ToolEdges, requests: _Requests) -> Counts:
    pairs, between = requests.pairs, edges.between_tools()
    found = {name: edges.direct(edges.between_tools(kind), pairs) for name, kind in edges.names.items()}
    found[ANY_TOOL_EDGE] = edges.direct(between, pairs)
    found[TWO_TOOL_EDGES] = found[ANY_TOOL_EDGE] | edges.through_one(between, pairs)
    found[TWO_EDGES] = found[ANY_TOOL_EDGE] | edges.through_one(np.ones_like(between), pairs)
    return {name: requests.count(joined) for name, joined in found.items()}
