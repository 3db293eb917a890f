"""The records of a running company: found, made, changed and removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from services.company.api_documents import Schema
from services.company.company_facts import CompanyFacts
from services.company.record_identifiers import next_identifier, record_id
from services.company.record_kinds import Kind, Kinds
from services.company.record_maker import ABSENT, RecordMaker
from services.company.record_store import Record, RecordStore
from services.company.refusal import no_record, wrong

__all__ = ["CompanyRecords"]


class CompanyRecords:
    """The records in a store. What it makes refers to what is there."""

    def __init__(self, store: RecordStore, facts: CompanyFacts, kinds: Kinds, seed: int) -> None:
        self.store = store
        self.facts = facts
        self.kinds = kinds
        self.seed = seed

    def identifiers(self, kind: Kind, parent: Any = None) -> Sequence[Any]:
        """See :class:`services.company.record_maker.World`."""
        rows = self.rows(kind, {} if parent is None or not kind.parent else {kind.parent: parent})
        return [row[kind.key] for row in rows]

    def field(self, kind: Kind, id: Any, name: str) -> Any:
        """See :class:`services.company.record_maker.World`."""
        found = self.store.get(kind.name, str(id))
        return ABSENT if found is None else found.get(name, ABSENT)

    def rows(self, kind: Kind | str, equal: Mapping[str, Any]) -> list[Record]:
        """The records of a kind with some fields, oldest first."""
        name = kind if isinstance(kind, str) else kind.name
        return [row for row in self.store.all(name) if all(row.get(field) == value for field, value in equal.items())]

    def get(self, kind: Kind | str, id: Any, parent: Any = None) -> Record:
        """A record.

        :param parent: the record that it must be a part of.
        :raises Refusal: 404 when there is none.
        """
        kind = self.kinds.by_name[kind] if isinstance(kind, str) else kind
        found = self.store.get(kind.name, record_id(kind, id, str(parent)))
        if found is None or (parent is not None and kind.parent in found and found[kind.parent] != parent):
            raise no_record(kind.key, id)
        return found

    def create(self, kind: Kind | str, given: Mapping[str, Any], sent: Schema | None = None) -> Record:
        """Make a record and store it.

        :param given: fields that are known.
        :param sent: schema of what the caller may give: such fields are not made up.
        """
        kind = self.kinds.by_name[kind] if isinstance(kind, str) else kind
        number = self.store.next_number(kind.name)
        absent = {name: None for name in (sent or {}).get("properties", {}) if name in kind.properties}
        known = RecordMaker(self, kind, number, given)
        new = {name: known.by_rule(rule, name, kind.properties.get(name, {})) for name, rule in kind.facts.new.items()}
        first = {
            name: schema["enum"][0]
            for name, schema in kind.properties.items()
            if "enum" in schema and name not in kind.facts.fields
        }
        values = {**first, **absent, **new, **given}
        values[kind.key] = key = values.get(kind.key) or self._unused(kind, number, values)
        record = RecordMaker(self, kind, number, values).record()
        self.store.add(kind.name, record_id(kind, key, str(values.get(kind.parent))), number, record)
        return record

    def _unused(self, kind: Kind, number: int, values: Mapping[str, Any]) -> Any:
        """The identifier of a new record."""
        parent = str(values.get(kind.parent, ""))
        example = self.kinds.by_name[kind.facts.each].example if kind.facts.each else ""
        place = len(self.rows(kind, {kind.parent: parent})) if kind.parent else 0
        while True:
            key = next_identifier(kind, number, parent=parent, parent_example=example, place=place)
            if self.store.get(kind.name, record_id(kind, key, parent)) is None:
                return key
            number, place = number + 1, place + 1

    def change(self, kind: Kind | str, record: Record) -> None:
        """Store the fields of a record that is there."""
        kind = self.kinds.by_name[kind] if isinstance(kind, str) else kind
        self.store.change(kind.name, self._id(kind, record), record)

    def remove(self, kind: Kind, record: Record) -> None:
        """Remove a record."""
        self.store.remove(kind.name, self._id(kind, record))

    def _id(self, kind: Kind, record: Record) -> str:
        return record_id(kind, record[kind.key], str(record.get(kind.parent)))

    def check_references(self, value: Any, system: str, where: str, own: str = "") -> None:
        """Check that the records are there that a value refers to, at any depth.

        :param own: key of the record itself.
        :raises Refusal: 400 when one is not.
        """
        if not isinstance(value, Mapping):
            return
        for name, inner in value.items():
            kind = self.kinds.of_field(name, system)
            for item in inner if isinstance(inner, list) else [inner]:
                self.check_references(item, system, f"{where}.{name}")
                if kind and name != own and not kind.is_numbered and isinstance(item, str):
                    if self.store.get(kind.name, item) is None:
                        raise wrong(f"{where}.{name}", f"there is no {kind.key} {item[:80]!r}")
