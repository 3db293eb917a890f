"""The records that a new company begins with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from services.company.company_facts import CompanyFacts
from services.company.record_identifiers import next_identifier, record_id
from services.company.record_kinds import Kind, Kinds
from services.company.record_maker import ABSENT, RecordMaker
from services.company.record_store import RecordStore

__all__ = ["SeedWorld", "fill"]


@dataclass(slots=True)
class _Members:
    """The records of a kind: by store id, and the values of their keys by parent."""

    makers: dict[str, RecordMaker] = field(default_factory=dict)
    keys: list[Any] = field(default_factory=list)
    by_parent: dict[Any, list[Any]] = field(default_factory=dict)


class SeedWorld:
    """All records of the seed. Each is made when another asks for it, so references may lead in circles."""

    def __init__(self, facts: CompanyFacts, kinds: Kinds, seed: int) -> None:
        self.seed = seed
        self.facts = facts
        self.kinds = kinds
        self._members: dict[str, _Members] = {}

    def identifiers(self, kind: Kind, parent: Any = None) -> Sequence[Any]:
        """See :class:`services.company.record_maker.World`."""
        members = self.members(kind)
        return members.keys if parent is None or not kind.parent else members.by_parent.get(parent, [])

    def field(self, kind: Kind, id: Any, name: str) -> Any:
        """See :class:`services.company.record_maker.World`."""
        maker = self.members(kind).makers.get(str(id))
        return ABSENT if maker is None else maker.field(name)

    def members(self, kind: Kind) -> _Members:
        """The records of a kind."""
        if kind.name not in self._members:
            self._members[kind.name] = members = _Members()
            for number, (given, place) in enumerate(self._given(kind)):
                self._add(members, kind, number, dict(given), place)
        return self._members[kind.name]

    def _given(self, kind: Kind) -> Iterator[tuple[Mapping[str, Any], int]]:
        """What is known of each record before it is made, and how many parts its parent had before it."""
        facts = kind.facts
        if not facts.each:
            for number in range(max(facts.count, len(facts.rows))):
                yield (facts.rows[number] if number < len(facts.rows) else {}), 0
            return
        for parent in self.identifiers(self.kinds.by_name[facts.each]):
            stated = [row for row in facts.rows if row.get(kind.parent) == parent]
            random = Random(f"{self.seed} {kind.name} {parent}")
            for place in range(max(random.randint(*facts.per), len(stated))):
                yield {**(stated[place] if place < len(stated) else {}), kind.parent: parent}, place

    def _add(self, members: _Members, kind: Kind, number: int, given: dict[str, Any], place: int) -> None:
        parent = given.get(kind.parent, "")
        example = self.kinds.by_name[kind.facts.each].example if kind.facts.each else ""
        made = next_identifier(kind, number, parent=parent, parent_example=example, place=place)
        key = given.setdefault(kind.key, made)
        members.keys.append(key)
        members.by_parent.setdefault(parent, []).append(key)
        members.makers[record_id(kind, key, parent)] = RecordMaker(self, kind, number, given)


def fill(store: RecordStore, facts: CompanyFacts, kinds: Kinds, seed: int) -> None:
    """Make the records of a seed and store them."""
    world = SeedWorld(facts, kinds, seed)
    with store.transaction():
        for kind in kinds.by_name.values():
            for number, (id, maker) in enumerate(world.members(kind).makers.items()):
                store.next_number(kind.name)
                store.add(kind.name, id, number, maker.record())
        store.note("seed", str(seed))
