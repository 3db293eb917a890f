"""Tools that take the values of a request: a value with the shape of a tool's input speaks for that tool.

"C-21066" may be the only word of a request for the tool that closes cases. What a shape identifies also speaks, less, for the tools
that take an identifier of that entity without showing an example, and for those that act on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

from retrieval.index.identifier_prefix import letters_before_digits
from retrieval.index.value_shapes import ShapeMatch
from retrieval.query.typed_values import LEAST_SPECIFIC, TypedValue
from retrieval.snapshot.reader import Snapshot

__all__ = ["support_by_values"]

# All chosen, not tuned.
_WIDENED = 0.3  # a shape of any letters, next to one of those that were shown
_TAKES_ENTITY, _ACTS_ON_ENTITY = 0.7, 0.4  # next to an input that shows the shape
_MAX_ENTITIES = 3  # a shape of more entities names none of them
_MAX_ABBREVIATED = 20  # a prefix of more entities says none of them
_MAX_TOOLS = 200  # that are followed from one entity
_IDENTIFIER = "identifier"
_MAX_VALUES = 20  # distinct values of a request that speak


def support_by_values(snapshot: Snapshot, values: Sequence[TypedValue]) -> dict[int, float]:
    """Tool number → how strongly the values of a request fit its inputs, > 0; tools that no value speaks for are left out.

    A value speaks at most with 1, for a tool that is the only one with an input of its shape. The fewer such tools there are, the more
    it says (inverse document frequency over the tools). Outputs do not count.
    """
    support: dict[int, float] = {}
    distinct = {value.text: value for value in values if value.matches or value.kind == _IDENTIFIER}
    abbreviated = cache(partial(_tools_of_prefix, snapshot))  # identifiers of one request often begin alike
    for value in list(distinct.values())[:_MAX_VALUES]:
        for tool, strength in _tools_of(snapshot, value, abbreviated).items():
            support[tool] = support.get(tool, 0.0) + strength
    return support


def _tools_of_prefix(snapshot: Snapshot, prefix: str) -> dict[int, float]:
    """The tools of the entities that a prefix abbreviates; none where it may abbreviate too many."""
    entities = snapshot.identified.named(prefix)
    fit: dict[int, float] = {}
    for node, quality in entities.items() if len(entities) <= _MAX_ABBREVIATED else ():
        for tool, strength in _tools_of_entity(snapshot, node):
            fit[tool] = max(fit.get(tool, 0.0), quality * strength)
    return fit


def _tools_of(
    snapshot: Snapshot, value: TypedValue, abbreviated: Callable[[str], dict[int, float]]
) -> dict[int, float]:
    fit: dict[int, float] = {}
    for match in value.matches:
        if match.specificity < LEAST_SPECIFIC:
            break
        for tool, strength in _fitting(snapshot, match):
            fit[tool] = max(fit.get(tool, 0.0), strength)
    if not any(strength > _WIDENED for strength in fit.values()):
        for tool, strength in abbreviated(letters_before_digits(value.text)).items():
            fit[tool] = max(fit.get(tool, 0.0), strength)
    rarity = _rarity(snapshot, len(fit))
    return {tool: strength * rarity for tool, strength in fit.items()}


def _fitting(snapshot: Snapshot, match: ShapeMatch) -> Iterator[tuple[int, float]]:
    """Yield the tools that a shape speaks for with a strength in (0, 1]."""
    for use in match.uses:
        if not use.output:
            yield use.tool, _WIDENED if use.is_widened else 1.0
    if match.shape.kind or len(match.entities) > _MAX_ENTITIES or all(use.is_widened for use in match.uses):
        return
    for entity in match.entities:
        node = snapshot.find_node(f"business_object:{entity}")
        if node is not None:
            yield from _tools_of_entity(snapshot, node)


def _tools_of_entity(snapshot: Snapshot, node: int) -> Iterator[tuple[int, float]]:
    """Yield the tools that act on an entity, and those that take an identifier of it."""
    reached = [(head, _ACTS_ON_ENTITY) for head in _heads(snapshot, node, "acts_on")]
    for parameter in _heads(snapshot, node, "identifies"):
        reached += [(head, _TAKES_ENTITY) for head in _heads(snapshot, parameter, "has_parameter")]
    yield from ((head, strength) for head, strength in reached if head < snapshot.tool_count)


def _heads(snapshot: Snapshot, node: int, predicate: str) -> list[int]:
    """The nodes with an edge of a predicate to a node."""
    if predicate not in snapshot.predicates:
        return []
    adjacency, number = snapshot.adjacency, snapshot.predicates.index(predicate)
    edges = adjacency.in_edges(node)
    edges = edges[adjacency.predicates[edges] == number][:_MAX_TOOLS]
    return [int(head) for head in adjacency.heads[edges]]


def _rarity(snapshot: Snapshot, tools: int) -> float:
    """Inverse document frequency, in (0, 1]."""
    most = math.log1p(snapshot.visible_count)
    return min(1.0, math.log1p(snapshot.visible_count / (1 + tools)) / most) if most else 1.0
