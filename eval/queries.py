"""Labelled requests: a request in words with the tools that it needs, none where no tool serves it; and its recorded needs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationError,
    field_validator,
    model_validator,
)

from ontology.errors import DocumentError, InvalidArgumentError
from ontology.json_values import first_error
from retrieval.query.request import Request, check_needs

Slot: TypeAlias = tuple[str, ...]
"""Ids of tools that would do equally, at least one, distinct."""


def gold_slots(tools: Iterable[str | Sequence[str]]) -> tuple[Slot, ...]:
    """Return the slots of a gold set as rows have it: a tool id, or a list of ids that would do equally, for each slot.

    Slots of the same tools are one slot: a tool that is called twice is found once.
    """
    distinct: dict[frozenset[str], Slot] = {}
    for one in tools:
        slot = tuple(dict.fromkeys([one] if isinstance(one, str) else one))
        distinct.setdefault(frozenset(slot), slot)
    return tuple(distinct.values())


def row_tools(slots: Sequence[Slot]) -> list[str | list[str]]:
    """The gold set as rows have it; the inverse of :func:`gold_slots`."""
    return [slot[0] if len(slot) == 1 else list(slot) for slot in slots]


def slot_name(slot: Slot) -> str:
    """The slot in a report: its tools, in the order given."""
    return " or ".join(slot)


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


def read_queries(files: Sequence[Path], *, name: str = "", split: str = "", unanswerable: bool = False) -> QuerySet:
    """Read labelled requests from JSON Lines files as one set, in the given order.

    A row is an object with ``id``, ``query``, ``tools`` and optionally ``class`` and ``split``; other keys and blank lines are
    ignored. ``tools`` has an entry for each needed tool: its id, or a list of the ids of tools that would do equally. A row whose
    ``tools`` is empty is a request that no tool serves; its kind is ``kind``, or else its ``class``. One invalid row is an error for
    the whole set, because a mean over the remaining requests would be another figure.

    :param name: name of the set; by default the stem of each file, or the folder's name where the file is ``queries.jsonl``.
    :param split: read only rows of this split; all rows where empty.
    :param unanswerable: whether rows without tools are read; where they are not, each is an invalid row.
    :raises InvalidArgumentError: when no file is given, or the split has no row.
    :raises DocumentError: when a file cannot be read or has no request, or for invalid rows: the message counts them and
        names the first ten with file and line.
    """
    if not files:
        problem = "no file of labelled requests is given"
        raise InvalidArgumentError(problem, subject="queries", remedy="Name at least one")
    rows = _read(files, _Row if unanswerable else _AnswerableRow, "labelled requests")
    stems = (path.resolve().parent.name if path.name == "queries.jsonl" else path.stem for path in files)
    read = _query_set(name or "+".join(dict.fromkeys(stems)), [row.labelled() for row in rows.values()])
    return of_split(read, split)


def with_needs(queries: QuerySet, files: Sequence[Path], *, split: str = "") -> QuerySet:
    """Return the requests that have recorded needs, with them, in their order, as a set.

    A row of the files is an object with ``id`` and ``needs``, a list of 0 to 32 phrases of 1 to 500 characters. Rows without ``needs`` and
    other keys are ignored, so the files may be those of the requests. The needs count in the digest of the set.

    :param split: only the requests of this split; all of them where empty.
    :raises InvalidArgumentError: when no request has needs, or the split has no request.
    :raises DocumentError: as :func:`read_queries`.
    """
    recorded = _read(files, _NeedsRow, "recorded needs")
    needs = {query_id: tuple(row.needs) for query_id, row in recorded.items() if row.needs is not None}
    asked = of_split(queries, split).asked
    kept = [replace(query, needs=needs[query.id]) for query in asked if query.id in needs]
    if not kept:
        subject, example = ", ".join(map(str, files)), '{"id": …, "needs": ["find an employee by name", …]}'
        remedy = f"Write a row {example} for each request; the ids are those of the requests"
        raise InvalidArgumentError("no request has recorded needs", subject=subject, remedy=remedy)
    known = {query.id for query in queries.asked}
    unknown = tuple(query_id for query_id in needs if query_id not in known)
    return replace(_query_set(queries.name, kept), without_needs=len(asked) - len(kept), unknown_needs=unknown)


def of_split(queries: QuerySet, split: str) -> QuerySet:
    """Return the requests of one split, in their order, as a set; all of them where ``split`` is empty.

    :raises InvalidArgumentError: when the split has no request; the remedy lists the splits.
    """
    kept = [query for query in queries.asked if split in ("", query.split)]
    if not kept:
        known = sorted({query.split for query in queries.asked} - {""})
        remedy = f"There are: {', '.join(known)}" if known else "The rows have no split"
        raise InvalidArgumentError(f"no request has the split {split!r}", subject="split", remedy=remedy)
    return _query_set(queries.name, kept)


def missing_gold(queries: QuerySet, known: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return a map from query id to its gold tools that are not in ``known``; only requests with such tools."""
    ids = frozenset(known)
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
        + _listed(named),
        subject=queries.name,
        remedy="Measure on the catalogue that they were labelled for, or give --allow-missing: "
        "such requests then count, and are never complete unless an alternative is there",
    )


