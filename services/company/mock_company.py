"""The company: the operations of its documents over its records."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ontology.errors import InvalidArgumentError
from services.company.api_documents import Operation, read_operations
from services.company.call_rules import CompanyCall, answer_by_rule
from services.company.company_facts import read_facts
from services.company.company_records import CompanyRecords
from services.company.people_calls import PEOPLE_CALLS
from services.company.record_kinds import kinds_of
from services.company.record_store import RecordStore
from services.company.refusal import Refusal, wrong
from services.company.seed_records import fill
from services.company.trade_calls import TRADE_CALLS
from services.company.value_faults import check_value, parsed
from services.company.warehouse_calls import WAREHOUSE_CALLS

__all__ = ["CompanyAnswer", "MockCompany"]

_FILE = "company.sqlite"
_MAX_DEPTH = 50
_SPECIAL = {**TRADE_CALLS, **PEOPLE_CALLS, **WAREHOUSE_CALLS}


@dataclass(frozen=True, slots=True)
class CompanyAnswer:
    """An answer of the company; ``body`` is JSON, None of an answer without one."""

    status: int
    body: Any


class MockCompany:
    """Answers calls of the OpenAPI documents of a catalogue from records in a folder.

    :param catalog: folder of the documents.
    :param folder: where the records are kept; a folder without them gets those of the seed.
    :raises InvalidArgumentError: when the folder holds records of another seed, or the catalogue has no documents.
    """

    def __init__(self, catalog: Path, folder: Path, *, seed: int) -> None:
        self.operations = read_operations(catalog)
        facts = read_facts()
        kinds = kinds_of(self.operations, facts)
        self._store = RecordStore(folder / _FILE)
        held = self._store.about("seed")
        if held is None:
            fill(self._store, facts, kinds, seed)
        elif held != str(seed):
            self._store.close()
            raise InvalidArgumentError(
                f"the records there are of the seed {held}",
                subject=str(folder),
                remedy=f"Give --seed {held}, or another folder",
            )
        self._records = CompanyRecords(self._store, facts, kinds, seed)

    def answer(
        self, operation: Operation, path: Mapping[str, str], query: Mapping[str, Sequence[str]], body: bytes
    ) -> CompanyAnswer:
        """Answer one call. May be called by several threads.

        :param path: values of the path, decoded.
        :param query: values of the query by name, decoded.
        """
        try:
            values = _values(operation, path, query)
            sent = _body(operation, body)
            with self._store.transaction():
                call = CompanyCall(self._records, operation, values, sent)
                _ = call.subject  # the path must name records that are there, whatever the call does
                shown = _SPECIAL.get(operation.id, answer_by_rule)(call)
            return CompanyAnswer(operation.status, shown if operation.answer is not None else None)
        except Refusal as refusal:
            return CompanyAnswer(refusal.status, {"code": refusal.code, "message": refusal.message})

    def close(self) -> None:
        """Close the records."""
        self._store.close()


def _values(operation: Operation, path: Mapping[str, str], query: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The parameters of a call; defaults where there are some. Those that the document does not have are refused."""
    known = {parameter.name for parameter in operation.parameters if parameter.place == "query"}
    if unknown := sorted(set(query) - known):
        raise wrong(unknown[0][:80], f"there is no such parameter; known: {', '.join(sorted(known)) or 'none'}")
    values: dict[str, Any] = {}
    for parameter in operation.parameters:
        name = parameter.name
        if parameter.place == "path":
            values[name] = _of_path(path[name], parameter.schema, name)
        elif name in query:
            values[name] = parsed(query[name], parameter.schema, name)
        elif parameter.required:
            raise wrong(name, "it is missing")
        elif "default" in parameter.schema:
            values[name] = parameter.schema["default"]
    return values


def _of_path(text: str, schema: Mapping[str, Any], name: str) -> Any:
    """A value of the path; one of another form than its schema's names nothing that is there."""
    try:
        return parsed([text], schema, name)
    except Refusal:
        raise Refusal(404, "NOT_FOUND", f"{name}: there is no record {text[:80]!r}") from None


def _body(operation: Operation, body: bytes) -> Any:
    if operation.body is None or not body:
        if operation.body_required:
            raise wrong("body", "it is missing")
        return None
    try:
        sent = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise wrong("body", "it is no JSON") from None
    if _depth(sent) > _MAX_DEPTH:
        raise wrong("body", "it is nested too deeply")
    check_value(sent, operation.body, "body")
    return sent


def _no_number(text: str) -> Any:
    raise ValueError(re.escape(text))


def _depth(value: Any) -> int:
    """How deeply lists and objects are nested, without recursion."""
    level, depth = [value], 0
    while level:
        inner = [each for each in level if isinstance(each, dict | list)]
        level = [item for each in inner for item in (each.values() if isinstance(each, dict) else each)]
        depth += 1 if inner else 0
    return depth
