"""Calls of a chosen tool: identifiers go in whole, in chunks or one by one; entities come out, page after page."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from egotools.calling.first_cause import first_cause
from egotools.calling.invoker import ToolInvoker
from egotools.calling.schema_kinds import kinds, properties_of
from ontology.errors import ToolCallError
from ontology.names import words
from planners.calls.answer_rows import AnswerRow, answer_rows, path_steps
from planners.calls.page_inputs import paging_of, value_at
from planners.dfs.execution.day_intervals import in_interval, window_arguments
from planners.dfs.resolver import Entity
from planners.dfs.tool_choice import Candidate
from planners.query.domain import EntityType
from planners.query.field_checks import carried, meets
from planners.query.query_graph import FilterConstraint

__all__ = ["ToolCalls"]

_MOST_PAGES = 10_000
_Rows: TypeAlias = "list[AnswerRow] | _NoRecord"
# Arguments, and the sources that the rows of the answer may have.
_Asked: TypeAlias = tuple[Mapping[str, Any], Collection[str]]


class _NoRecord(ToolCallError):
    """The tool answers that what it was asked for is not there (404)."""


class ToolCalls:
    """Makes the calls. Each raises ToolCallError where the tool refuses or answers another shape, and the errors of its invoker.

    A 404 for one source means that no edge starts there, once the tool has answered for another one: its address is then right.

    :param chunk: identifiers of one call of a tool that takes a list.
    :param concurrency: calls at once.
    """

    def __init__(self, invoker: ToolInvoker, *, chunk: int, concurrency: int) -> None:
        self._invoker = invoker
        self._chunk = chunk
        self._room = asyncio.Semaphore(concurrency)
        self._answered: set[str] = set()

    async def follow(
        self, candidate: Candidate, sources: Sequence[str], source: EntityType, dated: str
    ) -> list[tuple[str, Entity]]:
        """Return the pairs of a source and an entity.

        :param source: the type of the sources.
        :param dated: of sources that are ranges of days: the field in which an entity has its own day, or empty.
        """
        binding = candidate.binding
        if source.kind == "date" and "," in binding.takes:
            windows = [(window_arguments(each, binding.takes), [each]) for each in sources]
            pairs = await self._each(candidate, windows)
            return [pair for pair in pairs if in_interval(pair[1].fields.get(dated), pair[0])]
        if not binding.takes:
            return await self._each(candidate, [({}, sources)], source.identifier)
        values = _typed(sources, candidate)
        if binding.is_list:
            size = (
                self._chunk if binding.source else 1
            )  # without a source in each row, one call tells whose rows they are
            starts = range(0, len(sources), size)
            asked: list[_Asked] = [
                ({binding.takes: values[at : at + size]}, dict.fromkeys(sources[at : at + size])) for at in starts
            ]
        else:
            asked = [({binding.takes: value}, [each]) for each, value in zip(sources, values, strict=True)]
        return await self._each(candidate, asked, source.identifier)

    async def find(self, candidate: Candidate, kind: EntityType, filters: Sequence[FilterConstraint]) -> list[Entity]:
        """Return the entities of a type that meet the filters.

        A filter whose input bears the name of its field is the tool's to apply. The others are checked here on what the entities
        carry, also where an input of another name (``query``) has taken them.
        """
        arguments, others = _filter_arguments(candidate, filters)
        loose = [each for each in filters if each in others or not _is_own_input(each, candidate.binding.fields)]
        found: dict[str, Entity] = {}
        for row in await self._rows(candidate, arguments):
            entity = Entity(row.id, row.fields)
            unknown = next((each.field for each in others if not carried(entity, each)), "")
            if unknown:
                problem = f"neither an input nor an output of the tool is the field {unknown}"
                raise ToolCallError(problem, subject=candidate.tool.id)
            if all(meets(entity, each) for each in loose if carried(entity, each)):
                found.setdefault(row.id, entity)
        return list(found.values())

    async def count(self, candidate: Candidate, filters: Sequence[FilterConstraint]) -> int | None:
        """Return the number that the tool says, or None where it says none, or not for these filters."""
        arguments, others = _filter_arguments(candidate, filters)
        paging = paging_of(candidate.tool)
        path = paging.total or ("" if "[]" in candidate.binding.gives else candidate.binding.gives)
        if others or not path:
            return None
        if paging.limit:
            arguments[paging.limit] = 1
        answer = await self._called(candidate, arguments)
        number = answer if path == "result" and not isinstance(answer, Mapping) else value_at(answer, path)
        return number if isinstance(number, int) and not isinstance(number, bool) else None

    async def _each(
        self, candidate: Candidate, asked: Sequence[_Asked], own_field: str = ""
    ) -> list[tuple[str, Entity]]:
        """Make some calls at once and return their pairs, each once, in the order of the calls."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._rows_of(candidate, *each)) for each in asked]
        except ExceptionGroup as errors:
            raise first_cause(errors) from None
        pairs: dict[tuple[str, str], Entity] = {}
        own_names = _names_of_source(candidate, own_field)
        for task, (_, sources) in zip(tasks, asked, strict=True):
            rows = task.result()
            if isinstance(rows, _NoRecord):
                if candidate.tool.id not in self._answered:
                    raise rows
                continue
            for row in rows:
                origin = _source_of(row, sources, candidate)
                fields = {} if own_names and _is_of_source(row, origin, own_names) else row.fields
                pairs.setdefault((origin, row.id), Entity(row.id, fields))
        if pairs and _is_echo(candidate) and all(origin == found for origin, found in pairs):
            raise ToolCallError("it only gives back the identifiers that it was given", subject=candidate.tool.id)
        return [(origin, entity) for (origin, _), entity in pairs.items()]

    async def _rows_of(self, candidate: Candidate, arguments: Mapping[str, Any], sources: Collection[str]) -> _Rows:
        try:
            return await self._rows(candidate, arguments)
        except _NoRecord as error:
            if len(sources) > 1:  # which of them is not there, the answer does not say
                raise
            return error

    async def _rows(self, candidate: Candidate, arguments: Mapping[str, Any]) -> list[AnswerRow]:
        """Call a tool and return the rows of its answer, those of the following pages too."""
        binding, paging, subject = candidate.binding, paging_of(candidate.tool), candidate.tool.id
        rows: list[AnswerRow] = []
        page: Any = None
        for _ in range(_MOST_PAGES):
            try:
                answer = await self._called(candidate, arguments if page is None else {**arguments, paging.page: page})
            except _NoRecord as error:
                raise error if page is None else ToolCallError(error.problem, subject=subject) from None
            rows += answer_rows(answer, binding.gives, source=binding.source, subject=subject)
            following = value_at(answer, paging.next_page) if paging.page else None
            if following in (None, "", page):
                return rows
            page = following
        raise ToolCallError(f"the answer has more than {_MOST_PAGES:,} pages", subject=subject)

    async def _called(self, candidate: Candidate, arguments: Mapping[str, Any]) -> Any:
        async with self._room:
            answer = await self._invoker.invoke(candidate.tool, {**candidate.binding.every, **arguments})
        if not answer.ok:
            said = f" ({str(answer.body)[:200]})" if answer.body else ""
            kind = _NoRecord if answer.status.startswith("404") else ToolCallError
            raise kind(f"the tool answers {answer.status}{said}", subject=candidate.tool.id)
        self._answered.add(candidate.tool.id)
        return answer.body