def sample_queries(queries: QuerySet, limit: int) -> QuerySet:
    """Return at most ``limit`` of the requests, in their order, as a set; chosen by the hash of their ids, the same on every machine.

    :raises InvalidArgumentError: when the limit is below 1.
    """
    if limit < 1:
        raise InvalidArgumentError(f"at least one request must be measured, not {limit}", subject="limit")
    by_hash = sorted(queries.asked, key=lambda query: hashlib.sha256(query.id.encode()).hexdigest())
    ids = {query.id for query in by_hash[:limit]}
    sampled = _query_set(queries.name, [query for query in queries.asked if query.id in ids])
    return replace(sampled, without_needs=queries.without_needs, unknown_needs=queries.unknown_needs)


def _query_set(name: str, queries: Sequence[LabelledQuery]) -> QuerySet:
    answerable = tuple(query for query in queries if query.slots)
    unanswerable = tuple(query for query in queries if not query.slots)
    rows = [
        [
            *(query.id, query.text, row_tools(query.slots), query.request_class),
            *([query.kind] if query.kind else []),
            *([] if query.needs is None else [{"needs": query.needs}]),
        ]
        for query in answerable + unanswerable
    ]
    sha256 = hashlib.sha256(json.dumps(rows, separators=(",", ":")).encode("ascii")).hexdigest()
    return QuerySet(name=name, queries=answerable, sha256=sha256, unanswerable=unanswerable)


_Id = Annotated[str, Field(min_length=1)]
_NAMED = 10  # errors that a message names


def _slots(tools: Any) -> tuple[Slot, ...]:
    """The slots of a row's ``tools``; a ValueError where it has another form."""
    entries = [entry if isinstance(entry, list) else [entry] for entry in tools] if isinstance(tools, list) else [[]]
    if not all(entry and all(isinstance(one, str) and one for one in entry) for entry in entries):
        raise ValueError("it must be a list of ids; a list in it has the ids of tools that would do equally")
    return gold_slots(entries)


def _askable(query: str) -> str:
    try:
        Request(query=query)
    except InvalidArgumentError as error:
        raise ValueError(error.problem) from error
    return query


def _needs(needs: list[str]) -> list[str]:
    try:
        check_needs(needs)
    except InvalidArgumentError as error:
        raise ValueError(f"{error.subject}: {error.problem}") from error
    return needs


class _NeedsRow(BaseModel):
    id: _Id
    needs: Annotated[list[str], AfterValidator(_needs)] | None = None


class _Row(BaseModel):
    id: _Id
    query: Annotated[str, AfterValidator(_askable)]
    tools: Annotated[tuple[Slot, ...], BeforeValidator(_slots)]
    request_class: Annotated[str | None, Field(alias="class")] = None
    split: str | None = None
    kind: Any = None  # of a request with tools, another's word

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if not self.tools and not isinstance(self.kind, str | None):
            raise ValueError("'kind' must be a text")
        return self

    def labelled(self) -> LabelledQuery:
        """The request; the kind of one without tools is else its class, where that says more than that there is no tool."""
        request_class = self.request_class or ""
        kind = self.kind or ("" if request_class == "none" else request_class)
        return LabelledQuery(
            id=self.id,
            text=self.query,
            slots=self.tools,
            request_class=request_class,
            split=self.split or "",
            kind="" if self.tools else kind,
        )


class _AnswerableRow(_Row):
    @field_validator("tools")
    @classmethod
    def _check_tools(cls, tools: tuple[Slot, ...]) -> tuple[Slot, ...]:
        if not tools:
            raise ValueError("it is empty: a request needs at least one gold tool")
        return tools


_AnyRow = TypeVar("_AnyRow", _Row, _NeedsRow)


def _read(files: Sequence[Path], model: type[_AnyRow], what: str) -> dict[str, _AnyRow]:
    """Return a map from id to row of all files, in their order; one error for all rows that cannot be used."""
    rows: dict[str, _AnyRow] = {}
    places: dict[str, str] = {}
    errors: list[tuple[str, str]] = []
    for path in files:
        for place, line in _lines(path, what):
            try:
                row = model.model_validate_json(line)
            except ValidationError as error:
                errors.append((place, first_error(error, show_value=False)))
                continue
            if row.id in places:
                errors.append((place, f"the id {row.id!r} was already used at {places[row.id]}"))
            else:
                rows[row.id], places[row.id] = row, place
    if len(errors) == 1:
        raise DocumentError(errors[0][1], subject=errors[0][0], remedy="Correct or remove this row")
    if errors:
        named = _listed([f"{place}: {problem}" for place, problem in errors])
        subject = ", ".join(dict.fromkeys(place.rpartition(":")[0] for place, _ in errors))
        problem = f"{len(errors):,} rows are not {what}: {named}"
        raise DocumentError(problem, subject=subject, remedy="Correct or remove these rows")
    return rows


def _listed(items: Sequence[str]) -> str:
    more = len(items) - _NAMED
    return "; ".join(items[:_NAMED]) + (f"; and {more:,} more" if more > 0 else "")


def _lines(path: Path, what: str) -> Iterator[tuple[str, bytes]]:
    """Yield each line that is not blank, with its position ``file:line``."""
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe or a device could be read without end
        remedy = "Give a file, not a device or a pipe"
        raise DocumentError(f"the {what} are no regular file", subject=str(path), remedy=remedy)
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        problem = f"the {what} cannot be read ({error.strerror or error})"
        remedy = "Name a file with one JSON row for each request, as in docs/measuring.md"
        raise DocumentError(problem, subject=str(path), remedy=remedy) from error
    if not any(map(bytes.strip, lines)):
        remedy = "Write one JSON row for each request"
        raise DocumentError("there is no request in this file", subject=str(path), remedy=remedy)
    yield from ((f"{path}:{number}", line) for number, line in enumerate(lines, start=1) if line.strip())
