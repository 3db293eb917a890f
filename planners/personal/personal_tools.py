"""The tools over a person's data, as a source of tools: ``python:planners.personal.personal_tools``. None changes anything.

They are made from ``tools.yaml``: of each edge of the domain the tools in both directions, of each type those that find and count. A tool
reads the index that :func:`index_in_use` names, else that of ``EGOTOOLS_PERSONAL_INDEX``. Text is compared without regard to case.
"""

from __future__ import annotations

import json
import os
import sqlite3
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from datetime import date, datetime, time, timedelta
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ontology.errors import InvalidArgumentError
from ontology.files import read_yaml
from planners.personal.index import open_to_read
from planners.personal.mail import url_key
from planners.query.graph_faults import folded

_INDEX_SETTING = "EGOTOOLS_PERSONAL_INDEX"
_LIMIT, _MAX_LIMIT = 50_000, 100_000
_TABLE = read_yaml(Path(__file__).parent / "tools.yaml")
_TYPES: Mapping[str, Mapping[str, Any]] = _TABLE["types"]
_FIELD_TYPES: Mapping[str, Any] = {"email_addresses": list[str], "size": int, "all_day": bool}
_IN_RANGE = "day.day >= json_extract(given.value, '$[1]') AND day.day < json_extract(given.value, '$[2]')"
_COMPARED: Mapping[str, Callable[[str], str]] = {
    "url": url_key,
    "extension": lambda text: folded(text).removeprefix("."),
}
_NAMED = ("Person", "Event", "Place", "File", "Folder")  # types whose entities have names
_Tool: TypeAlias = Callable[..., Any]
_named: ContextVar[Path | None] = ContextVar("personal_index", default=None)
_record: Any = typing.TypedDict  # of fields that are known when the table is read


@contextmanager
def index_in_use(path: Path) -> Iterator[None]:
    """Within the block, in its tasks and their threads, the tools read this index."""
    token = _named.set(path)
    try:
        yield
    finally:
        _named.reset(token)


def known_names(texts: Sequence[str], quoted: Sequence[str]) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return which texts are names in the index, of people, events, places, files and folders; without an index none.
    See :data:`planners.query.query_graph.FindNames`."""
    forms = {text: folded(text.replace("’", "'")) for text in texts}
    tables = [f"SELECT '{kind}' AS kind, folded, name FROM {_TYPES[kind]['table']}" for kind in _NAMED]
    query = " UNION ".join(f"{each} WHERE folded IN (SELECT value FROM json_each(:forms))" for each in tables)
    try:
        rows = _rows(query, {"forms": json.dumps(list(forms.values()))})
    except (InvalidArgumentError, sqlite3.Error):  # the tools say what is wrong with it
        return {}
    return {text: [(row["kind"], row["name"]) for row in rows if row["folded"] == form] for text, form in forms.items()}


class _Input(NamedTuple):
    kind: Any
    description: str
    default: Any = Parameter.empty


def _rows(query: str, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a query as entities; raises InvalidArgumentError when no index is named, or there is none."""
    path = _named.get() or os.environ.get(_INDEX_SETTING, "")
    if not path:
        remedy = "Set it to the path of the index"
        raise InvalidArgumentError("no index of personal data is named", subject=_INDEX_SETTING, remedy=remedy)
    with closing(open_to_read(Path(path))) as db:  # one a call: a call may run in any thread
        found = [dict(row) for row in db.execute(query, given)]
    for row in found:
        row.update({name: json.loads(row[name]) for name in ("email_addresses",) if name in row})
        row.update({name: bool(row[name]) for name in ("all_day",) if name in row})
    return found


def _edge_tool(
    tables: str, extra: str | None, source: str, target: str, name: str, text: str, meaning: str = ""
) -> _Tool:
    """The tool of an edge in one direction: each row names in ``source_id`` which identifier it belongs to."""
    origin, found = _TYPES[source], _TYPES[target]
    columns, record = found["columns"], {**_fields(target), "source_id": str}
    if extra:
        columns, record = f"{columns}, c.{extra}", {**record, extra: str}
    if target == "Date":
        record = {"source_id": str, "id": str}
    condition = f"{origin['id']} IN (SELECT value FROM json_each(:ids))"
    if source == "Date":
        tables, condition = f"json_each(:ids) given JOIN {tables}", _IN_RANGE
    for alias in ("e", "v"):
        condition += f" AND {alias}.shown" if f" {alias} JOIN" in tables else ""
    query = f"SELECT DISTINCT {origin['id']} AS source_id, {columns} FROM {tables} WHERE {condition}"

    def answer(given: Mapping[str, Any]) -> Any:
        ids = [_day_range(each) for each in given[origin["input"]]] if source == "Date" else given[origin["input"]]
        return {found["list"]: _rows(query, {"ids": json.dumps(ids)})}

    of = "Folder" if source == "Folder" else ""
    item: Any = _record(f"{of}{'Person' if target == 'Self' else target}Of", record)
    returned = _record(f"{of}{found['list'].title()}Of", {found["list"]: list[item]})
    return _tool(name, text, {origin["input"]: _Input(list[str], meaning or origin["given"])}, returned, answer)


