"""Dependency expansion: the tools without which the best tools cannot work join the answer.

A tool's dependencies, and theirs in turn, get a score a little below the tool's own. The penalty grows with the number of
hops, with the position in the declared list and with the uncertainty of the edge. Only the best three tools are expanded.
Where several of them are close, their dependencies mix in the order of their scores, and what they share takes one place.
This is a budget, not a closure: a dependency far away loses against the next tool that the request itself matches. With
declared dependencies this took a set of device tools from 4 to 90 % CompleteRecall@10; with preconditions that were only
concluded from the device, to 50 %.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ontology.tool import Dependency
from retrieval.ranking.ranking import Ranking
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
_SOURCES = 3  # how many of the best tools are expanded
_MAX_DEPENDENCIES = 15  # of each of them: an answer has about ten tools
# A longer list names what can come before a tool, not what it needs: following such lists cost a set of them 13 points of
# CompleteRecall@10.
_MAX_DECLARED = 7
# Penalties in standard deviations of the scores: for a hop, for each dependency declared before, for an uncertain edge. Each
# further hop multiplies them by a further half, so that a tool's own list goes before the lists of its dependencies. On the
# set whose tools declare their dependencies, half or twice these is within a point of CompleteRecall@10.
_HOP_PENALTY, _POSITION_PENALTY, _UNCERTAINTY_PENALTY = 0.02, 0.03, 0.3
_HOP_GROWTH = 0.5


@dataclass(frozen=True, slots=True)
class RequiredTool:
    """One tool that another depends on.

    :param tool: its number.
    :param penalty: how far below the tool that needs it it ends, in standard deviations of the scores, > 0.
    :param fills: whether it is needed only for a value that fills an input of the other.
    """

    tool: int
    penalty: float
    fills: bool = False


DependenciesOf: TypeAlias = Callable[[int], Sequence[RequiredTool]]
"""The tools that a tool depends on, directly or transitively; the least penalty first."""


def direct_dependencies(snapshot: Snapshot, tool: int) -> list[RequiredTool]:
    """The direct dependencies of a tool, by penalty, then by number. None where it declares more than seven.

    Declared dependencies count in the order in which their author lists them, derived ones by their confidence.
    """
    edges: dict[int, float] = {}
    for needed, confidence in _dependency_edges(snapshot, tool):  # declared and derived are two edges
        edges[needed] = max(edges.get(needed, 0.0), confidence)
    declared: dict[int, list[Dependency]] = {}
    for dependency in snapshot.tool(tool).depends_on if edges else ():
        number = snapshot.find_node(f"tool:{dependency.tool}")
        if number is None:
            continue
        if dependency.required:
            declared.setdefault(number, []).append(dependency)
        else:
            edges.pop(number, None)
    if len(declared) > _MAX_DECLARED:
        return []
    positions = {needed: position for position, needed in enumerate(declared)}
    required = [
        RequiredTool(
            tool=needed,
            penalty=_HOP_PENALTY
            + _POSITION_PENALTY * positions.get(needed, 0)
            - _UNCERTAINTY_PENALTY * math.log(confidence),
            fills=needed in declared and all(each.parameter and each.output for each in declared[needed]),
        )
        for needed, confidence in edges.items()
    ]
    return sorted(required, key=lambda each: (each.penalty, each.tool))


def transitive_dependencies(
    dependencies_of: DependenciesOf, tool: int, *, identified: bool = False
) -> list[RequiredTool]:
    """The 15 dependencies of the least penalty, direct and transitive, without the tool itself; by penalty, then by hops.

    :param dependencies_of: the direct dependencies of a tool.
    :param identified: whether the request holds an identifier: then no tool is needed for a value alone.
    """
    found: dict[int, float] = {}
    heap = [(0.0, 0, tool)]
    while heap and len(found) <= _MAX_DEPENDENCIES:
        penalty, hops, nearest = heapq.heappop(heap)
        if nearest in found:
            continue
        found[nearest] = penalty
        for each in dependencies_of(nearest):
            if each.tool not in found and not (identified and each.fills):
                heapq.heappush(heap, (penalty + each.penalty * (1 + _HOP_GROWTH * hops), hops + 1, each.tool))
    return [RequiredTool(needed, penalty) for needed, penalty in found.items() if needed != tool]


def expand_dependencies(
    ranking: Ranking, dependencies_of: DependenciesOf, *, allowed: NDArray[np.bool_] | None = None
) -> Ranking:
    """The ranking with the dependencies of its best tools raised to just below them; no score falls.

    Dependencies that were no candidates join the tools; their other features are 0. The feature ``dependency_boost`` is by how
    much each was raised: a tool that joins, from the lowest candidate.

    :param dependencies_of: all dependencies of a tool, as :func:`transitive_dependencies` gives them.
    :param allowed: the nodes that the request may see, bool [nodes]; None allows all.
    """
    raised = _raised(ranking, dependencies_of)
    if allowed is not None:
        raised = {tool: score for tool, score in raised.items() if allowed[tool]}
    joined = _joined(ranking, np.asarray(list(raised), dtype=np.int64))
    scores = joined.scores.copy()
    for tool, score in raised.items():
        at = int(np.searchsorted(joined.tools, tool))
        scores[at] = max(scores[at], score)
    features = {**joined.features, "dependency_boost": scores - joined.scores}
    return Ranking(tools=joined.tools, scores=scores, features=features)


def _joined(ranking: Ranking, tools: NDArray[np.int64]) -> Ranking:
    """The ranking with these tools too, each with the score of the lowest candidate and features of 0."""
    new = np.setdiff1d(tools, ranking.tools) if len(tools) else tools
    if not len(new):
        return ranking
    places = np.searchsorted(ranking.tools, new)
    lowest = ranking.scores.min() if len(ranking.tools) else 0.0
    return Ranking(
        tools=np.insert(ranking.tools, places, new),
        scores=np.insert(ranking.scores, places, lowest),
        features={name: np.insert(values, places, 0.0) for name, values in ranking.features.items()},
    )


def _raised(ranking: Ranking, dependencies_of: DependenciesOf) -> dict[int, float]:
    """Required tool → the highest score that one of the best tools raises it to."""
    scores = ranking.scores
    spread = (float(scores.std()) if len(scores) else 0.0) or 1.0
    raised: dict[int, float] = {}
    for place in ranking.best(_SOURCES):
        for each in dependencies_of(int(ranking.tools[place])):
            score = float(scores[place]) - each.penalty * spread
            raised[each.tool] = max(raised.get(each.tool, score), score)
    return raised


def _dependency_edges(snapshot: Snapshot, tool: int) -> Iterator[tuple[int, float]]:
    """The tools that a tool depends on, with the confidence of the edge, in (0, 1]."""
    adjacency = snapshot.adjacency
    for edge in map(int, adjacency.out_edges(tool)):
        needed, confidence = adjacency.tail(edge), float(adjacency.confidences[edge])
        depends = snapshot.predicates[adjacency.predicates[edge]] == DEPENDS_ON
        if depends and needed < snapshot.tool_count and needed != tool and confidence > 0.0:
            yield needed, confidence
