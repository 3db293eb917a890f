"""A resolver over tables in memory: entities by type, edges as sets of pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from ontology.errors import ToolCallError
from planners.dfs.resolver import Entity, Step
from planners.query.domain import Domain
from planners.query.query_graph import FilterConstraint


def day(text: str) -> str:
    """The interval of one day."""
    return f"{text}/{date.fromordinal(date.fromisoformat(text).toordinal() + 1).isoformat()}"


def date_range(each: FilterConstraint) -> tuple[date | None, date | None]:
    """Reads ``2025-02-01/2025-03-01`` and what lies before or after its beginning."""
    start, _, end = str(each.value).partition("/")
    first = date.fromisoformat(start)
    if each.op == "=":
        return first, date.fromisoformat(end)
    return (None, first) if each.op == "<" else (first, None)


def within(value: str, interval: str) -> bool:
    """Whether a day lies in an interval; both as identifiers of dates."""
    (start, end), (first, last) = value.split("/"), interval.split("/")
    return (first == ".." or first <= start) and (last == ".." or end <= last)


def meets(fields: Mapping[str, Any], each: FilterConstraint) -> bool:
    """What a filter means: the tests know only text without capitals, and numbers."""
    value = fields[each.field]
    if each.op == "contains":
        return str(each.value) in str(value)
    return bool(value == each.value if each.op == "=" else value < each.value if each.op == "<" else value > each.value)


@dataclass
class MemoryResolver:
    """The tables.

    :param tables: type → identifier → fields.
    :param pairs: (source type, edge, target type) → pairs of identifiers, days as intervals, the user as ``self``.
    :param carried: fields that entities carry at the end of an edge; None is all.
    :param broken: ``Type`` or ``Type edge Type`` (``Type ← edge Type`` backward) of calls that fail.
    :param asked: every call.
    """

    domain: Domain
    tables: Mapping[str, Mapping[str, Mapping[str, Any]]]
    pairs: Mapping[tuple[str, str, str], set[tuple[str, str]]]
    carried: set[str] | None = None
    broken: set[str] = field(default_factory=set)
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._ends: dict[tuple[str, str, str, bool], dict[str, list[str]]] = {}
        for (source, edge, target), pairs in self.pairs.items():
            there, back = defaultdict(list), defaultdict(list)
            for one, two in sorted(pairs):
                there[one].append(two)
                back[two].append(one)
            self._ends[source, edge, target, True] = there
            self._ends[target, edge, source, False] = back

    async def find(
        self, kind: str, filters: Sequence[FilterConstraint], *, most: int | None = None
    ) -> Sequence[Entity]:
        self.asked.append(("find", kind, tuple(filters)))
        self._fail(kind)
        assert self.domain.types[kind].kind == "entity", "nobody lists dates or the user"
        found = self.tables[kind].items()
        return [Entity(each, fields) for each, fields in found if all(meets(fields, one) for one in filters)]

    async def follow(self, step: Step, sources: Sequence[str]) -> Sequence[tuple[str, Entity]]:
        self.asked.append(("follow", step, tuple(sources)))
        self._fail(f"{step.source} {'' if step.forward else '← '}{step.edge} {step.target}")
        assert len(set(sources)) == len(sources) > 0
        ends = self._ends.get((step.source, step.edge, step.target, step.forward), {})
        dated = self.domain.types[step.source].kind == "date"
        return [
            (source, self._entity(step.target, end))
            for source in sources
            for end in (self._dated(ends, source) if dated else ends.get(source, ()))
        ]

    def _dated(self, ends: Mapping[str, list[str]], interval: str) -> list[str]:
        return list(dict.fromkeys(end for value, found in ends.items() if within(value, interval) for end in found))

    def _entity(self, kind: str, end: str) -> Entity:
        fields = self.tables.get(kind, {}).get(end, {})
        carried = fields.keys() if self.carried is None else self.carried & fields.keys()
        return Entity(end, {name: fields[name] for name in fields if name in carried})

    def _fail(self, call: str) -> None:
        if call in self.broken:
            raise ToolCallError("the tool is out of order", subject=call)
