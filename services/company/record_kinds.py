"""The kinds of records that the schemas of the operations speak of.

An object that begins with the identifier of a kind is a view of a record of that kind: ``Supplier``, ``Scorecard`` and ``SupplierHit``
begin with ``supplierId`` and are views of one record. So the fields of a kind are those of all its views.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from services.company.api_documents import Operation, Schema
from services.company.company_facts import CompanyFacts, KindFacts

__all__ = ["Kind", "Kinds", "kinds_of", "row_schema"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of record.

    :param name: its key, with the system in front of one that means another thing elsewhere.
    :param parent: field that refers to the record that this one is a part of.
    :param properties: field → schema.
    :param example: an identifier as the documents show it.
    """

    name: str
    key: str
    system: str
    facts: KindFacts
    parent: str = ""
    example: str = ""
    properties: dict[str, Schema] = field(default_factory=dict)

    @property
    def is_numbered(self) -> bool:
        """Whether the key is a number that is unique within the parent only."""
        return self.properties.get(self.key, {}).get("type") == "integer"


@dataclass(frozen=True, slots=True)
class Kinds:
    """All kinds, and which fields refer to them."""

    by_name: Mapping[str, Kind]
    facts: CompanyFacts
    roles: Mapping[str, str]

    def of_key(self, key: str, system: str) -> Kind | None:
        """The kind that a key names in a system."""
        kind = self.by_name.get(qualified(self.facts, key, system))
        return kind if kind is not None and kind.key == key else None

    def of_field(self, name: str, system: str) -> Kind | None:
        """The kind that a field refers to: by its key, or by a role such as ``managerId``."""
        return self.of_key(self.roles.get(name, name), system)

    def of_answer(self, operation: Operation) -> Kind | None:
        """The kind of record that an operation answers with."""
        stated = self.facts.of_operation(operation.id).kind
        if stated:
            return self.by_name[stated]
        return self.of_key(first_property(row_schema(operation.answer)[0]), operation.system)

    def nested(self, owner: Kind, name: str, schema: Schema, system: str) -> Kind | None:
        """The kind whose records a list in a view shows: one that has the key of the view's kind as a field."""
        stated = self.facts.nested.get(f"{owner.name}.{name}")
        if stated:
            return self.by_name[stated]
        if schema.get("type") != "array":
            return None
        kind = self.of_key(first_property(schema["items"]), system)
        return kind if kind and kind is not owner and owner.key in kind.properties else None


def qualified(facts: CompanyFacts, key: str, system: str) -> str:
    """The name of the kind of a key in a system."""
    return f"{system}.{key}" if system in facts.homonyms.get(key, ()) else key


def first_property(schema: Schema | None) -> str:
    """The name of an object's first property, or empty."""
    return next(iter((schema or {}).get("properties", {})), "")


def row_schema(answer: Schema | None) -> tuple[Schema | None, str, bool]:
    """The schema of a record in an answer, the member that lists the records, and whether there are several.

    An object whose first member is a list of objects is an envelope around that list.
    """
    if answer is None:
        return None, "", False
    if answer.get("type") == "array":
        return answer["items"], "", True
    name = first_property(answer)
    first = answer.get("properties", {}).get(name, {})
    if first.get("type") == "array" and first["items"].get("properties"):
        return first["items"], name, True
    return answer, "", False


def kinds_of(operations: Iterable[Operation], facts: CompanyFacts) -> Kinds:
    """Find the kinds: what answers begin with, what paths name, and those of the facts."""
    found: dict[str, Kind] = {}
    examples = _examples(operations)
    for operation in operations:
        schema, _, _ = row_schema(operation.answer)
        stated = facts.of_operation(operation.id).kind
        key = first_property(schema)
        name = stated or qualified(facts, key, operation.system)
        if name and schema:
            kind = _kind(found, name, operation.system, facts, examples)
            _add(kind, schema.get("properties", {}))
            _add(kind, (operation.body or {}).get("properties", {}) if _writes_record(operation, kind) else {})
    for name in facts.kinds:
        kind = _kind(found, name, "", facts, examples)
        _add(kind, facts.kinds[name].properties)
    _add_parents(found, operations, facts)
    roles = {role: kind for kind, names in facts.roles.items() for role in names}
    return Kinds(found, facts, roles)


def _writes_record(operation: Operation, kind: Kind) -> bool:
    return operation.method == "POST" and not (operation.path_names and kind.key in operation.path_names)


def _kind(
    found: dict[str, Kind], name: str, system: str, facts: CompanyFacts, examples: Mapping[tuple[str, str], str]
) -> Kind:
    if name not in found:
        own = facts.kinds.get(name, KindFacts())
        key = own.key or name.rpartition(".")[2]
        where, dot, _ = name.rpartition(".")
        example = examples.get((where if dot else "", key), "")
        found[name] = Kind(name, key, system, own, parent=own.each.rpartition(".")[2], example=example)
    return found[name]


def _add(kind: Kind, properties: Mapping[str, Any]) -> None:
    for name, schema in properties.items():
        kind.properties.setdefault(name, schema)


def _add_parents(found: dict[str, Kind], operations: Iterable[Operation], facts: CompanyFacts) -> None:
    """Give the records of sub-collections the fields that refer to what they are part of."""
    for operation in operations:
        schema, _, _ = row_schema(operation.answer)
        name = facts.of_operation(operation.id).kind or qualified(facts, first_property(schema), operation.system)
        renamed = facts.of_operation(operation.id).rename
        for parameter in operation.parameters:
            kind = found.get(name)
            wanted = renamed.get(parameter.name, parameter.name)
            if kind and parameter.place == "path" and wanted != kind.key:
                kind.properties.setdefault(wanted, parameter.schema)


def _examples(operations: Iterable[Operation]) -> dict[tuple[str, str], str]:
    """(system, key) → an example of its identifiers; the empty system stands for all."""
    found: dict[tuple[str, str], str] = {}

    def look(name: str, schema: Any, system: str) -> None:
        if not isinstance(schema, Mapping):
            return
        example = schema.get("example", next(iter(schema.get("examples", ())), None))
        if isinstance(example, str) and re.fullmatch(schema.get("pattern", ".*"), example):
            found.setdefault((system, name), example)
            found.setdefault(("", name), example)
        for inner, value in schema.get("properties", {}).items():
            look(inner, value, system)
        look(name, schema.get("items"), system)

    for operation in operations:
        for parameter in operation.parameters:
            look(parameter.name, parameter.schema, operation.system)
        look("", operation.answer, operation.system)
        look("", operation.body, operation.system)
    return found
