"""A canonical order of the nodes of a directed graph with coloured nodes and edges: refinement, then individualisation.

A colour is the place of the first node of its cell in the order, so splitting a cell never moves another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

__all__ = ["LabelledGraph", "canonical_order"]

_Certificate: TypeAlias = list[tuple[int, ...]]
_Signature: TypeAlias = tuple[tuple[int, int, int], ...]
_BUDGET = 200_000
"""Edge ends that the search of one graph looks at: chosen so that 522 equal nodes in one circle take under a second."""


class LabelledGraph:
    """Nodes by key, and what each is joined to.

    :param nodes: their keys.
    :param edges: source, target, colour.
    """

    def __init__(self, nodes: Sequence[int], edges: Iterable[tuple[int, int, int]]) -> None:
        self.nodes = nodes
        self.joined: dict[int, list[tuple[int, int, int]]] = {key: [] for key in nodes}
        for source, target, colour in edges:
            self.joined[source].append((0, colour, target))
            self.joined[target].append((1, colour, source))


def canonical_order(graph: LabelledGraph, ranks: Mapping[int, int]) -> list[int]:
    """Return the keys in an order that depends on the ranks and the edges, not on the keys.

    :param ranks: node → rank; nodes of a lower rank stand first.
    """
    colours: dict[int, int] = {}
    for cell in _cells(sorted(graph.nodes, key=ranks.__getitem__), ranks).values():
        colours.update(dict.fromkeys(cell, len(colours)))
    return _Search(graph).order(graph.nodes, colours, graph.nodes)


class _Search:
    def __init__(self, graph: LabelledGraph) -> None:
        self._joined = graph.joined
        self._left = _BUDGET

    def order(self, nodes: Sequence[int], colours: dict[int, int], changed: Collection[int]) -> list[int]:
        """Order nodes; their colours are refined in place.

        :param changed: whose colours are new.
        """
        self._refine(nodes, colours, changed)
        alike = [key for cell in _cells(nodes, colours).values() if len(cell) > 1 for key in cell]
        inner: dict[int, tuple[int, int]] = {}
        if alike:
            parts = sorted((self._order_part(part, colours) for part in self._parts(alike)), key=lambda part: part[0])
            inner = {key: (at, place) for at, (_, part) in enumerate(parts) for place, key in enumerate(part)}
        return sorted(nodes, key=lambda key: (colours[key], inner.get(key, (0, 0))))

    def _order_part(self, part: list[int], colours: dict[int, int]) -> tuple[_Certificate, list[int]]:
        """Order nodes that are joined to one another, and return what tells this part from others."""
        alike = [cell for cell in _cells(part, colours).values() if len(cell) > 1]
        if not alike:
            ordered = sorted(part, key=colours.__getitem__)
        else:
            cell = min(alike, key=lambda cell: (len(cell), colours[cell[0]]))
            if self._interchangeable(cell):
                ordered = self.order(part, {**colours, **_apart(cell, colours)}, cell)
            elif self._left <= 0:
                ordered = self._first_choices(part, dict(colours))
            else:
                return self._best_choice(part, cell, colours)
        return self._certificate(ordered, colours), ordered

    def _best_choice(self, part: list[int], cell: list[int], colours: dict[int, int]) -> tuple[_Certificate, list[int]]:
        """Single out each node of a cell, and return the order with the least certificate."""
        found: list[tuple[_Certificate, list[int]]] = []
        for key in cell:
            if found and self._left <= 0:
                break
            ordered = self.order(part, {**colours, **_singled_out(cell, key, colours)}, cell)
            found.append((self._certificate(ordered, colours), ordered))
        return min(found, key=lambda choice: choice[0])

    def _first_choices(self, part: list[int], colours: dict[int, int]) -> list[int]:
        """Order nodes by singling out the first of each cell, without trying the others."""
        while cell := next((cell for cell in _cells(part, colours).values() if len(cell) > 1), []):
            colours.update(
                _apart(cell, colours) if self._interchangeable(cell) else _singled_out(cell, cell[0], colours)
            )
            self._refine(part, colours, cell)
        return sorted(part, key=colours.__getitem__)

    def _interchangeable(self, cell: list[int]) -> bool:
        """Say whether any two nodes of a cell can be exchanged without changing the graph."""
        first = cell[0]
        around = self._joined[first]
        for other in cell[1:]:
            if len(around) != len(self._joined[other]):
                return False
            swap = {first: other, other: first}
            if sorted((way, colour, swap.get(key, key)) for way, colour, key in around) != sorted(self._joined[other]):
                return False
        return True

    def _certificate(self, order: list[int], colours: Mapping[int, int]) -> _Certificate:
        """Return the colours of nodes with their edges: inside by place, to others by colour."""
        place = {key: at for at, key in enumerate(order)}
        found: _Certificate = []
        for key in order:
            found.append((colours[key],))
            found.extend(
                sorted(
                    (way, colour, 0, place[other]) if other in place else (way, colour, 1, colours[other])
                    for way, colour, other in self._joined[key]
                )
            )
        return found

    def _parts(self, nodes: Sequence[int]) -> list[list[int]]:
        """Return the connected parts of the graph of these nodes alone."""
        left = dict.fromkeys(nodes)
        parts = []
        while left:
            part = [left.popitem()[0]]
            for key in part:
                for _, _, other in self._joined[key]:
                    if other in left:
                        del left[other]
                        part.append(other)
            parts.append(part)
        return parts

    def _refine(self, nodes: Sequence[int], colours: dict[int, int], changed: Collection[int]) -> None:
        """Split cells by the colours around their nodes, until nothing splits."""
        cells = _cells(nodes, colours)
        while changed:
            touched: dict[int, dict[int, None]] = defaultdict(dict)
            for key in changed:
                for _, _, other in self._joined[key]:
                    if len(cells.get(colours[other], ())) > 1:
                        touched[colours[other]][other] = None
            split = {colour: self._split(cells[colour], keys, colours) for colour, keys in touched.items()}
            changed = [key for colour, groups in split.items() for key in _recolour(cells, colour, groups, colours)]

    def _split(self, cell: list[int], touched: Collection[int], colours: Mapping[int, int]) -> list[list[int]]:
        """Return the nodes of a cell in groups; those around which nothing changed are alike."""
        groups: dict[_Signature, list[int]] = defaultdict(list)
        for key in touched:
            groups[self._signature(key, colours)].append(key)
        if others := [key for key in cell if key not in touched]:
            groups[self._signature(others[0], colours)].extend(others)
        return [groups[signature] for signature in sorted(groups)]

    def _signature(self, key: int, colours: Mapping[int, int]) -> _Signature:
        joined = self._joined[key]
        self._left -= len(joined)
        return tuple(sorted([(way, colour, colours[other]) for way, colour, other in joined]))


def _recolour(cells: dict[int, list[int]], colour: int, groups: list[list[int]], colours: dict[int, int]) -> list[int]:
    """Give groups of a cell their colours, and return the nodes that have another than before."""
    place = colour
    changed: list[int] = []
    for group in groups:
        cells[place] = group
        if place != colour:
            colours.update(dict.fromkeys(group, place))
            changed += group
        place += len(group)
    return changed


def _apart(cell: list[int], colours: Mapping[int, int]) -> dict[int, int]:
    return {key: colours[key] + at for at, key in enumerate(cell)}


def _singled_out(cell: list[int], key: int, colours: Mapping[int, int]) -> dict[int, int]:
    return {other: colours[other] + (other != key) for other in cell}


def _cells(nodes: Iterable[int], colours: Mapping[int, int]) -> dict[int, list[int]]:
    cells: dict[int, list[int]] = {}
    for key in nodes:
        cells.setdefault(colours[key], []).append(key)
    return cells
