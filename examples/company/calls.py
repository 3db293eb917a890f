"""What a call does, by the form of its path, its method and what its answer shows; what is not so is in ``business_rules``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

from examples.company.api_documents import Operation, Schema, check_value, conflict, no_record
from examples.company.records import (
    CompanyRecords,
    Kind,
    Record,
    facts,
    first_property,
    row_schema,
)

_PAGING = ("pageSize", "pageToken")
_WORDS = re.compile(r"\w+")
_NOTHING = object()
Computed = Callable[[CompanyRecords, Record], Any]


@dataclass(frozen=True)
class CompanyCall:
    """One call whose values were checked against the document.

    :param values: parameters of path and query by name.
    :param body: the JSON of the request; None where there was none.
    :param computed: ``kind.field`` → its value, from the record: what follows from other records is not stored.
    """

    records: CompanyRecords
    operation: Operation
    values: Mapping[str, Any]
    body: Any
    computed: Mapping[str, Computed]

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the facts say of the operation."""
        found: Mapping[str, Any] = facts()["operations"].get(self.operation.id, {})
        return found

    @property
    def sent(self) -> dict[str, Any]:
        """The members of the body."""
        return dict(self.body) if isinstance(self.body, dict) else {}

    @cached_property
    def kind(self) -> Kind | None:
        """The kind of record that the answer shows."""
        return self.records.kinds.of_answer(self.operation)

    @cached_property
    def subject_kind(self) -> Kind | None:
        """The kind of the last record that the path names."""
        kinds = [self.records.kinds.of_key(name, self.operation.system) for name in self.operation.path_names]
        return next((kind for kind in reversed(kinds) if kind is not None), None)

    @cached_property
    def subject(self) -> Record | None:
        """The last record that the path names.

        :raises Refusal: 404 when it or one before it is not there.
        """
        found = None
        for name in self.operation.path_names:
            kind = self.records.kinds.of_key(name, self.operation.system)
            if kind is not None:
                found = self.records.get(kind, self.values[name], self.values.get(kind.parent))
        return found


def subject_of(call: CompanyCall) -> Record:
    """The record that the path names.

    :raises Refusal: 404 when the path names none.
    """
    if call.subject is None:
        raise no_record(call.operation.path, "")
    return call.subject


def answer_by_form(call: CompanyCall) -> Any:
    """Do what the operation's form says; returns the body of the answer.

    :raises Refusal: when it cannot be done.
    """
    subject, operation = call.subject, call.operation
    if operation.method == "GET":
        return listed(call, found(call)) if row_schema(operation.answer)[2] else shown(call, _one(call))
    if operation.method == "DELETE" and operation.path.endswith("}") and subject and call.subject_kind:
        call.records.remove(call.subject_kind, subject)
        return None
    if subject is not None and (call.kind is None or call.kind is call.subject_kind):
        return shown(call, act(call, subject))
    return listed(call, [create(call)]) if row_schema(operation.answer)[2] else shown(call, create(call))


def _one(call: CompanyCall) -> Record:
    if call.subject and "follow" in call.facts:
        return call.records.get(call.kind or "", call.subject.get(call.facts["follow"]))
    if call.subject and call.kind is call.subject_kind:
        for name in call.facts.get("match", ()):
            if call.subject.get(name) != call.values.get(name):
                raise no_record(name, call.values.get(name))
        return call.subject
    rows = found(call)
    if not rows:
        raise no_record(" ".join(call.values) or call.operation.path, " ".join(map(str, call.values.values())))
    return rows[0]


def found(call: CompanyCall) -> list[Record]:
    """The records that a list shows: those that meet the parameters that were given, and what the facts state of the list."""
    kind, own = call.kind, call.facts
    if kind is None:
        return []
    wanted = [own.get("where", {})]
    wanted += [stated for name, stated in own.get("unless", {}).items() if call.values.get(name) is not True]
    wanted += [stated for name, stated in own.get("when", {}).items() if call.values.get(name) is True]
    rows = [row for row in call.records.rows(kind) if all(_meets(row, stated) for stated in wanted)]
    for name, value in call.values.items():
        if name not in (*_PAGING, *own.get("unless", ()), *own.get("when", ())) and value is not None:
            rows = _compared(rows, own.get("rename", {}).get(name, name), call.operation, kind, value)
    return rows


def _meets(record: Record, stated: Mapping[str, Any]) -> bool:
    """Whether a record has some fields; a list states values of which each will do."""
    return all(
        record.get(name) in value if isinstance(value, list) else record.get(name) == value
        for name, value in stated.items()
    )


