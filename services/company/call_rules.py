"""What a call does, by the form of its path, its method and what its answer shows; what is not so is in ``trade_calls`` and its like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from services.company.api_documents import Operation
from services.company.company_facts import OperationFacts
from services.company.company_records import CompanyRecords
from services.company.record_filters import matching
from services.company.record_kinds import Kind, row_schema
from services.company.record_store import Record
from services.company.record_views import View
from services.company.refusal import conflict, no_record
from services.company.value_faults import check_value

__all__ = ["CompanyCall", "Special", "act", "answer_by_rule", "create", "found", "listed", "shown", "subject_of"]


@dataclass(frozen=True)
class CompanyCall:
    """One call whose values were checked against the document.

    :param values: parameters of path and query by name.
    :param body: the JSON of the request; None where there was none.
    """

    records: CompanyRecords
    operation: Operation
    values: Mapping[str, Any]
    body: Any

    @property
    def facts(self) -> OperationFacts:
        """What the facts say of the operation."""
        return self.records.facts.of_operation(self.operation.id)

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


Special: TypeAlias = Callable[[CompanyCall], Any]
"""Does a call, and returns the body of its answer."""


def subject_of(call: CompanyCall) -> Record:
    """The record that the path names.

    :raises Refusal: 404 when the path names none.
    """
    if call.subject is None:
        raise no_record(call.operation.path, "")
    return call.subject


def answer_by_rule(call: CompanyCall) -> Any:
    """Do what the operation's form says; returns the body of the answer.

    :raises Refusal: when it cannot be done.
    """
    subject, operation = call.subject, call.operation
    _, _, many = row_schema(operation.answer)
    if operation.method == "GET":
        return listed(call, found(call)) if many else shown(call, _one(call))
    if operation.method == "DELETE" and operation.ends_in_parameter and subject and call.subject_kind:
        call.records.remove(call.subject_kind, subject)
        return None
    if subject is not None and (call.kind is None or call.kind is call.subject_kind):
        return shown(call, act(call, subject))
    return shown(call, create(call))


def found(call: CompanyCall) -> list[Record]:
    """The records that a list shows."""
    records, kind = call.records, call.kind
    return [] if kind is None else matching(records.rows(kind, {}), call.operation, kind, call.values, records.facts)


def _one(call: CompanyCall) -> Record:
    if call.subject and call.facts.follow:
        return call.records.get(call.kind or "", call.subject.get(call.facts.follow))
    if call.subject and call.kind is call.subject_kind:
        for name in call.facts.match:
            if call.subject.get(name) != call.values.get(name):
                raise no_record(name, call.values.get(name))
        return call.subject
    rows = found(call)
    if not rows:
        raise no_record(" ".join(call.values) or call.operation.path, " ".join(map(str, call.values.values())))
    return rows[0]


def listed(call: CompanyCall, rows: list[Record]) -> Any:
    """The answer that lists some records, a page of them where the operation has pages."""
    schema, envelope, _ = row_schema(call.operation.answer)
    kind, size = call.kind, call.values.get("pageSize", len(rows))
    token = str(call.values.get("pageToken") or "0")
    start = int(token) if token.isascii() and token.isdecimal() and len(token) < 10 else 0
    view = View(call.records, call.operation.system)
    page = rows[start : start + size] if kind else []
    items = [view.show(kind, row, schema) for row in page if kind and schema]
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
    said = {name: value for name, value in said.items() if name != call.kind.key}
    return View(call.records, call.operation.system, said).show(call.kind, record, schema)


def fields_of(call: CompanyCall, kind: Kind) -> dict[str, Any]:
    """The fields of a record that the body gives."""
    rename = call.facts.rename
    given: dict[str, Any] = {rename[""]: call.body} if "" in rename else {}
    for name, value in call.sent.items():
        field, _, inner = rename.get(name, name).partition(".")
        if field in kind.properties and "" not in rename:
            given[field] = {inner: value} if inner else value
            check_value(given[field], kind.properties[field], f"body.{name}")  # a body may be looser than the record
    given.pop(kind.key, None)
    return given


def act(call: CompanyCall, record: Record) -> Record:
    """Change a record as the body and the facts say.

    :raises Refusal: 409 when its state does not allow it; 400 when it would refer to what is not there.
    """
    kind, facts = call.subject_kind, call.facts
    if kind is None:
        return record
    for field, values in facts.allowed.items():
        if record.get(field) not in values:
            raise conflict(f"{kind.key} {record[kind.key]}: {field} is {record.get(field)}")
    call.records.check_references(call.body, call.operation.system, "body", kind.key)
    if not facts.append:
        record = {**record, **fields_of(call, kind)}
    for field, member in facts.append.items():
        record[field] = list(dict.fromkeys([*record.get(field, []), *call.sent.get(member, [])]))
    for member, chosen in facts.choose.items():
        record.update(chosen.get(call.sent.get(member), {}))
    record.update(facts.set)
    call.records.change(kind, record)
    return record


def create(call: CompanyCall, further: Mapping[str, Any] | None = None) -> Record:
    """Make a record of what the body gives; the records that its lists show are made too.

    :param further: fields that the body does not give.
    :raises Refusal: 400 when it would refer to what is not there.
    """
    kind, records, operation = call.kind, call.records, call.operation
    if kind is None:
        return {}
    records.check_references(call.body, operation.system, "body", kind.key)
    given = fields_of(call, kind)
    answer = (operation.answer or {}).get("properties", {})
    parts = {
        name: part for name in answer if (part := records.kinds.nested(kind, name, answer[name], operation.system))
    }
    path = {name: call.values[name] for name in operation.path_names if name in kind.properties}
    fields = {name: value for name, value in given.items() if name not in parts}
    record = records.create(kind, {**path, **fields, **call.facts.set, **(further or {})}, operation.body)
    for name, part in parts.items():
        for item in given.get(name, ()):
            records.create(part, {**item, kind.key: record[kind.key]}, {"properties": item})
    for reference, changed in call.facts.then.items():
        target = records.kinds.of_field(reference, operation.system)
        if target is not None and reference in record:
            records.change(target, {**records.get(target, record[reference]), **changed})
    return record
