"""Labelled requests: a request in plain words, with the tools that it needs; none where no tool serves it. Beside it, where they are
recorded, its needs: what an agent would ask for in its place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BeforeValidator, Field, PlainSerializer

from ontology.errors import DocumentError, InvalidArgumentError
from retrieval.query.request import Request, check_needs

__all__ = [
    "LabelledQuery",
    "QuerySet",
    "Slot",
    "gold_slots",
    "missing_gold",
    "of_split",
    "read_queries",
    "require_gold",
    "row_tools",
    "sample_queries",
    "slot_name",
    "strict_queries",
    "with_needs",
]

Slot: TypeAlias = tuple[str, ...]
"""Ids of tools that would do equally, at least one, distinct."""


def gold_slots(tools: Iterable[str | Sequence[str]]) -> tuple[Slot, ...]:
    """Return the slots of a gold set as rows have it: a tool id, or a list of ids that would do equally, for each slot.

    Slots of the same tools are one slot: a tool that is called twice is found once.
    """
    slots = (tuple(dict.fromkeys([one] if isinstance(one, str) else one)) for one in tools)
    distinct: dict[frozenset[str], Slot] = {}
    for slot in slots:
        distinct.setdefault(frozenset(slot), slot)
    return tuple(distinct.values())


def row_tools(slots: Sequence[Slot]) -> list[str | list[str]]:
    """The gold set as rows have it; the inverse of :func:`gold_slots`."""
    return [slot[0] if len(slot) == 1 else list(slot) for slot in slots]


def slot_name(slot: Slot) -> str:
    """The slot in a report: its tools, in the order given."""
    return " or ".join(slot)


_Row = TypeVar("_Row")
_NAMED = 10  # number of errors that a message names


class RowError(Exception):
    """The reason why a row cannot be used."""


def read_rows(files: Sequence[Path], parse: Callable[[bytes], tuple[str, _Row]], what: str) -> dict[str, _Row]:
    """Return a map from id to row of all files, in their order.

    :raises DocumentError: for a file that cannot be read, and for all invalid rows together.
    """
    rows: dict[str, _Row] = {}
    errors: list[tuple[str, str]] = []
    first_at: dict[str, str] = {}
    for path in files:
        for place, line in _lines(path, what):
            try:
                row_id, row = parse(line)
                _check_unique(row_id, place, first_at)
            except RowError as error:
                errors.append((place, str(error)))
            else:
                rows[row_id] = row
    if errors:
        raise _invalid_rows(errors, what)
    return rows


def _lines(path: Path, what: str) -> Iterator[tuple[str, bytes]]:
    """Yield each line that is not blank, with its position ``file:line``."""
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe or a device could be read without end
        raise DocumentError(
            f"the {what} are no regular file", subject=str(path), remedy="Give a file, not a device or a pipe"
        )
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise DocumentError(
            f"the {what} cannot be read ({error.strerror or error})",
            subject=str(path),
            remedy="Name a file with one JSON row for each request, as in docs/measuring.md",
        ) from error
    written = [(f"{path}:{number}", line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not written:
        raise DocumentError(
            "there is no request in this file", subject=str(path), remedy="Write one JSON row for each request"
        )
    yield from written


def json_object(line: bytes) -> dict[str, Any]:
    """Return the object of a line.

    :raises RowError: when it is none.
    """
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RowError("it is not UTF-8") from error
    except RecursionError as error:
        raise RowError("it is nested too deeply") from error
    except ValueError as error:
        raise RowError(f"it is not JSON ({error})") from error
    if not isinstance(row, dict):
        raise RowError("it is not a JSON object")
    return row


def _check_unique(query_id: str, place: str, first_at: dict[str, str]) -> None:
    if query_id in first_at:
        raise RowError(f"the id {query_id!r} was already used at {first_at[query_id]}")
    first_at[query_id] = place


def _invalid_rows(errors: Sequence[tuple[str, str]], what: str) -> DocumentError:
    remedy = "Correct or remove these rows"
    if len(errors) == 1:
        place, problem = errors[0]
        return DocumentError(problem, subject=place, remedy="Correct or remove this row")
    files = dict.fromkeys(place.rpartition(":")[0] for place, _ in errors)
    named = listed([f"{place}: {problem}" for place, problem in errors])
    return DocumentError(f"{len(errors):,} rows are not {what}: {named}", subject=", ".join(files), remedy=remedy)


def listed(items: Sequence[str]) -> str:
    """Return the first ten of these texts, and how many more there are."""
    more = len(items) - _NAMED
    return "; ".join(items[:_NAMED]) + (f"; and {more:,} more" if more > 0 else "")


_USUAL_NAME = "queries.jsonl"  # a set in a file of this name has the name of the folder
_REQUIRED = {"id": str, "query": str, "tools": list}
_OPTIONAL = {"class": str, "split": str}
_NO_TOOLS = "none"  # the class that datagen gives to every request that no tool serves
_KINDS = {str: "a text", list: "a list of texts; a list in it has the tools that would do equally"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuery:
    """A request and its gold set.

    :param id: unique in its set.
    :param text: the request in plain words.
    :param slots: what it needs, in the order given; one tool of each slot is enough. Empty: no tool serves the request.
    :param request_class: the class of the request, or empty.
    :param split: ``dev``, ``test`` or another part of its set, or empty.
    :param kind: why no tool serves it (``missing-action``, ``other-domain``, ``chit-chat``), or empty.
    :param needs: its recorded needs, perhaps none; None where they were not read.
    """

    id: str
    text: Annotated[str, Field(alias="query")]
    slots: Annotated[tuple[Slot, ...], Field(alias="tools"), BeforeValidator(gold_slots), PlainSerializer(row_tools)]
    request_class: Annotated[str, Field(alias="class")] = ""
    split: str = ""
    kind: str = ""
    needs: tuple[str, ...] | None = None

    @property
    def tools(self) -> tuple[str, ...]:
        """Ids of all tools of the gold set, distinct, in the order given; with alternatives, more than are needed."""
        return tuple(dict.fromkeys(tool for slot in self.slots for tool in slot))

    @property
    def least_tools(self) -> int:
        """A number of tools below which no answer is complete: slots of which no two have a tool in common."""
        counted: set[str] = set()
        apart = 0
        for slot in self.slots:
            if counted.isdisjoint(slot):
                counted.update(slot)
                apart += 1
        return apart


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySet:
    """Labelled requests that are measured together.

    :param name: the set's name in reports.
    :param queries: the answerable requests: each needs at least one tool.
    :param sha256: digest of the requests' canonical JSON in their order; runs are comparable only if it is equal.
    :param unanswerable: the requests that no tool serves. Only abstention is measured on them.
    :param without_needs: number of requests that were left out, because they have no recorded needs.
    :param unknown_needs: ids with recorded needs that are of no request.
    """

    name: str
    queries: tuple[LabelledQuery, ...]
    sha256: str
    unanswerable: tuple[LabelledQuery, ...] = ()
    without_needs: int = 0
    unknown_needs: tuple[str, ...] = ()

    @property
    def asked(self) -> tuple[LabelledQuery, ...]:
        """All requests that a system is sent: the answerable ones, then the others."""
        return self.queries + self.unanswerable

    @property
    def has_alternatives(self) -> bool:
        """Whether a slot of a request has more than one tool."""
        return any(len(slot) > 1 for query in self.queries for slot in query.slots)


def strict_queries(queries: QuerySet) -> QuerySet:
    """Return the set with only the first tool of each slot, as the strict figures count; name and digest stay the same."""
    strict = (replace(query, slots=gold_slots(slot[0] for slot in query.slots)) for query in queries.queries)
    return replace(queries, queries=tuple(strict))


def read_queries(files: Sequence[Path], *, name: str = "", split: str = "", unanswerable: bool = False) -> QuerySet:
    """Read labelled requests from JSON Lines files as one set, in the given order.

    A row is an object with ``id``, ``query``, ``tools`` and optionally ``class`` and ``split``; other keys and blank
    lines are ignored. ``tools`` has an entry for each needed tool: its id, or a list of the ids of tools that would do
    equally. A repeated entry counts once. A row whose ``tools`` is empty is a request that no tool serves; its kind is ``kind``, or else its
    ``class``. One invalid row is an error for the whole set,
    because a mean over the remaining requests would be another figure.

    :param name: name of the set; by default the stem of each file, or the folder's name where the file is ``queries.jsonl``.
    :param split: read only rows of this split; all rows where empty.
    :param unanswerable: whether rows without tools are read; where they are not, each is an invalid row.
    :raises InvalidArgumentError: when no file is given, or the split has no row.
    :raises DocumentError: when a file cannot be read or has no request, or for invalid rows: the message counts them and
        names the first ten with file and line.
    """
    if not files:
        raise InvalidArgumentError(
            "no file of labelled requests is given", subject="queries", remedy="Name at least one"
        )

    def parse(line: bytes) -> tuple[str, LabelledQuery]:
        query = _parse_row(line, unanswerable=unanswerable)
        return query.id, query

    queries = list(read_rows(files, parse, "labelled requests").values())
    return of_split(_query_set(name or _name(files), queries), split)


def with_needs(queries: QuerySet, files: Sequence[Path], *, split: str = "") -> QuerySet:
    """Return the requests that have recorded needs, with them, in their order, as a set.

    A row of the files is an object with ``id`` and ``needs``, a list of 0 to 32 phrases of 1 to 500 characters. Rows without ``needs`` and
    other keys are ignored, so the files may be those of the requests. The needs count in the digest of the set.

    :param split: only the requests of this split; all of them where empty.
    :raises InvalidArgumentError: when no request has needs, or the split has no request.
    :raises DocumentError: as :func:`read_queries`.
    """
    recorded = read_rows(files, _parse_needs, "recorded needs")
    needs = {query_id: found for query_id, found in recorded.items() if found is not None}
    asked = of_split(queries, split).asked
    kept = [replace(query, needs=needs[query.id]) for query in asked if query.id in needs]
    if not kept:
        raise InvalidArgumentError(
            "no request has recorded needs",
            subject=", ".join(map(str, files)),
            remedy='Write a row {"id": …, "needs": ["find an employee by name", …]} for each request; the ids are those of the requests',
        )
    known = {query.id for query in queries.asked}
    return replace(
        _query_set(queries.name, kept),
        without_needs=len(asked) - len(kept),
        unknown_needs=tuple(query_id for query_id in needs if query_id not in known),
    )


def of_split(queries: QuerySet, split: str) -> QuerySet:
    """Return the requests of one split, in their order, as a set; all of them where ``split`` is empty.

    :raises InvalidArgumentError: when the split has no request; the remedy lists the splits.
    """
    kept = [query for query in queries.asked if split in ("", query.split)]
    if not kept:
        known = sorted({query.split for query in queries.asked} - {""})
        raise InvalidArgumentError(
            f"no request has the split {split!r}",
            subject="split",
            remedy=f"There are: {', '.join(known)}" if known else "The rows have no split",
        )
    return _query_set(queries.name, kept)


def missing_gold(queries: QuerySet, known: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return a map from query id to its gold tools that are not in ``known``; only requests with such tools."""
    ids = known if isinstance(known, (set, frozenset, Mapping)) else frozenset(known)
    missing = {query.id: tuple(tool for tool in query.tools if tool not in ids) for query in queries.queries}
    return {query_id: tools for query_id, tools in missing.items() if tools}


