"""Operators that adapt: versions that a model proposes when the schema has changed, and a person approves (appendix A.3 of the paper).

A version is data: for one schema it does by a Cypher template what the operator does. It holds to the contract of its operator: it only
reads, takes the operator's arguments, and gives its columns; a dry run with the arguments of a call that had failed shows that it answers.
One that the run's own model made serves that run alone, an approved one every run. Versions are JSON files in a folder of the user; a
digest finds damage, and edits after the approval. It does not keep out who may write the folder: so may the owner of the program.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import ConfigDict, TypeAdapter, ValidationError

from inference.chat import ChatModel, Message
from inference.structured_chat import StructuredChat, StructuredRequest, UnusableAnswerError
from ontology.errors import EgotoolsError, InvalidArgumentError, NotFoundError, StatementError, StorageError
from ontology.files import disk_errors, only_writer, read_bounded, write_file
from ontology.json_values import canonical_text, first_error
from planners.calls.model_text import json_objects, without_thoughts
from planners.calls.untrusted import FenceMarks, clean_text, cleaned
from planners.graphseek.catalog import SemanticCatalog
from planners.graphseek.catalog_text import catalog_text, graphseek_prompt
from planners.graphseek.operators.cypher_text import Compiled
from planners.graphseek.operators.graph_query import cell_of, column_of, table_of
from planners.graphseek.operators.operator import (
    Operator,
    OperatorContext,
    OperatorFault,
    check_arguments,
    object_schema,
)
from planners.graphseek.operators.pattern import NodeReader
from planners.graphseek.results import Result, ResultColumn
from planners.graphseek.turn import Fault, Invocation, ModelAsked, StepRecord
from planners.journal.step_log import metered, on_a_thread
from planners.stores.graph_schema import CypherDialect, GraphSchema, ReadableGraph
from planners.stores.property_graph import QueryLimits
from planners.stores.statements import allowed_cypher

VersionStatus: TypeAlias = Literal["unverified", "approved"]
_log = logging.getLogger(__name__)
_NAME = re.compile(r"(?P<operator>[a-z][a-z0-9_]{0,63})\.(?P<number>[1-9]\d{0,5})\.json")
_MOST_BYTES = 256 * 2**10
"""Of a file: five times the longest template that the allow-list admits."""
_FAILURES = 3
"""Of an operator in a run, after which a version is asked for; one is enough where the schema has changed (part of appendix A.3)."""
_OF_OPERATORS = frozenset({"unknown name", "engine", "empty", "arguments", "refused"})
"""Kinds of faults that another version could cure. That a call has arguments outside their schema is a fault of the plan."""
_OF_SCHEMAS = frozenset({"unknown name", "engine"})  # those that a name which the schema lacks gives
_PLAIN = frozenset({"string", "integer", "number", "boolean"})
"""Types of arguments that a template can have as parameters; so can lists of them be."""
_DRY_RUN = QueryLimits(rows=10, seconds=5.0)
"""Enough to see that it answers, and in which columns: a right template of the paper's special tools takes 0.1 s."""
_ROWS = 10_000
_ASKED = 4  # one answer, and three more with the fault (the paper's loop of appendix A.3 names no number)
_TOKENS = 1_500  # of an answer: a template of thirty lines
_FAULT = 500
_PROMPT = "operator_version"
_ANSWER: dict[str, Any] = object_schema(["template"], template={"type": "string", "minLength": 1})


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorVersion:
    """One version.

    :param operator: name of the operator whose place it takes.
    :param number: from 1, of each operator; 0: it is not stored yet.
    :param dialect: of the template.
    :param schema: fingerprint of the schema that it was made for; it serves no other.
    :param template: a query with named parameters, which are the arguments of the operator.
    :param parameters: JSON schema of the arguments.
    :param columns: of its table, as the dry run gave them.
    :param example: arguments of the dry run, those of a call that had failed.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    operator: str
    number: int = 0
    dialect: CypherDialect
    schema: str
    template: str
    parameters: Mapping[str, Any]
    columns: tuple[ResultColumn, ...] = ()
    process: Literal[""] = ""
    example: Mapping[str, Any] = field(default_factory=dict)
    status: VersionStatus = "unverified"

    @property
    def name(self) -> str:
        """``OPERATOR.NUMBER``."""
        return f"{self.operator}.{self.number}"

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of everything but the status."""
        content = VERSION.dump_python(self, mode="json", exclude={"status"})
        return hashlib.sha256(canonical_text(content).encode("utf-8", "surrogatepass")).hexdigest()

    def is_for(self, dialect: CypherDialect, schema: str) -> bool:
        """Whether it may run on graphs of this schema, a fingerprint."""
        return (self.dialect, self.schema) == (dialect, schema)

    def serving(self, base: Operator) -> Operator:
        """Return the operator with this version in its place."""
        return replace(base, runs=partial(_run, self))


