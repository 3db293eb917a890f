"""The adaptive toolset of a run: approved versions serve every run, and a version that the run's own model made serves that run alone.

A version holds to the contract of its operator: it only reads, takes the operator's arguments, and gives its columns. Whether its names
are those of the schema the engine says, in a dry run with the arguments of a call that had failed.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from inference.chat import ChatModel, Message
from inference.structured_chat import StructuredChat, StructuredRequest, UnusableAnswerError
from ontology.errors import EgotoolsError, StatementError, StorageError
from planners.calls.model_text import json_objects, without_thoughts
from planners.calls.untrusted import FenceMarks, clean_text, cleaned
from planners.graphseek.adapt.operator_version import OperatorVersion, VersionFolder
from planners.graphseek.agent_events import ModelAsked
from planners.graphseek.catalog.catalog import SemanticCatalog
from planners.graphseek.catalog.catalog_text import catalog_text
from planners.graphseek.dialects.cypher_text import Compiled
from planners.graphseek.operators.graph_query import cell_of, column_of, table_of
from planners.graphseek.operators.operator import (
    Operator,
    OperatorContext,
    OperatorFault,
    TypedOperator,
    check_arguments,
    object_schema,
)
from planners.graphseek.operators.pattern import NodeReader
from planners.graphseek.prompts.graphseek_prompt import graphseek_prompt
from planners.graphseek.results.result import Result, ResultColumn
from planners.graphseek.turn import Fault, Invocation, StepRecord
from planners.journal.step_log import metered, on_a_thread
from planners.stores.graph_schema import GraphSchema, ReadableGraph
from planners.stores.property_graph import QueryLimits
from planners.stores.statements import allowed_cypher

__all__ = ["Adaptation", "OperatorAdapter"]

_log = logging.getLogger(__name__)
_FAILURES = 3
"""Of an operator in a run, after which a version is asked for; one is enough where the schema has changed (part of appendix A.3)."""
_OF_OPERATORS = frozenset({"unknown name", "engine", "empty", "arguments", "refused"})
"""Kinds of faults that another version could cure. That a call has arguments outside their schema is a fault of the plan."""
_OF_SCHEMAS = frozenset({"unknown name", "engine"})  # those that a name which the schema lacks gives
_PLAIN = frozenset({"string", "integer", "number", "boolean"})
"""Types of arguments that a template can have as parameters; so can lists of them be."""
_DRY_RUN = QueryLimits(rows=10, seconds=5.0)
"""Enough to see that it answers, and in which columns: a right template of the paper's special tools takes 0.1 s."""
_ROWS = 10_000  # they are read into memory, because post-processing has them all
_ASKED = 4  # one answer, and three more with the fault (the paper's loop of appendix A.3 names no number)
_TOKENS = 1_500  # of an answer: a template of thirty lines and as much Python
_SHOWN = 4_000  # characters of the operator's own text
_FAULT = 500
_PROMPT = "operator_version"
_ANSWER: dict[str, Any] = object_schema(
    ["template"], template={"type": "string", "minLength": 1}, parameters={"type": "object"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptation:
    """What came of asking for a version.

    :param version: None where none passed.
    :param problem: why there is none, or why it is not stored.
    """

    operator: str
    version: OperatorVersion | None = None
    problem: str = ""


class OperatorAdapter:
    """Versions of a folder, and the model that proposes new ones.

    :param folder: of the versions.
    :param model: None: none are proposed.
    :param accepted: fingerprint of the schema that the accepted catalog was made for; that of the run's catalog where empty.
    :param dry_run: its limits.
    """

    def __init__(
        self,
        folder: Path,
        model: ChatModel | None = None,
        *,
        accepted: str = "",
        dry_run: QueryLimits = _DRY_RUN,
    ) -> None:
        self._folder = VersionFolder(folder)
        self._model = model
        self._accepted = accepted
        self._dry_run = dry_run
        self._marks = FenceMarks()

    @property
    def proposes(self) -> bool:
        """Whether it may ask a model."""
        return self._model is not None

    def serving(self, operators: Sequence[Operator], graph: ReadableGraph, schema: GraphSchema) -> tuple[Operator, ...]:
        """Return the operators, each in its newest approved version for this schema, where it has one.

        A version is checked as if it were new: a file may say anything. One that fails is left out, and logged.
        """
        try:
            versions = self._folder.versions()
        except StorageError as error:
            _log.warning("versions of operators are left out: %s", error)
            return tuple(operators)
        for problem in self._folder.problems:
            _log.warning("a version of an operator is left out: %s", problem)
        approved = (each for each in versions if each.status == "approved")
        newest = {each.operator: each for each in approved if each.is_for(graph.dialect, schema.fingerprint)}
        return tuple(
            self._checked(each, newest[each.name], schema) if each.name in newest else each for each in operators
        )

    def operator(self, base: Operator, version: OperatorVersion) -> Operator:
        """Return a version as an operator: under the name, the description and the arguments of its own."""
        return replace(base, runs=partial(_run, version)) if isinstance(base, TypedOperator) else base

    async def adapt(
        self,
        records: Sequence[StepRecord],
        operators: Sequence[Operator],
        graph: ReadableGraph,
        schema: GraphSchema,
        catalog_fingerprint: str,
        tried: Collection[str],
    ) -> Adaptation | None:
        """Ask for a version of an operator that failed in the last step; None where none has to be asked for.

        :param tried: operators that were asked for before: each is once in a run.
        :raises BudgetExceededError: when the budget is used up.
        """
        made_for = self._accepted or catalog_fingerprint
        has_changed = bool(made_for) and made_for != schema.fingerprint
        for operator in operators:
            last = _failed(records[-1:], operator, schema)
            if self._model is None or operator.name in tried or not last:
                continue
            failed = _failed(records, operator, schema)
            is_stale = has_changed and any(fault.kind in _OF_SCHEMAS for _, fault in last)
            if _can_have_versions(operator, schema) and (is_stale or len(failed) >= _FAILURES):
                wanted = _Wanted(operator, graph, schema, last[-1][0].arguments, [fault for _, fault in failed])
                return await self._proposed(wanted, self._model)
        return None

    def _checked(self, base: Operator, version: OperatorVersion, schema: GraphSchema) -> Operator:
        try:
            return self.operator(base, _allowed(version, base, schema))
        except StatementError as error:
            _log.warning("version %s is left out: %s", version.name, error)
            return base

    async def _proposed(self, wanted: _Wanted, model: ChatModel) -> Adaptation:
        """Ask for a version, and ask again with the fault, until one passes or the attempts are used up."""
        loop = asyncio.get_running_loop()

        def read(text: str) -> OperatorVersion:
            return asyncio.run_coroutine_threadsafe(self._tried(wanted, text), loop).result()

        request = StructuredRequest(
            messages=self._messages(wanted), schema=_ANSWER, schema_name=_PROMPT, max_tokens=_TOKENS
        )
        with metered(model, _PROMPT, partial(ModelAsked, prompt=_PROMPT)) as asked:
            chat = StructuredChat(asked, kind="graphseek", repair_prompt=self._repair, cache=None, attempts=_ASKED)
            answer = await on_a_thread("graphseek-version", lambda: chat.call(request, "", read))
        name = wanted.operator.name
        if answer.value is None:
            return Adaptation(operator=name, problem=clean_text(answer.problem))
        try:
            return Adaptation(operator=name, version=self._folder.add(answer.value))
        except StorageError as error:
            return Adaptation(operator=name, version=answer.value, problem=f"it is not stored: {error}")

    async def _tried(self, wanted: _Wanted, text: str) -> OperatorVersion:
        """Return the version of an answer, with the columns that its dry run gives.

        :raises UnusableAnswerError: with what is wrong.
        """
        try:
            version = wanted.version(_read(text))
            names, rows, _ = await _rows(version, version.example, wanted.graph, self._dry_run)
            if not rows:
                problem = "it gives no rows for the arguments of the call that failed"
                remedy = "Check names, directions and how values are compared"
                raise StatementError(problem, subject="dry run", remedy=remedy)
            columns = [_column(name, [row[at] for row in rows], wanted.schema) for at, name in enumerate(names)]
            _check_columns(columns, _returns(wanted.operator))
        except EgotoolsError as error:
            raise UnusableAnswerError(f"{error.subject}: {error.problem}. {error.remedy}") from error
        return replace(version, columns=tuple(columns))

    def _repair(self, fault: str) -> str:
        shown = self._marks.fenced(clean_text(fault)[:_FAULT])
        return f"That cannot be used:\n{shown}\nAnswer again with one JSON object of the form that was said."

    def _messages(self, wanted: _Wanted) -> tuple[Message, ...]:
        fenced, operator = self._marks.fenced, wanted.operator
        of = {each: f"a node of type {each.node_type}" if each.node_type else each.type for each in _returns(operator)}
        parameters = operator.parameters(wanted.schema, ())
        faults = "\n".join(f"{each.problem}. {each.hint}" for each in wanted.faults)
        said = [
            f"Operator: {operator.name}: {operator.description}",
            f"Arguments: {json.dumps(parameters, sort_keys=True)}",
            f"Columns it must give: {', '.join(f'{each.name} ({kind})' for each, kind in of.items())}",
            f"As it is now:\n{fenced(_own_text(operator))}",
            f"Cypher of: {wanted.graph.dialect}",
            f"Schema:\n{fenced(catalog_text(SemanticCatalog(), wanted.schema, form='lean').text)}",
            f"A call that failed: {fenced(json.dumps(dict(wanted.arguments), ensure_ascii=False))}",
            f"Faults:\n{fenced(faults)}",
        ]
        return (
            Message(role="system", content=graphseek_prompt(_PROMPT)),
            Message(role="user", content="\n\n".join(said)),
        )


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a version is made for: the arguments of the call that failed last, and the faults of the operator in this run."""

    operator: Operator
    graph: ReadableGraph
    schema: GraphSchema
    arguments: Mapping[str, Any]
    faults: Sequence[Fault]

    def version(self, answer: Mapping[str, Any]) -> OperatorVersion:
        """Return what an answer of a model proposes; of arguments it may say defaults.

        :raises StatementError: when it breaks the contract.
        """
        base = self.operator.parameters(self.schema, ())
        given = dict(base.get("properties", {}))
        for name, each in answer.get("parameters", {}).items():
            if name not in given:
                raise _broken(f"{str(name)[:40]!r} is no argument of the operator")
            if isinstance(each, Mapping) and "default" in each:
                given[name] = {**given[name], "default": each["default"]}
        proposed = OperatorVersion(
            operator=self.operator.name,
            dialect=self.graph.dialect,
            schema=self.schema.fingerprint,
            template=answer["template"],
            parameters={**base, "properties": given},
            example=dict(self.arguments),
        )
        return _allowed(proposed, self.operator, self.schema)


async def _run(version: OperatorVersion, arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    """Run a version in the place of its operator. What fails is a StatementError, which is told like a fault."""
    limits, columns = QueryLimits(rows=_ROWS, seconds=context.seconds), version.columns
    names, rows, cut = await _rows(version, arguments, context.graph, limits, context.ran)
    if rows and names != tuple(each.name for each in columns):
        problem = f"version {version.name} gave the columns {', '.join(names)}"
        raise StatementError(problem, subject=version.operator, remedy="Use another operator")
    cells = [tuple(_cell(value, column) for value, column in zip(row, columns, strict=True)) for row in rows]
    notes = [f"By version {version.name}, which is {version.status}."]
    notes += [f"There are more than {_ROWS:,} rows."] if cut else []
    return await context.results.keep_table(table_of(columns, cells), title=version.operator, most=_ROWS, notes=notes)


def _returns(operator: Operator) -> tuple[ResultColumn, ...]:
    """Return the columns that the table of an operator always has."""
    return operator.returns if isinstance(operator, TypedOperator) else ()


def _can_have_versions(operator: Operator, schema: GraphSchema) -> bool:
    """Whether an operator says its columns, and takes what a template can have as parameters."""
    given = operator.parameters(schema, ()).get("properties", {}).values()
    kinds = ((each.get("items", {}) if each.get("type") == "array" else each).get("type") for each in given)
    return bool(_returns(operator)) and all(isinstance(each, str) and each in _PLAIN for each in kinds)


def _allowed(version: OperatorVersion, operator: Operator, schema: GraphSchema) -> OperatorVersion:
    """Return a version with the template as it may go to the engine. Nothing is run.

    :raises StatementError: when it writes, or breaks the contract.
    """
    if version.process:
        raise _broken("versions have no post-processing by Python any more: the query gives the rows")
    if not _can_have_versions(operator, schema):
        raise _broken("the operator can have no versions")
    base, defaults = operator.parameters(schema, ()), _defaults(version)
    for name, value in defaults.items():
        try:
            check_arguments(value, base["properties"].get(name, {}))
        except OperatorFault as fault:
            raise _broken(f"the default of {name}: {fault.problem}") from fault
    allowed, always = allowed_cypher(version.template, write=False), base.get("required", ())
    used = {token.text[1:] for token in allowed.tokens if token.kind == "parameter"}
    for name in sorted(used):
        if name not in base["properties"]:
            raise _broken(f"${name} is no argument of the operator")
        if name not in always and name not in defaults:
            raise _broken(f"the optional argument {name} has no default")
    if lacking := [name for name in always if name not in used]:
        raise _broken(f"the template does not use ${lacking[0]}")
    return replace(version, template=allowed.text)


def _defaults(version: OperatorVersion) -> dict[str, Any]:
    known = version.parameters.get("properties", {})
    return {name: each["default"] for name, each in known.items() if "default" in each}


def _check_columns(columns: Sequence[ResultColumn], wanted: Sequence[ResultColumn]) -> None:
    """Check that a result has the columns that the operator always gives.

    :raises StatementError: when one is missing, or of another type.
    """
    found = {each.name: each for each in columns}
    for each in wanted:
        got = found.get(each.name)
        if got is None:
            raise _broken(f"the column {_shown(each)} is missing; there is {', '.join(found) or 'none'}")
        is_wider = (each.type, got.type) == ("number", "integer") or (got.type == "node" and not each.node_type)
        if (got.type, got.node_type) != (each.type, each.node_type) and not is_wider:
            raise _broken(f"the column {each.name} has {_shown(got)}, and must have {_shown(each)}")


def _shown(column: ResultColumn) -> str:
    return f"{column.name} ({f'nodes of type {column.node_type}' if column.node_type else f'type {column.type}'})"


def _broken(problem: str) -> StatementError:
    return StatementError(problem, subject="contract", remedy="Keep to the arguments and columns of the operator")


async def _rows(
    version: OperatorVersion,
    arguments: Mapping[str, Any],
    graph: ReadableGraph,
    limits: QueryLimits,
    ran: Callable[[Compiled], None] = lambda compiled: None,
) -> tuple[tuple[str, ...], list[tuple[Any, ...]], bool]:
    """Return columns, rows, and whether there were more."""
    given = {**_defaults(version), **arguments}
    tokens = allowed_cypher(version.template, write=False).tokens
    used = sorted({token.text[1:] for token in tokens if token.kind == "parameter"} & given.keys())
    values = {name: tuple(given[name]) if isinstance(given[name], list) else given[name] for name in used}
    compiled = Compiled(text=version.template, parameters=values)
    ran(compiled)
    async with graph.read(compiled.text, compiled.parameters, limits) as stream:
        rows: list[tuple[Any, ...]] = [tuple(row) async for batch in stream.batches() for row in batch]
        return stream.columns, rows[: limits.rows], stream.cut or len(rows) > limits.rows


def _column(name: str, values: Sequence[Any], schema: GraphSchema) -> ResultColumn:
    """Return a column; that of nodes with their type in the schema."""
    column = column_of(name, values)
    if column.type != "node":
        return column
    reader = NodeReader(schema, SemanticCatalog())
    types = {reader.node(each).type for each in values if each is not None}
    return replace(column, node_type=types.pop() if len(types) == 1 else "")


def _cell(value: Any, column: ResultColumn) -> Any:
    """Return a cell; what is of another type than the column becomes a text, which the store then empties."""
    try:
        return cell_of(value, column)
    except (TypeError, ValueError, KeyError):
        return str(value)


def _read(text: str) -> Mapping[str, Any]:
    """Return an answer that has the form.

    :raises UnusableAnswerError: for any other text.
    """
    meant = [each for each in json_objects(without_thoughts(text)) if "template" in each]
    if not meant:
        raise UnusableAnswerError("it is not one JSON object with a template")
    answer: Mapping[str, Any] = cleaned(meant[-1])
    try:
        check_arguments(answer, _ANSWER, called="it")
    except OperatorFault as fault:
        raise UnusableAnswerError(f"{fault.problem}. {fault.hint}") from fault
    return answer


def _own_text(operator: Operator) -> str:
    """Return what an operator does: the template of a version, else its code, where it can be read."""
    runs = getattr(operator, "runs", None)
    if isinstance(runs, partial):
        return str(runs.args[0].template)
    try:
        return inspect.getsource(runs or type(operator))[:_SHOWN]
    except (OSError, TypeError):
        return "not known"


def _failed(records: Sequence[StepRecord], operator: Operator, schema: GraphSchema) -> list[tuple[Invocation, Fault]]:
    """Return the calls of an operator that failed by no fault of the plan."""

    def failed() -> Iterator[tuple[Invocation, Fault]]:
        for call, outcome in (pair for record in records for pair in record.pairs):
            if call.operator == operator.name and isinstance(outcome, Fault) and outcome.kind in _OF_OPERATORS:
                try:
                    check_arguments(call.arguments, operator.parameters(schema, ()))
                except OperatorFault:
                    continue
                yield call, outcome

    return [*failed()]