def require_gold(queries: QuerySet, missing: Mapping[str, Sequence[str]]) -> None:
    """Raise an error for requests whose gold tools the catalogue does not have.

    :param missing: the result of :func:`missing_gold`.
    :raises InvalidArgumentError: when there are any; the message counts them and names the first ten.
    """
    if not missing:
        return
    named = [f"{query_id!r} needs {', '.join(map(repr, tools))}" for query_id, tools in missing.items()]
    tools = len({tool for lacking in missing.values() for tool in lacking})
    raise InvalidArgumentError(
        f"{len(missing):,} of {len(queries.queries):,} requests need {tools:,} tools that the snapshot does not have: "
        + listed(named),
        subject=queries.name,
        remedy="Measure on the catalogue that they were labelled for, or give --allow-missing: "
        "such requests then count, and are never complete unless an alternative is there",
    )


def sample_queries(queries: QuerySet, limit: int) -> QuerySet:
    """Return at most ``limit`` of the requests, in their order, as a set; chosen by the hash of their ids.

    The sample is the same on every machine. It does not depend on classes or systems.

    :raises InvalidArgumentError: when the limit is below 1.
    """
    if limit < 1:
        raise InvalidArgumentError(f"at least one request must be measured, not {limit}", subject="limit")
    ids = {query.id for query in sorted(queries.asked, key=lambda query: _hash(query.id))[:limit]}
    sampled = _query_set(queries.name, [query for query in queries.asked if query.id in ids])
    return replace(queries, queries=sampled.queries, unanswerable=sampled.unanswerable, sha256=sampled.sha256)


