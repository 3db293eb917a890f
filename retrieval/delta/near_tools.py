"""The tools of a snapshot among which the edges of changed tools are derived: those that may supply them, or be supplied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ontology.names import canonical_name
from ontology.tool import CONTEXT_PARAMETERS, OVERLAY_ORIGINS, Tool
from retrieval.index.analysis import terms
from retrieval.index.text_fields import FIELDS
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.supplier_edges import consumer_edges, supplier_edges

__all__ = ["as_read", "near_tools"]

# All chosen, not tuned: so many that the edges of a tool are nearly always those of a whole build, so few that it takes 0.1 s.
_NAMESPACE, _SAME_PARAMETER, _SAME_TEXT, _MOST = 100, 10, 20, 400


def near_tools(snapshot: Snapshot, tools: Sequence[Tool]) -> list[Tool]:
    """Return up to 400 other tools, as they were read: of the same namespaces, of edges at the tools that are replaced, of declared
    dependencies, with inputs or outputs of the same names, and with like texts; by id.
    """
    own = {number for tool in tools if (number := snapshot.find_node(f"tool:{tool.id}")) is not None}
    found: dict[int, None] = {}
    for number in _near(snapshot, tools, own):
        if number not in own:
            found[number] = None
        if len(found) == _MOST:
            break
    return [as_read(snapshot.tool(number)) for number in sorted(found)]


def as_read(tool: Tool) -> Tool:
    """Return a tool of a snapshot without what the build adds to its metadata."""
    metadata = {key: value for key, value in tool.metadata.items() if key not in (CONTEXT_PARAMETERS, OVERLAY_ORIGINS)}
    return Tool(**{**{name: getattr(tool, name) for name in Tool.__slots__}, "metadata": metadata})


def _near(snapshot: Snapshot, tools: Sequence[Tool], replaced: Iterable[int]) -> Iterator[int]:
    for number in sorted(replaced):
        for find in (supplier_edges, consumer_edges):
            yield from (other for _, other, _ in find(snapshot, number))
    for tool in tools:
        needed = (snapshot.find_node(f"tool:{one.tool}") for one in tool.depends_on)
        yield from (number for number in needed if number is not None)
    for namespace in sorted({tool.namespace for tool in tools}):
        numbers = np.flatnonzero(snapshot.filters.having("namespace", [namespace]))
        yield from map(int, _spread(numbers, _NAMESPACE))
    for name in sorted({parameter.name for tool in tools for parameter in (*tool.parameters, *tool.returns)}):
        node = snapshot.find_node(f"parameter:{canonical_name(name, snapshot.abbreviations)}")
        if node is not None:
            yield from map(int, _spread(snapshot.ego_tools(node), _SAME_PARAMETER))
    for tool in tools:
        yield from map(int, snapshot.fields["whole"].best(terms(FIELDS["whole"](tool)), _SAME_TEXT))


def _spread(numbers: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Up to so many of the numbers, at equal distances."""
    return numbers[:: -(-len(numbers) // most)] if len(numbers) else numbers