VERSION: TypeAdapter[OperatorVersion] = TypeAdapter(OperatorVersion)


def version_lines(version: OperatorVersion) -> Iterator[str]:
    """Yield the lines that a person reads before approving it, and that two versions are compared by."""
    yield f"operator: {version.operator}"
    yield f"dialect: {version.dialect}"
    yield f"schema: {version.schema}"
    yield "template:"
    yield from (f"  {line}" for line in version.template.splitlines())
    yield "parameters:"
    yield from (f"  {line}" for line in json.dumps(version.parameters, indent=1, sort_keys=True).splitlines())
    yield f"columns: {', '.join(f'{each.name} ({each.node_type or each.type})' for each in version.columns)}"
    yield f"tried with: {json.dumps(version.example, sort_keys=True, ensure_ascii=False)}"


class VersionFolder:
    """A folder of versions; it may not exist yet.

    :ivar problems: a sentence for each file that the last :meth:`versions` left out.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: tuple[str, ...] = ()

    def versions(self) -> tuple[OperatorVersion, ...]:
        """Return the versions by operator and number.

        :raises StorageError: when the folder cannot be read.
        """
        found, problems = list[OperatorVersion](), list[str]()
        for each in self._names():
            if not (self.path / each[0]).is_file():
                continue
            try:
                found.append(_read_version(self.path / each[0]))
            except InvalidArgumentError as error:
                problems.append(f"{each[0]}: {error.problem}")
        self.problems = tuple(problems)
        return tuple(sorted(found, key=lambda each: (each.operator, each.number)))

    def get(self, name: str) -> OperatorVersion:
        """Return a version by its name.

        :raises NotFoundError: when there is none, or its file is damaged.
        """
        known = self.versions()
        for each in known:
            if each.name == name:
                return each
        damaged = next((each for each in self.problems if each.startswith(f"{name}.json: ")), "")
        listed = ", ".join(each.name for each in known) or "none"
        problem = damaged or "there is no such version of an operator"
        raise NotFoundError(problem, subject=name, remedy=f"There are: {listed}")

    def add(self, version: OperatorVersion) -> OperatorVersion:
        """Store a version as unverified under the next number; one that says the same is not stored twice.

        :raises StorageError: when it cannot be written, or another process writes the folder.
        """
        new = replace(version, status="unverified")
        with only_writer(self.path):
            for each in self.versions():
                if each.status == "unverified" and replace(each, number=0) == new:
                    return each
            numbers = [int(found["number"]) for found in self._names() if found["operator"] == new.operator]
            return self._write(replace(new, number=max(numbers, default=0) + 1))

    def mark(self, name: str, status: VersionStatus) -> OperatorVersion:
        """Change the status of a version.

        :raises NotFoundError: as :meth:`get`.
        :raises StorageError: as :meth:`add`.
        """
        with only_writer(self.path):
            return self._write(replace(self.get(name), status=status))

    def _write(self, version: OperatorVersion) -> OperatorVersion:
        content = {"digest": version.digest, "version": VERSION.dump_python(version, mode="json")}
        write_file(self.path / f"{version.name}.json", f"{json.dumps(content, indent=1, sort_keys=True)}\n")
        return version

    def _names(self) -> Iterator[re.Match[str]]:
        if self.path.is_dir():
            with disk_errors(self.path):
                names = sorted(each.name for each in self.path.iterdir())
            yield from (found for name in names if (found := _NAME.fullmatch(name)))


def _read_version(file: Path) -> OperatorVersion:
    """Return the version of a file.

    :raises InvalidArgumentError: when it is not as it was written.
    """
    try:
        given = json.loads(read_bounded(file, _MOST_BYTES))
        version = VERSION.validate_json(json.dumps(given["version"]))
        is_whole = (given["digest"], f"{version.name}.json") == (version.digest, file.name)
    except ValidationError as error:
        raise InvalidArgumentError(f"it is damaged: {first_error(error)}", subject=str(file)) from None
    except (EgotoolsError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        problem = f"it cannot be read: {type(error).__name__}: {error}"
        raise InvalidArgumentError(problem[:200], subject=str(file)) from None
    if not is_whole:
        raise InvalidArgumentError("it was changed after it was written: its digest does not fit", subject=str(file))
    return version


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
    """

    def __init__(self, folder: Path, model: ChatModel | None = None, *, accepted: str = "") -> None:
        self._folder = VersionFolder(folder)
        self._model = model
        self._accepted = accepted
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
        return tuple(self._checked(each, newest.get(each.name), schema) for each in operators)

    def _checked(self, base: Operator, version: OperatorVersion | None, schema: GraphSchema) -> Operator:
        try:
            return _allowed(version, base, schema).serving(base) if version else base
        except StatementError as error:
            _log.warning("version %s is left out: %s", version.name if version else "", error)
            return base

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
            if self._model is None or operator.name in tried or not last or not _can_have_versions(operator, schema):
                continue
            failed = [fault for _, fault in _failed(records, operator, schema)]
            is_stale = has_changed and any(fault.kind in _OF_SCHEMAS for _, fault in last)
            if is_stale or len(failed) >= _FAILURES:
                return await self._proposed(
                    _Wanted(operator, graph, schema, last[-1][0].arguments, failed), self._model
                )
        return None

    async def _proposed(self, wanted: _Wanted, model: ChatModel) -> Adaptation:
        """Ask for a version, and ask again with the fault, until one passes or the attempts are used up."""
        loop = asyncio.get_running_loop()

        def read(text: str) -> OperatorVersion:
            return asyncio.run_coroutine_threadsafe(wanted.tried(text), loop).result()

        def repair(fault: str) -> str:
            shown = self._marks.fenced(clean_text(fault)[:_FAULT])
            return f"That cannot be used:\n{shown}\nAnswer again with one JSON object of the form that was said."

        request = StructuredRequest(
            messages=wanted.messages(self._marks), schema=_ANSWER, schema_name=_PROMPT, max_tokens=_TOKENS
        )
        with metered(model, _PROMPT, partial(ModelAsked, prompt=_PROMPT)) as asked:
            chat = StructuredChat(asked, kind="graphseek", repair_prompt=repair, cache=None, attempts=_ASKED)
            answer = await on_a_thread("graphseek-version", lambda: chat.call(request, "", read))
        name = wanted.operator.name
        if answer.value is None:
            return Adaptation(operator=name, problem=clean_text(answer.problem))
        try:
            return Adaptation(operator=name, version=self._folder.add(answer.value))
        except StorageError as error:
            return Adaptation(operator=name, version=answer.value, problem=f"it is not stored: {error}")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a version is made for: the arguments of the call that failed last, and the faults of the operator in this run."""

    operator: Operator
    graph: ReadableGraph
    schema: GraphSchema
    arguments: Mapping[str, Any]
    faults: Sequence[Fault]

    def messages(self, marks: FenceMarks) -> tuple[Message, ...]:
        """Return what a model is asked."""
        fenced, operator = marks.fenced, self.operator
        columns = ", ".join(map(_shown, operator.returns))
        faults = "\n".join(f"{each.problem}. {each.hint}" for each in self.faults)
        said = [
            f"Operator: {operator.name}: {operator.description}",
            f"Arguments: {json.dumps(operator.parameters(self.schema, ()), sort_keys=True)}",
            f"Columns it must give: {columns}",
            f"Cypher of: {self.graph.dialect}",
            f"Schema:\n{fenced(catalog_text(SemanticCatalog(), self.schema, form='lean'))}",
            f"A call that failed: {fenced(json.dumps(dict(self.arguments), ensure_ascii=False))}",
            f"Faults:\n{fenced(faults)}",
        ]
        system = Message(role="system", content=graphseek_prompt(_PROMPT))
        return (system, Message(role="user", content="\n\n".join(said)))

    async def tried(self, text: str) -> OperatorVersion:
        """Return the version of an answer, with the columns that its dry run gives.

        :raises UnusableAnswerError: with what is wrong.
        """
        meant = [each for each in json_objects(without_thoughts(text)) if "template" in each]
        if not meant:
            raise UnusableAnswerError("it is not one JSON object with a template")
        try:
            answer: Mapping[str, Any] = cleaned(meant[-1])
            check_arguments(answer, _ANSWER, called="it")
            proposed = OperatorVersion(
                operator=self.operator.name,
                dialect=self.graph.dialect,
                schema=self.schema.fingerprint,
                template=answer["template"],
                parameters=self.operator.parameters(self.schema, ()),
                example=dict(self.arguments),
            )
            version = _allowed(proposed, self.operator, self.schema)
            names, rows, _ = await _rows(version, version.example, self.graph, _DRY_RUN)
            if not rows:
                remedy = "Check names, directions and how values are compared"
                problem = "it gives no rows for the arguments of the call that failed"
                raise StatementError(problem, subject="dry run", remedy=remedy)
            columns = [_column(name, [row[at] for row in rows], self.schema) for at, name in enumerate(names)]
            _check_columns(columns, self.operator.returns)
        except OperatorFault as fault:
            raise UnusableAnswerError(str(fault)) from fault
        except EgotoolsError as error:
            raise UnusableAnswerError(f"{error.subject}: {error.problem}. {error.remedy}") from error
        return replace(version, columns=tuple(columns))


async def _run(version: OperatorVersion, arguments: Mapping[str, Any], context: OperatorContext) -> Result:
    """Run a version in the place of its operator. What fails is a StatementError, which is told like a fault."""
    limits, columns = QueryLimits(rows=_ROWS, seconds=context.seconds), version.columns
    context.ran(Compiled(text=version.template, parameters=_values(version, arguments)))
    names, rows, cut = await _rows(version, arguments, context.graph, limits)
    if rows and names != tuple(each.name for each in columns):
        problem = f"version {version.name} gave the columns {', '.join(names)}"
        raise StatementError(problem, subject=version.operator, remedy="Use another operator")
    cells = [tuple(_cell(value, column) for value, column in zip(row, columns, strict=True)) for row in rows]
    notes = [f"By version {version.name}, which is {version.status}."]
    notes += [f"There are more than {_ROWS:,} rows."] if cut else []
    return await context.results.keep_table(table_of(columns, cells), title=version.operator, most=_ROWS, notes=notes)


def _can_have_versions(operator: Operator, schema: GraphSchema) -> bool:
    """Whether an operator says its columns, and takes what a template can have as parameters."""
    given = operator.parameters(schema, ()).get("properties", {}).values()
    kinds = ((each.get("items", {}) if each.get("type") == "array" else each).get("type") for each in given)
    return bool(operator.returns) and all(isinstance(each, str) and each in _PLAIN for each in kinds)


def _allowed(version: OperatorVersion, operator: Operator, schema: GraphSchema) -> OperatorVersion:
    """Return a version with the template as it may go to the engine. Nothing is run.

    :raises StatementError: when it writes, or breaks the contract.
    """
    if not _can_have_versions(operator, schema):
        raise _broken("the operator can have no versions")
    allowed = allowed_cypher(version.template)
    used = {token.text[1:] for token in allowed.tokens if token.kind == "parameter"}
    if wrong := sorted(used - {*operator.required}):
        raise _broken(f"${wrong[0]} is no argument that every call gives")
    if lacking := [name for name in operator.required if name not in used]:
        raise _broken(f"the template does not use ${lacking[0]}")
    return replace(version, template=allowed.text)


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
            raise _broken(f"the column is {_shown(got)}, and must be {_shown(each)}")


def _shown(column: ResultColumn) -> str:
    return f"{column.name} ({f'a node of type {column.node_type}' if column.node_type else column.type})"


def _broken(problem: str) -> StatementError:
    return StatementError(problem, subject="contract", remedy="Keep to the arguments and columns of the operator")


def _values(version: OperatorVersion, arguments: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: arguments[name] for name in version.parameters.get("required", ()) if name in arguments}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in sorted(given.items())}


async def _rows(
    version: OperatorVersion, arguments: Mapping[str, Any], graph: ReadableGraph, limits: QueryLimits
) -> tuple[tuple[str, ...], list[tuple[Any, ...]], bool]:
    """Return columns, rows, and whether there were more."""
    async with graph.read(version.template, _values(version, arguments), limits) as stream:
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


def _failed(records: Sequence[StepRecord], operator: Operator, schema: GraphSchema) -> list[tuple[Invocation, Fault]]:
    """Return the calls of an operator that failed by no fault of the plan."""
    failed = []
    for call, outcome in (pair for record in records for pair in record.pairs):
        if call.operator == operator.name and isinstance(outcome, Fault) and outcome.kind in _OF_OPERATORS:
            with contextlib.suppress(OperatorFault):
                check_arguments(call.arguments, operator.parameters(schema, ()))
                failed.append((call, outcome))
    return failed