def _compared(rows: list[Record], name: str, operation: Operation, kind: Kind, value: Any) -> list[Record]:
    rules = facts()["parameters"]
    rule = rules.get(f"{operation.id}.{name}", rules.get(name, ""))
    if not rule and name in facts()["texts"]:
        return [row for row in rows if _has_words(row, value)]
    if not rule and name not in kind.properties:
        return rows  # it says how to answer, not about what
    field, _, relation = rule.rpartition(" ") if rule else (name, "", "=")
    if relation == "any":
        return sorted((row for row in rows if _hits(row, value)), key=lambda row: -_hits(row, value))
    compare = _RELATIONS[relation]
    value = facts()["synonyms"].get(value, value) if isinstance(value, str) else value
    return [row for row in rows if any(compare(found, value) for found in _values_at(row, field.split(".")))]


def _values_at(value: Any, path: list[str]) -> Iterator[Any]:
    """The values at a path, through lists."""
    if isinstance(value, list):
        if not path and value:
            yield value
        for item in value:
            yield from _values_at(item, path)
    elif not path:
        if value is not None:
            yield value
    elif isinstance(value, dict) and path[0] in value:
        yield from _values_at(value[path[0]], path[1:])


def _equal(found: Any, value: Any) -> bool:
    if isinstance(found, str) and isinstance(value, str):
        return found.casefold() == value.casefold()
    return bool(found == value)


def _in_week(found: Any, value: Any) -> bool:
    year, week, _ = date.fromisoformat(found[:10]).isocalendar()
    return re.sub(r"\D", "", str(value)) == f"{year}{week:02d}"


_RELATIONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": _equal,
    "<=": lambda found, value: not isinstance(found, list) and found <= value,
    ">=": lambda found, value: not isinstance(found, list) and found >= value,
    "has": lambda found, value: isinstance(found, list) and set(value) <= set(found),
    "day": lambda found, value: found[:10] == value,
    "year": lambda found, value: found[:4] == str(value),
    "week": _in_week,
    "text": lambda found, value: _has_words({"": found}, value),
}


def _words(value: Any) -> Iterator[str]:
    """The words of a record; the texts in its lists do not count."""
    if isinstance(value, str):
        yield from _WORDS.findall(value.casefold())
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _words(inner)


def _has_words(row: Mapping[str, Any], wanted: str) -> bool:
    """Whether each word of a text begins a word of the record."""
    words = list(_words(row))
    return all(any(word.startswith(part) for word in words) for part in _words(wanted))


def _hits(row: Mapping[str, Any], question: str) -> int:
    return len({part for part in _words(question) if len(part) > 3} & set(_words(row)))


def listed(call: CompanyCall, rows: list[Record]) -> Any:
    """The answer that lists some records, a page of them where the operation has pages."""
    schema, envelope, _ = row_schema(call.operation.answer)
    kind, size = call.kind, call.values.get("pageSize", len(rows))
    token = str(call.values.get("pageToken") or "0")
    start = int(token) if token.isascii() and token.isdecimal() and len(token) < 10 else 0
    items = [_view(call, kind, row, schema, {}) for row in rows[start : start + size] if kind and schema]
    if not envelope:
        return items
    answer: dict[str, Any] = {envelope: items}
    members = (call.operation.answer or {}).get("properties", {})
    if "count" in members:
        answer["count"] = len(rows)
    if "nextPageToken" in members and start + size < len(rows):
        answer["nextPageToken"] = str(start + size)
    return answer


def shown(call: CompanyCall, record: Record) -> Any:
    """The answer that shows a record; a read repeats its parameters."""
    schema, _, _ = row_schema(call.operation.answer)
    if schema is None or call.kind is None:
        return None
    said = call.values if call.operation.method == "GET" else {}
    return _view(call, call.kind, record, schema, {name: said[name] for name in said if name != call.kind.key})