def _query_set(name: str, queries: Sequence[LabelledQuery]) -> QuerySet:
    answerable = tuple(query for query in queries if query.slots)
    unanswerable = tuple(query for query in queries if not query.slots)
    return QuerySet(name=name, queries=answerable, sha256=_sha256(answerable + unanswerable), unanswerable=unanswerable)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _parse_needs(line: bytes) -> tuple[str, tuple[str, ...] | None]:
    row = json_object(line)
    if not isinstance(row.get("id"), str) or not row["id"]:
        raise RowError("'id' must be a text that is not empty")
    needs = row.get("needs")
    if needs is None:
        return row["id"], None
    if not isinstance(needs, list) or not all(isinstance(need, str) for need in needs):
        raise RowError("'needs' must be a list of texts")
    try:
        check_needs(needs)
    except InvalidArgumentError as error:
        raise RowError(f"{error.subject}: {error.problem}") from error
    return row["id"], tuple(needs)


def _parse_row(line: bytes, *, unanswerable: bool) -> LabelledQuery:
    row = json_object(line)
    _check_types(row)
    if not row["id"]:
        raise RowError("'id' is empty")
    if not row["tools"] and not unanswerable:
        raise RowError("'tools' is empty: a request needs at least one gold tool")
    try:
        Request(query=row["query"])
    except InvalidArgumentError as error:
        raise RowError(error.problem) from error
    return LabelledQuery(
        id=row["id"],
        text=row["query"],
        slots=gold_slots(row["tools"]),
        request_class=row.get("class") or "",
        split=row.get("split") or "",
        kind=_kind(row),
    )


