"""Which records a list shows: those that meet the parameters of the call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any

from services.company.api_documents import Operation
from services.company.company_facts import CompanyFacts
from services.company.record_kinds import Kind
from services.company.record_store import Record

__all__ = ["matching", "meets"]

_PAGING = ("pageSize", "pageToken")
_WORDS = re.compile(r"\w+")


def meets(record: Mapping[str, Any], stated: Mapping[str, Any]) -> bool:
    """Whether a record has some fields; a list states values of which each will do."""
    return all(
        record.get(name) in value if isinstance(value, list | tuple) else record.get(name) == value
        for name, value in stated.items()
    )


def matching(
    records: list[Record], operation: Operation, kind: Kind, values: Mapping[str, Any], facts: CompanyFacts
) -> list[Record]:
    """The records that meet the parameters that were given, and what the facts state of the list."""
    own = facts.of_operation(operation.id)
    found = [row for row in records if meets(row, own.where)]
    for name, stated in own.unless.items():
        found = found if values.get(name) is True else [row for row in found if meets(row, stated)]
    for name, stated in own.when.items():
        found = [row for row in found if meets(row, stated)] if values.get(name) is True else found
    for name, value in values.items():
        if name in _PAGING or name in own.unless or name in own.when or value is None:
            continue
        found = _compared(found, own.rename.get(name, name), operation, kind, value, facts)
    return found


def _compared(
    rows: list[Record], name: str, operation: Operation, kind: Kind, value: Any, facts: CompanyFacts
) -> list[Record]:
    rule = facts.parameters.get(f"{operation.id}.{name}", facts.parameters.get(name, ""))
    if not rule and name in facts.texts:
        return [row for row in rows if _has_words(row, value)]
    if not rule and name not in kind.properties:
        return rows  # it says how to answer, not about what
    field, _, relation = rule.rpartition(" ") if rule else (name, "", "=")
    if relation == "any":
        return sorted((row for row in rows if _hits(row, value)), key=lambda row: -_hits(row, value))
    compare = _RELATIONS[relation]
    value = facts.synonyms.get(value, value) if isinstance(value, str) else value
    return [row for row in rows if any(compare(found, value) for found in _found(row, field.split(".")))]


def _found(value: Any, path: list[str]) -> Iterator[Any]:
    """The values at a path, through lists."""
    if isinstance(value, list):
        if not path and value:
            yield value
        for item in value:
            yield from _found(item, path)
    elif not path:
        if value is not None:
            yield value
    elif isinstance(value, dict) and path[0] in value:
        yield from _found(value[path[0]], path[1:])


def _equal(found: Any, value: Any) -> bool:
    if isinstance(found, str) and isinstance(value, str):
        return found.casefold() == value.casefold()
    return bool(found == value)


def _in_week(found: Any, value: Any) -> bool:
    year, week, _ = date.fromisoformat(found[:10]).isocalendar()
    return bool(re.sub(r"\D", "", str(value)) == f"{year}{week:02d}")


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


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)


def _has_words(row: Mapping[str, Any], wanted: str) -> bool:
    """Whether each word of a text begins a word of the record; the texts in its lists do not count."""
    words = _WORDS.findall(" ".join(_texts(row)).casefold())
    return all(any(word.startswith(part) for word in words) for part in _WORDS.findall(wanted.casefold()))


def _hits(row: Mapping[str, Any], question: str) -> int:
    words = set(_WORDS.findall(" ".join(_texts(row)).casefold()))
    return len({part for part in _WORDS.findall(question.casefold()) if len(part) > 3} & words)