def _finding_tools(kind: str, text: str, inputs: Mapping[str, tuple[str, str]]) -> Iterator[_Tool]:
    """The tools that find the entities of a type, a page at a time, and that count them; without any condition, all of them."""
    of = _TYPES[kind]
    key, several = of["list"], of.get("several", of["list"])

    def matching(given: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        values = {name: _COMPARED.get(name, folded)(given[name]) for name in inputs if given[name] is not None}
        conditions = [f"{of['table'].split()[1]}.shown"] if of.get("shown") else ["1"]
        return f"{of['table']} WHERE {' AND '.join([*conditions, *(inputs[name][0] for name in values)])}", values

    def count(given: Mapping[str, Any]) -> int:
        source, values = matching(given)
        return int(_rows(f"SELECT count(*) AS number FROM {source}", values)[0]["number"])

    def find(given: Mapping[str, Any]) -> dict[str, Any]:
        limit, offset = given["limit"], given["offset"]
        if not 0 <= limit <= _MAX_LIMIT:
            raise InvalidArgumentError(f"{limit} is out of range", subject="limit", remedy=f"Give 0 to {_MAX_LIMIT:,}")
        if offset < 0:
            raise InvalidArgumentError(f"{offset} is negative", subject="offset", remedy="Start with 0")
        source, values = matching(given)
        query = f"SELECT {of['columns']} FROM {source} ORDER BY {of['order']} LIMIT :limit OFFSET :offset"
        found = _rows(query, {**values, "limit": limit, "offset": offset})
        total = len(found) if not offset and len(found) < limit else count(given)
        after = offset + len(found)
        return {key: found, "total": total, "next_offset": after if after < total else None}

    searched = {name: _Input(str | None, meaning, None) for name, (_, meaning) in inputs.items()}
    paged = {
        "limit": _Input(int, f"the most {several} to return, at most {_MAX_LIMIT:,}.", _LIMIT),
        "offset": _Input(int, f"how many {several} to leave out, for the next page.", 0),
    }
    item: Any = _record(kind, _fields(kind))
    page = _record(key.title(), {"total": int, "next_offset": int | None, key: list[item]})
    yield _tool(f"find_{key}", f"Find {text}", {**searched, **paged}, page, find)
    yield _tool(f"count_{key}", f"Count {text}", searched, int, count, f":returns: the number of {several}.")


def _fields(kind: str) -> dict[str, Any]:
    names = (each.split()[-1].rpartition(".")[2] for each in _TYPES[kind]["columns"].split(", "))
    return {name: _FIELD_TYPES.get(name, str) for name in names}


def _tool(
    name: str, text: str, inputs: Mapping[str, _Input], answer: Any, run: Callable[..., Any], returns: str = ""
) -> _Tool:
    """A function with the name, the signature and the text that its document is made from."""
    kind = Parameter.POSITIONAL_OR_KEYWORD
    given = [Parameter(each, kind, default=of.default, annotation=of.kind) for each, of in inputs.items()]
    signature = Signature(given, return_annotation=answer)

    def tool(*arguments: Any, **named: Any) -> Any:
        bound = signature.bind(*arguments, **named)
        bound.apply_defaults()
        return run(bound.arguments)

    lines = [f":param {each}: {of.description}" for each, of in inputs.items()]
    tool.__name__ = tool.__qualname__ = name
    tool.__doc__ = "\n".join([text, "", *lines, returns])
    tool.__annotations__ = {each: of.kind for each, of in inputs.items()} | {"return": answer}
    tool.__signature__ = signature  # type: ignore[attr-defined]
    return tool


def _day_range(text: str) -> tuple[str, str, str]:
    """Return a range of days (``2025-02-01/2025-03-01``, half-open) or a day as written, its first day, and the day
    after its last; raises InvalidArgumentError when it is none."""
    start, slash, end = text.strip().partition("/")
    try:
        first = date.min if start in ("", "..") else datetime.fromisoformat(start).date()
        if not slash:
            last = first + timedelta(days=1)
        elif end in ("", ".."):
            last = date.max
        else:  # a range that ends within a day takes that day in
            moment = datetime.fromisoformat(end)
            last = moment.date() + timedelta(days=moment.time() != time())
    except (ValueError, OverflowError):
        remedy = "Write it as 2025-02-01/2025-03-01, with .. for an open end"
        raise InvalidArgumentError("no range of days", subject=text, remedy=remedy) from None
    return text, first.isoformat(), last.isoformat()


_DIRECTIONS = [(edge, way) for edge in _TABLE["edges"] for way in edge["tools"]]
_MADE = [_edge_tool(edge["tables"], edge.get("extra"), *way) for edge, way in _DIRECTIONS]
_MADE += [tool for kind, finder in _TABLE["finders"].items() for tool in _finding_tools(kind, **finder)]
_TOOLS = {tool.__name__: tool for tool in _MADE}
__all__ = sorted(_TOOLS)


def __getattr__(name: str) -> _Tool:
    if name not in _TOOLS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _TOOLS[name]