def _kind(row: Mapping[str, Any]) -> str:
    """Why no tool serves the request: its kind, or else its class where that says more than that there is none."""
    if row["tools"]:
        return ""
    kind, request_class = row.get("kind"), str(row.get("class") or "")
    if kind is not None and not isinstance(kind, str):
        raise RowError(f"'kind' must be {_KINDS[str]}")
    if _has_surrogate(kind or ""):
        raise RowError("'kind' is not valid Unicode")
    return kind or ("" if request_class == _NO_TOOLS else request_class)


def _check_types(row: Mapping[str, Any]) -> None:
    lacking = [key for key in _REQUIRED if key not in row]
    if lacking:
        raise RowError(f"it has no {', '.join(map(repr, lacking))}")
    for key, kind in (_REQUIRED | _OPTIONAL).items():
        value = row.get(key)
        if key in _OPTIONAL and value is None:
            continue
        texts: list[Any] = _texts(value) if kind is list and isinstance(value, list) else [value]
        if not isinstance(value, kind) or not all(isinstance(text, str) for text in texts):
            raise RowError(f"{key!r} must be {_KINDS[kind]}")
        if key == "tools" and not all(texts):
            raise RowError("'tools' has an empty id")
        if key != "query" and any(_has_surrogate(text) for text in texts):
            raise RowError(f"{key!r} is not valid Unicode")


def _texts(entries: Sequence[Any]) -> list[Any]:
    """The texts of a list, and of the lists in it; an empty list in it stands for an empty text."""
    lists = [(entry or [""]) if isinstance(entry, list) else [entry] for entry in entries]
    return [text for texts in lists for text in texts]


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _name(files: Sequence[Path]) -> str:
    names = [path.resolve().parent.name if path.name == _USUAL_NAME else path.stem for path in files]
    return "+".join(dict.fromkeys(names))


def _sha256(queries: Sequence[LabelledQuery]) -> str:
    rows = [
        [
            *(query.id, query.text, row_tools(query.slots), query.request_class),
            *([query.kind] if query.kind else []),
            *([] if query.needs is None else [{"needs": query.needs}]),
        ]
        for query in queries
    ]
    return hashlib.sha256(json.dumps(rows, separators=(",", ":")).encode("ascii")).hexdigest()
