"""What an answer shows of a record: the members that its schema has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from services.company.api_documents import Schema
from services.company.company_records import CompanyRecords
from services.company.computed_fields import COMPUTED
from services.company.record_kinds import Kind, first_property
from services.company.record_store import Record

__all__ = ["View"]

_NOTHING = object()


class View:
    """Shows records to the callers of one system.

    :param said: parameters of the call: an answer repeats those that it has a member for.
    """

    def __init__(self, records: CompanyRecords, system: str, said: Mapping[str, Any] | None = None) -> None:
        self._records = records
        self._system = system
        self._said = said or {}

    def show(self, kind: Kind, record: Record, schema: Schema) -> dict[str, Any]:
        """The members of a schema that the record has."""
        found = {name: self._member(kind, record, name, inner) for name, inner in schema.get("properties", {}).items()}
        return {name: value for name, value in found.items() if value is not _NOTHING}

    def _member(self, kind: Kind, record: Record, name: str, schema: Schema) -> Any:
        if name in self._said and self._said[name] is not None:
            return self._said[name]
        computed = COMPUTED.get(f"{kind.name}.{name}")
        if computed is not None:
            return self._project(computed(self._records, record), schema, kind)
        nested = self._records.kinds.nested(kind, name, schema, self._system)
        if nested is not None:
            rows = self._records.rows(nested, {kind.key: record[kind.key], **self._narrowing(nested, kind)})
            inner = View(self._records, self._system)
            return [inner.show(nested, row, schema["items"]) for row in rows]
        if name in record:
            return self._project(record[name], schema, kind)
        return self._from_inside(record, name)

    def _narrowing(self, nested: Kind, kind: Kind) -> dict[str, Any]:
        """Parameters that select among the records in a list."""
        return {
            name: value
            for name, value in self._said.items()
            if name in nested.properties and name not in kind.properties and value is not None
        }

    def _from_inside(self, record: Record, name: str) -> Any:
        """A member that a part of the record has (``city`` of its address), or the name of what it refers to."""
        for part in record.values():
            if isinstance(part, dict) and name in part:
                return part[name]
        reference = f"{name.removesuffix('Name')}Id"
        target = self._records.kinds.of_field(reference, self._system) if name.endswith("Name") else None
        if target is not None and reference in record:
            found = self._records.field(target, record[reference], "name")
            return found if isinstance(found, str) else _NOTHING
        return _NOTHING

    def _project(self, value: Any, schema: Schema, kind: Kind) -> Any:
        if isinstance(value, list) and "items" in schema:
            return [self._project(item, schema["items"], kind) for item in value]
        if not isinstance(value, dict) or "properties" not in schema:
            return value
        key = first_property(schema)
        target = self._records.kinds.of_key(key, self._system)
        if target is not None and target is not kind and list(value) == [key]:  # the short form of another record
            found = self._records.store.get(target.name, str(value[key]))
            if found is not None:
                return View(self._records, self._system).show(target, found, schema)
        return {
            name: self._project(value[name], inner, kind)
            for name, inner in schema["properties"].items()
            if name in value
        }
