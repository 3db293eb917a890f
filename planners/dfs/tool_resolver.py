"""The resolver over retrieved tools: each edge and direction is a call of the tool that the service returns for it.

Identifiers go in whole, in chunks or one by one; entities come out, page after page.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from egotools import ClientError, Tool
from egotools.calling.input_arguments import kinds, properties_of
from egotools.calling.invoker import ToolInvoker
from egotools.calling.mcp_session import first_cause
from ontology.errors import BudgetExceededError, ToolCallError
from ontology.names import words
from planners.calls.bindings import (
    AnswerRow,
    Binding,
    Misfit,
    answer_rows,
    bind,
    paging_of,
    path_steps,
    value_at,
)
from planners.calls.tool_finder import Finder
from planners.dfs.resolver import SELF, Entity, Step, day_of, in_interval, window_arguments
from planners.query.domain import Domain, EntityType, Lookup
from planners.query.graph_faults import holds
from planners.query.query_graph import FilterConstraint

_MOST_PAGES = 10_000
_MOST_AT_ONCE = 8  # calls of a tool that takes one identifier
_Answer = TypeVar("_Answer")
# Arguments, and the sources that the rows of the answer may have.
_Asked: TypeAlias = tuple[Mapping[str, Any], Collection[str]]


class Candidate(NamedTuple):
    """A tool that fits, with its rank by the service, from 1."""

    tool: Tool
    rank: int
    binding: Binding


class Choice(NamedTuple):
    """The tools for one purpose: ``Email from Person``, or a type."""

    purpose: str
    request: str  # what the service was asked
    snapshot_id: str
    candidates: tuple[Candidate, ...]  # the tools that fit, by rank; the first is called
    misfits: tuple[str, ...] = ()  # why each other returned tool does not fit, one sentence each

    @property
    def reason(self) -> str:
        """Why the first candidate was chosen, one sentence."""
        if not self.candidates:
            return f"no tool for {self.purpose}: {'; '.join(self.misfits[:3]) or 'the service returned none'}"
        first = self.candidates[0]
        return f"rank {first.rank} for “{self.request}”; {first.binding.reason}"


class _NoRecordError(ToolCallError):
    """The tool answers that what it was asked for is not there (404)."""


class ToolResolver:
    """Implements :class:`planners.dfs.resolver.Resolver`.

    A 404 for one source means that no edge starts there, once the tool has answered for another one: its address is then right.

    :param finder: asked once for each edge and direction, and for each type.
    :param chunk: identifiers of one call of a tool that takes a list.
    :param said: called with a sentence when a tool was chosen, and when another takes its place.
    """

    def __init__(
        self,
        domain: Domain,
        finder: Finder,
        invoker: ToolInvoker,
        *,
        chunk: int = 500,
        said: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self._domain, self._finder, self._invoker = domain, finder, invoker
        self._chunk, self._said, self._room = chunk, said, asyncio.Semaphore(_MOST_AT_ONCE)
        self._answered: set[str] = set()
        self._choices: dict[str, Choice] = {}
        self._own: Entity | None = None
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The choices so far, in the order of their making."""
        return tuple(self._choices.values())

    async def choice(self, step: Step | str) -> Choice:
        """Return the tools for a step, or for the lookup of a type.

        :raises ToolCallError: when the domain does not say how it is resolved.
        :raises EgotoolsError: when the service does not answer.
        """
        lookup, purpose = self._lookup(step), step if isinstance(step, str) else ""
        if not isinstance(step, str):
            source, target = (step.source, step.target) if step.forward else (step.target, step.source)
            purpose = f"{source} {step.edge} {target}{'' if step.forward else ' (backward)'}"
        if lookup is None:
            raise ToolCallError(f"the domain {self._domain.name} names no tool for it", subject=purpose)
        return await self._chosen(purpose, self._wanted(step, lookup))

    async def follow(self, step: Step, sources: Sequence[str]) -> Sequence[tuple[str, Entity]]:
        """See :class:`planners.dfs.resolver.Resolver`."""
        if not sources:
            return []
        source, target = self._domain.types[step.source], self._domain.types[step.target]
        own = (await self._self()).fields.get("own_id", SELF) if SELF in (source.kind, target.kind) else SELF
        asked = {own if each == SELF and source.kind == "self" else each: each for each in sources}
        # Where an entity found by a range of days has its own day: what the edge gives in the other direction.
        back = self._lookup(Step(step.target, step.edge, step.source, not step.forward))
        dated = back.gives if back and source.kind == "date" else ""
        choice = await self.choice(step)
        pairs = await self._first(choice, lambda candidate: self._follow(candidate, list(asked), source, dated))
        if target.kind == "self":
            pairs = [(origin, Entity(SELF, found.fields)) for origin, found in pairs if found.id in (own, SELF)]
        elif target.kind == "date":
            pairs = [(origin, Entity(day_of(found.id), found.fields)) for origin, found in pairs]
        return [(asked[origin], found) for origin, found in pairs]

    async def find(
        self, kind: str, filters: Sequence[FilterConstraint], *, most: int | None = None
    ) -> Sequence[Entity]:
        """See :class:`planners.dfs.resolver.Resolver`."""
        if self._domain.types[kind].kind == "self":
            return [await self._self()]
        return await self._first(await self.choice(kind), lambda candidate: self._find(candidate, filters, most))

    def _lookup(self, step: Step | str) -> Lookup | None:
        """How the domain finds the entities of a type, or resolves an edge in one direction."""
        if isinstance(step, str):
            return self._domain.types[step].lookup
        ends = (step.source, step.target) if step.forward else (step.target, step.source)
        edge = self._domain.edge(step.edge, *ends)
        if edge is None:
            return None
        return edge.forward.get(step.target) if step.forward else edge.backward.get(step.source)

    def _wanted(self, step: Step | str, lookup: Lookup) -> Lookup:
        """What a tool must do for a step, or to find the entities of a type."""
        takes, fields = lookup.takes, dict[str, str]()
        kind = self._domain.types[step if isinstance(step, str) else step.target]
        if isinstance(step, str):  # then ``takes`` is the input of their identifier
            plain = {name: "" for name, each in kind.fields.items() if each.kind != "ordinal"}
            fields = plain | ({"id": takes} if takes else {}) | dict(lookup.fields)
            takes = ""
        elif self._domain.types[step.source].kind == "date" and {"start", "end"} & lookup.fields.keys():  # of a range
            takes = f"{lookup.fields.get('start', '')},{lookup.fields.get('end', '')}"
        return lookup.model_copy(update={"takes": takes, "fields": fields})

    async def _chosen(self, purpose: str, wanted: Lookup) -> Choice:
        async with self._locks[purpose]:  # whoever comes first asks; when cancelled, the next one asks itself
            if purpose in self._choices:
                return self._choices[purpose]
            try:
                found = await self._finder.find(wanted.request)
            except ClientError as error:
                raise ToolCallError(f"the tool service did not answer: {error.message}", subject=purpose) from error
            candidates, misfits = list[Candidate](), list[str]()
            for each in found.tools:
                if each.tool.effect != "read":
                    misfits.append(f"{each.tool.id} may change something")
                    continue
                binding = bind(each.tool, wanted)
                if isinstance(binding, Misfit):
                    misfits.append(binding.reason)
                else:
                    candidates.append(Candidate(each.tool, each.rank, binding))
            choice = Choice(purpose, wanted.request, found.snapshot_id, tuple(candidates), tuple(misfits))
            self._said(f"{purpose}: {choice.reason}")
            self._choices[purpose] = choice
            return choice

    async def _first(self, choice: Choice, call: Callable[[Candidate], Awaitable[_Answer]]) -> _Answer:
        """Return the answer of the tool of a choice; raises ToolCallError when there is none, or it fails."""
        if not choice.candidates:
            raise ToolCallError(choice.reason, subject=choice.purpose)
        id_ = choice.candidates[0].tool.id
        try:
            return await call(choice.candidates[0])
        except ClientError as error:
            if error.reason == "RUN_LIMIT":  # no other tool helps against a limit of the run
                raise BudgetExceededError(error.message, subject=error.subject, remedy="Raise the limit") from error
            where = f"{error.subject}: " if error.subject not in ("", id_) else ""
            raise ToolCallError(f"{id_}: {where}{error.message}", subject=choice.purpose) from error
        except ToolCallError as error:
            raise ToolCallError(f"{id_}: {error.problem}", subject=choice.purpose) from error

    async def _self(self) -> Entity:
        """Return the user; ``own_id`` is the identifier by which tools know them."""
        async with self._locks[""]:
            name = next((name for name, kind in self._domain.types.items() if kind.kind == "self"), "")
            if not name or self._lookup(name) is None:
                return Entity(SELF)
            if self._own is None:
                found = await self._first(await self.choice(name), lambda candidate: self._find(candidate, ()))
                if len(found) != 1:
                    raise ToolCallError(f"the tool gives {len(found)} records of the user instead of one", subject=name)
                self._own = Entity(SELF, {**found[0].fields, "own_id": found[0].id})
            return self._own

    async def _follow(
        self, candidate: Candidate, sources: Sequence[str], source: EntityType, dated: str
    ) -> list[tuple[str, Entity]]:
        """Return pairs of a source and an entity; in the field ``dated`` an entity that a range of days gives has its own day."""
        binding = candidate.binding
        if source.kind == "date" and "," in binding.takes:
            windows = [(window_arguments(each, binding.takes), [each]) for each in sources]
            pairs = await self._pairs(candidate, windows)
            return [pair for pair in pairs if in_interval(pair[1].fields.get(dated), pair[0])]
        if not binding.takes:
            return await self._pairs(candidate, [({}, sources)], source.identifier)
        values = _typed(sources, candidate)
        asked: list[_Asked] = [({binding.takes: value}, [each]) for each, value in zip(sources, values, strict=True)]
        if binding.is_list:  # without a source in each row, one call tells whose rows they are
            size = self._chunk if binding.source else 1
            starts = range(0, len(sources), size)
            asked = [({binding.takes: values[at : at + size]}, dict.fromkeys(sources[at : at + size])) for at in starts]
        return await self._pairs(candidate, asked, source.identifier)

    async def _find(
        self, candidate: Candidate, filters: Sequence[FilterConstraint], most: int | None = None
    ) -> list[Entity]:
        """Return the entities of a type that meet the filters. A filter whose input bears the name of its field is the
        tool's to apply. The others are checked on what the entities carry, also where an input of another name
        (``query``) has taken them."""
        arguments, others = _filter_arguments(candidate, filters)
        fields = candidate.binding.fields
        loose = [f for f in filters if f in others or not set(words(f.field)) <= set(words(_input_of(f, fields)))]
        found: dict[str, Entity] = {}
        for row in await self._rows(candidate, arguments, most):
            carried = {"id": row.id, **row.fields} if loose else {}
            unknown = next((each.field for each in others if carried.get(each.field) is None), "")
            if unknown:
                problem = f"neither an input nor an output of the tool is the field {unknown}"
                raise ToolCallError(problem, subject=candidate.tool.id)
            if all(holds(carried[each.field], each) for each in loose if carried.get(each.field) is not None):
                found.setdefault(row.id, Entity(row.id, row.fields))
        return list(found.values())

    async def _pairs(
        self, candidate: Candidate, asked: Sequence[_Asked], own_field: str = ""
    ) -> list[tuple[str, Entity]]:
        """Make some calls at once and return their pairs, each once, in the order of the calls."""

        async def rows_of(arguments: Mapping[str, Any], sources: Collection[str]) -> list[AnswerRow] | _NoRecordError:
            try:
                return await self._rows(candidate, arguments)
            except _NoRecordError as error:
                if len(sources) > 1:  # which of them is not there, the answer does not say
                    raise
                return error

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(rows_of(*each)) for each in asked]
        except ExceptionGroup as errors:
            raise first_cause(errors) from None
        binding, steps = candidate.binding, path_steps(candidate.binding.gives)
        # Where the object that an identifier stands in is the source itself, its other members say nothing of the entity:
        # get_invoice(invoice_id) gives the supplier's identifier in the invoice.
        own_names = set() if "[]" in steps else {own_field, binding.takes} - {"", *steps[-1:]}
        pairs: dict[tuple[str, str], Entity] = {}
        for task, (_, sources) in zip(tasks, asked, strict=True):
            rows = task.result()
            if isinstance(rows, _NoRecordError):
                if candidate.tool.id not in self._answered:
                    raise rows
                continue
            for row in rows:
                origin = _source_of(row, sources, candidate)
                of_source = own_names and any(str(row.fields[name]) == origin for name in own_names & row.fields.keys())
                pairs.setdefault((origin, row.id), Entity(row.id, {} if of_source else row.fields))
        # get_employee(employee_id) gives employee_id
        may_echo = bool(steps) and "[]" not in steps and words(steps[-1]) == words(binding.takes)
        if pairs and may_echo and all(origin == found for origin, found in pairs):
            raise ToolCallError("it only gives back the identifiers that it was given", subject=candidate.tool.id)
        return [(origin, entity) for (origin, _), entity in pairs.items()]

    async def _rows(
        self, candidate: Candidate, arguments: Mapping[str, Any], most: int | None = None
    ) -> list[AnswerRow]:
        """Call a tool and return the rows of its answer, those of the following pages too, until there are ``most``."""
        binding, paging, subject = candidate.binding, paging_of(candidate.tool), candidate.tool.id
        rows: list[AnswerRow] = []
        page: Any = None
        for _ in range(_MOST_PAGES):
            try:
                answer = await self._called(candidate, arguments if page is None else {**arguments, paging.page: page})
            except _NoRecordError as error:
                raise error if page is None else ToolCallError(error.problem, subject=subject) from None
            rows += answer_rows(answer, binding.gives, source=binding.source, subject=subject)
            following = value_at(answer, paging.next_page) if paging.page else None
            if following in (None, "", page) or (most is not None and len(rows) >= most):
                return rows
            page = following
        raise ToolCallError(f"the answer has more than {_MOST_PAGES:,} pages", subject=subject)

    async def _called(self, candidate: Candidate, arguments: Mapping[str, Any]) -> Any:
        async with self._room:
            answer = await self._invoker.invoke(candidate.tool, {**candidate.binding.every, **arguments})
        if not answer.ok:
            said = f" ({str(answer.body)[:200]})" if answer.body else ""
            kind = _NoRecordError if answer.status.startswith("404") else ToolCallError
            raise kind(f"the tool answers {answer.status}{said}", subject=candidate.tool.id)
        self._answered.add(candidate.tool.id)
        return answer.body


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
    """Return the source of a row; raises ToolCallError when the answer does not say which it is, or names another than
    those that were given."""
    if row.source in sources:
        return row.source
    if len(sources) == 1 and not (row.source and candidate.binding.is_list):
        return next(iter(sources))
    unasked = f"a row belongs to {row.source!r}, which nobody asked for"
    raise ToolCallError(unasked if row.source else "its rows do not name their source", subject=candidate.tool.id)


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


def _input_of(each: FilterConstraint, fields: Mapping[str, str]) -> str:
    """Return the input that takes a filter, or empty: of two, ``from,to``, that for its operator; ``name_contains`` before ``name``."""
    named = fields.get(each.field, "")
    if each.op == "contains":
        named = fields.get(f"{each.field}_contains", named)
    parts = named.split(",")
    if each.op in ("<", ">"):
        return parts[each.op == "<"] if len(parts) == 2 else ""
    return parts[0] if len(parts) == 1 else ""