def _view(call: CompanyCall, kind: Kind, record: Record, schema: Schema, said: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a schema that a record has."""
    members = schema.get("properties", {}).items()
    shown = {name: _member(call, kind, record, name, inner, said) for name, inner in members}
    return {name: value for name, value in shown.items() if value is not _NOTHING}


def _member(call: CompanyCall, kind: Kind, record: Record, name: str, schema: Schema, said: Mapping[str, Any]) -> Any:
    records, system = call.records, call.operation.system
    if said.get(name) is not None:
        return said[name]
    if computed := call.computed.get(f"{kind.name}.{name}"):
        return _projected(call, computed(records, record), schema, kind)
    if nested := records.kinds.nested(kind, name, schema, system):
        selects = {
            key: value
            for key, value in said.items()
            if key in nested.properties and key not in kind.properties and value is not None
        }
        rows = records.rows(nested, **{kind.key: record[kind.key], **selects})
        return [_view(call, nested, row, schema["items"], {}) for row in rows]
    if name in record:
        return _projected(call, record[name], schema, kind)
    for part in record.values():
        if isinstance(part, dict) and name in part:  # ``city`` of its address
            return part[name]
    reference = f"{name.removesuffix('Name')}Id"
    target = records.kinds.of_field(reference, system) if name.endswith("Name") else None
    referred = records.find(target, record[reference]) if target is not None and reference in record else None
    return (referred or {}).get("name", _NOTHING)


def _projected(call: CompanyCall, value: Any, schema: Schema, kind: Kind) -> Any:
    if isinstance(value, list) and "items" in schema:
        return [_projected(call, item, schema["items"], kind) for item in value]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    key = first_property(schema)
    target = call.records.kinds.of_key(key, call.operation.system)
    if target is not None and target is not kind and list(value) == [key]:  # the short form of another record
        found = call.records.find(target, value[key])
        if found is not None:
            return _view(call, target, found, schema, {})
    members = schema["properties"].items()
    return {name: _projected(call, value[name], inner, kind) for name, inner in members if name in value}


def _given(call: CompanyCall, kind: Kind) -> dict[str, Any]:
    """The fields of a record that the body gives."""
    rename = call.facts.get("rename", {})
    if "" in rename:
        return {rename[""]: call.body}
    given: dict[str, Any] = {}
    for name, value in call.sent.items():
        field, _, inner = rename.get(name, name).partition(".")
        if field in kind.properties and field != kind.key:
            given[field] = {inner: value} if inner else value
            check_value(given[field], kind.properties[field], f"body.{name}")  # a body may be looser than the record
    return given


def _check_state(call: CompanyCall, record: Record) -> None:
    """:raises Refusal: 409 when the state of the record, or of one that it refers to, does not allow the call."""
    for path, values in call.facts.get("allowed", {}).items():
        reference, _, field = path.rpartition(".")
        target = call.records.kinds.of_field(reference, call.operation.system) if reference else None
        of = (call.records.find(target, record.get(reference)) if target else record) or {}
        if of.get(field) not in values:
            raise conflict(f"{call.operation.id}: {path} is {of.get(field)}")


def act(call: CompanyCall, record: Record) -> Record:
    """Change a record as the body and the facts say.

    :raises Refusal: 409 when its state does not allow it; 400 when it would refer to what is not there.
    """
    kind, own = call.subject_kind, call.facts
    if kind is None:
        return record
    _check_state(call, record)
    call.records.check_references(call.body, call.operation.system, "body", kind.key)
    if "append" not in own:
        record = {**record, **_given(call, kind)}
    for field, member in own.get("append", {}).items():
        record[field] = list(dict.fromkeys([*record.get(field, []), *call.sent.get(member, [])]))
    for member, chosen in own.get("choose", {}).items():
        record.update(chosen.get(call.sent.get(member), {}))
    record.update(own.get("set", {}))
    call.records.change(kind, record)
    for part, fields in own.get("parts", {}).items():
        for row in call.records.rows(part, **{kind.key: record[kind.key]}):
            call.records.change(part, row, **fields)
    return record


def create(call: CompanyCall, further: Mapping[str, Any] | None = None) -> Record:
    """Make a record of what the body gives; the records that its lists show are made too.

    :param further: fields that the body does not give.
    :raises Refusal: 400 when it would refer to what is not there; 409 when the state of what it refers to does not allow it.
    """
    kind, records, operation, own = call.kind, call.records, call.operation, call.facts
    if kind is None:
        return {}
    records.check_references(call.body, operation.system, "body", kind.key)
    given, answer = _given(call, kind), (operation.answer or {}).get("properties", {})
    parts = {
        name: part for name in answer if (part := records.kinds.nested(kind, name, answer[name], operation.system))
    }
    path = {name: call.values[name] for name in operation.path_names if name in kind.properties}
    fields = {name: value for name, value in given.items() if name not in parts}
    _check_state(call, {**(call.subject or {}), **path, **fields})
    made = {**path, **fields, **own.get("set", {}), **(further or {})}
    record = records.create(kind, made, (operation.body or {}).get("properties", ()))
    for name, part in parts.items():
        for item in given.get(name, ()):
            records.create(part, {**item, kind.key: record[kind.key]}, item)
    for reference, changed in own.get("then", {}).items():
        target = records.kinds.of_field(reference, operation.system)
        if target is not None and (id := record.get(reference, call.values.get(reference))) is not None:
            records.change(target, records.get(target, id), **changed)
    return record
