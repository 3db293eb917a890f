"""Needs: the tools that the best tools cannot work without, as their documents declare or their device makes likely.

A tool that depends on others is unrolled: its needs, and theirs, end a little below it, the further down the longer the way,
the later they were named and the less sure the edge. The best three tools pull. Where it is open which of them is meant,
their needs mix in the order of their scores, and what several of them need takes one place. That is evidence and budget, not
closure: a need far down a long way loses against the next tool that the request itself speaks for. With dependencies
declared, this took a set of device tools from 4 to 90 % CompleteRecall@10; with the habits of the device alone, to 50 %.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d
from ontology.tool import Dependency
from retrieval.ranking.fusion import Ranking
from retrieval.snapshot.reader import Snapshot

__all__ = [
    "DEPENDS_ON",
    "DependenciesOf",
    "RequiredTool",
    "direct_dependencies",
    "expand_dependencies",
    "transitive_dependencies",
]

DEPENDS_ON = "depends_on"
_PULLING = 3  # the best so many tools pull
# Each at most so many: an answer has ten tools or so, and what is farther away is in none.
_MOST = 15
# Who declares more lists what could come before a tool, not what it cannot do without: following such lists cost a set of
# them 13 points of CompleteRecall@10.
_MOST_DECLARED = 7
# In standard deviations of the scores: for a step, for each need that was named before, and for doubt. What a need of a tool
# needs in turn counts half as much again for each step, so that a tool's own list goes before the lists of its needs. On the
# set whose tools declare their needs, half or twice these is within a point of CompleteRecall@10.
_STEP, _PLACE, _DOUBT = 0.02, 0.03, 0.3
_FARTHER = 0.5
# OData's road from one entity to another: it can be taken, it need not.
_ROAD = "navigation "


@dataclass(frozen=True, slots=True)
class RequiredTool:
    """One tool that another cannot work without.

    :param tool: its number.
    :param penalty: how far below the tool that needs it it ends, in standard deviations of the scores, > 0.
    :param fills: whether all that it is needed for is a value that an input of the other takes.
    """

    tool: int
    penalty: float
    fills: bool = False


DependenciesOf: TypeAlias = Callable[[int], Sequence[RequiredTool]]
"""What a tool needs: itself, or with all that its needs need in turn; the nearest first."""


def direct_dependencies(snapshot: Snapshot, tool: int) -> list[RequiredTool]:
    """What a tool needs itself, the nearest first, then by number. None where it declares more than seven.

    What its documents declare counts in their order, which is the author's: who lists a login before the brightness of the
    screen says what matters. What was only concluded counts by its confidence.
    """
    edges: dict[int, float] = {}
    for needed, confidence in _edges(snapshot, tool):  # declared and concluded are two edges
        edges[needed] = max(edges.get(needed, 0.0), confidence)
    declared: dict[int, list[Dependency]] = {}
    for dependency in snapshot.tool(tool).depends_on if edges else ():
        number = snapshot.find_node(f"tool:{dependency.tool}")
        if number is None:
            continue
        if dependency.parameter or not dependency.reason.startswith(_ROAD):
            declared.setdefault(number, []).append(dependency)
        else:
            edges.pop(number, None)
    if len(declared) > _MOST_DECLARED:
        return []
    places = {needed: place for place, needed in enumerate(declared)}
    needs = [
        RequiredTool(
            tool=needed,
            penalty=_STEP + _PLACE * places.get(needed, 0) - _DOUBT * math.log(confidence),
            fills=needed in declared and all(each.parameter and each.output for each in declared[needed]),
        )
        for needed, confidence in edges.items()
    ]
    return sorted(needs, key=lambda need: (need.penalty, need.tool))


def transitive_dependencies(needs_of: DependenciesOf, tool: int, *, given: bool = False) -> list[RequiredTool]:
    """The nearest 15 of all that a tool needs, in turn and in turn again, without itself: by fall, then by steps.

    :param needs_of: what a tool needs itself.
    :param given: whether the request gives an identifier itself: then nothing is needed for a value alone.
    """
    found: dict[int, float] = {}
    heap = [(0.0, 0, tool)]
    while heap and len(found) <= _MOST:
        fall, steps, nearest = heapq.heappop(heap)
        if nearest in found:
            continue
        found[nearest] = fall
        for need in needs_of(nearest):
            if need.tool not in found and not (given and need.fills):
                heapq.heappush(heap, (fall + need.penalty * (1 + _FARTHER * steps), steps + 1, need.tool))
    return [RequiredTool(needed, fall) for needed, fall in found.items() if needed != tool]


def expand_dependencies(
    ranking: Ranking, tools: NDArray[np.int64], needs_of: DependenciesOf, *, allowed: NDArray[np.bool_] | None = None
) -> tuple[Ranking, NDArray[np.int64]]:
    """The ranking with the needs of the best tools lifted to just below them, and its tools, ascending; none falls.

    Needs that were no candidates join the tools. The feature ``dependency_boost`` says by how much each was lifted: a tool that joins,
    from the lowest candidate; its other features are 0, for nothing in the request spoke for it.

    :param tools: the candidates, ascending; ``ranking`` has one score for each.
    :param needs_of: all that a tool needs, as :func:`transitive_dependencies` gives it.
    :param allowed: the nodes that the request may see, bool [nodes]; None allows all.
    """
    pulled = _pulled(ranking.scores, tools, needs_of)
    if not pulled:
        return replace(ranking, features={**ranking.features, "dependency_boost": np.zeros_like(ranking.scores)}), tools
    if allowed is not None:
        pulled = {tool: score for tool, score in pulled.items() if allowed[tool]}
    new = np.setdiff1d(np.asarray(list(pulled), dtype=np.int64), tools)
    places = np.searchsorted(tools, new)
    joined = np.insert(tools, places, new)
    before = np.insert(ranking.scores, places, ranking.scores.min() if len(tools) else 0.0)
    after = before.copy()
    for tool, score in pulled.items():
        at = int(np.searchsorted(joined, tool))
        after[at] = max(after[at], score)
    features = {name: np.insert(values, places, 0.0) for name, values in ranking.features.items()}
    return Ranking(scores=after, features={**features, "dependency_boost": after - before}), joined


def _pulled(scores: Floats1d, tools: NDArray[np.int64], needs_of: DependenciesOf) -> dict[int, float]:
    """Needed tool → the score that the best of the tools that pull it lifts it to."""
    spread = (float(scores.std()) if len(scores) else 0.0) or 1.0
    pulled: dict[int, float] = {}
    for place in np.lexsort((tools, -scores))[:_PULLING]:
        for need in needs_of(int(tools[place])):
            score = float(scores[place]) - need.penalty * spread
            pulled[need.tool] = max(pulled.get(need.tool, score), score)
    return pulled


def _edges(snapshot: Snapshot, tool: int) -> Iterator[tuple[int, float]]:
    """The tools that a tool depends on, with the confidence of the edge, in (0, 1]."""
    adjacency = snapshot.adjacency
    for edge in map(int, adjacency.out_edges(tool)):
        needed, confidence = adjacency.tail(edge), float(adjacency.confidences[edge])
        depends = snapshot.predicates[adjacency.predicates[edge]] == DEPENDS_ON
        if depends and needed < snapshot.tool_count and needed != tool and confidence > 0.0:
            yield needed, confidence