def _is_echo(candidate: Candidate) -> bool:
    """Whether the identifiers that come out may be those that went in: ``get_employee(employee_id)`` gives ``employee_id``."""
    steps = path_steps(candidate.binding.gives)
    return bool(steps) and "[]" not in steps and words(steps[-1]) == words(candidate.binding.takes)


def _typed(identifiers: Sequence[str], candidate: Candidate) -> list[str | int]:
    """Return identifiers as the input wants them: numbers where its schema allows numbers only."""
    schema = candidate.tool.input_schema
    wanted = properties_of(schema, schema).get(candidate.binding.takes)
    if candidate.binding.is_list and isinstance(wanted, Mapping):
        wanted = wanted.get("items")
    allowed = (kinds(wanted, schema) or frozenset()) - {"null"}
    numbers = bool(allowed) and allowed <= {"integer", "number"}
    return [int(each) if numbers and each.isdecimal() else each for each in identifiers]


def _source_of(row: AnswerRow, sources: Collection[str], candidate: Candidate) -> str:
    """Return the source of a row.

    :raises ToolCallError: when the answer does not say which it is, or names another one than those that were given.
    """
    if row.source in sources:
        return row.source
    if len(sources) == 1 and not (row.source and candidate.binding.is_list):
        return next(iter(sources))
    problem = (
        f"a row belongs to {row.source!r}, which nobody asked for"
        if row.source
        else "its rows do not name their source"
    )
    raise ToolCallError(problem, subject=candidate.tool.id)


def _names_of_source(candidate: Candidate, own_field: str) -> set[str]:
    """Members by which the object that an identifier stands in may be the source itself: none of an item of a list."""
    steps = path_steps(candidate.binding.gives)
    return set() if "[]" in steps else {own_field, candidate.binding.takes} - {steps[-1] if steps else ""}


def _is_of_source(row: AnswerRow, origin: str, names: Collection[str]) -> bool:
    """Whether the object that an identifier stands in is the source itself, so that its other members say nothing of the entity.

    ``get_invoice(invoice_id)`` gives the supplier's identifier in the invoice.
    """
    return any(str(row.fields.get(name)) == origin for name in names if name in row.fields)


def _filter_arguments(
    candidate: Candidate, filters: Sequence[FilterConstraint]
) -> tuple[dict[str, Any], list[FilterConstraint]]:
    """Return the arguments that say the filters, and the filters that they do not say."""
    arguments: dict[str, Any] = {}
    others = []
    for each in filters:
        name = _input_of(each, candidate.binding.fields)
        if name and name not in arguments:
            arguments[name] = each.value
        else:
            others.append(each)
    return arguments, others


def _is_own_input(each: FilterConstraint, fields: Mapping[str, str]) -> bool:
    return set(words(each.field)) <= set(words(_input_of(each, fields)))


def _input_of(each: FilterConstraint, fields: Mapping[str, str]) -> str:
    """Return the input that takes a filter, or empty: of two, ``from,to``, that for its operator; ``name_contains`` before ``name``."""
    named = fields.get(each.field, "")
    if each.op == "contains":
        named = fields.get(f"{each.field}_contains", named)
    parts = named.split(",")
    if each.op in ("<", ">"):
        return (parts[0] if each.op == ">" else parts[1]) if len(parts) == 2 else ""
    return parts[0] if len(parts) == 1 else ""
