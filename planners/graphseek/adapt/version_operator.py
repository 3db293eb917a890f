"""A version of an operator at work: its template is run with the arguments, its rows are processed, and become a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ontology.errors import StatementError
from planners.calls.sandbox import Sandbox
from planners.graphseek.adapt.operator_version import OperatorVersion
from planners.graphseek.adapt.row_processing import processed_rows
from planners.graphseek.adapt.template_check import check_template
from planners.graphseek.adapt.version_contract import OperatorContract, check_columns, check_parameters
from planners.graphseek.catalog.catalog import SemanticCatalog
from planners.graphseek.dialects.cypher_text import Compiled
from planners.graphseek.operators.graph_query import cell_of, column_of, table_of
from planners.graphseek.operators.operator import Group, Operator, OperatorContext
from planners.graphseek.operators.pattern import NodeReader
from planners.graphseek.results.result import Result, ResultColumn
from planners.stores.graph_schema import GraphSchema, ReadableGraph
from planners.stores.property_graph import QueryLimits, Value
from planners.stores.statements import cypher_tokens

__all__ = ["VersionOperator", "check_version", "tried_version"]

_ROWS = 10_000  # they are read into memory, because post-processing has them all


def check_version(version: OperatorVersion, contract: OperatorContract, schema: GraphSchema) -> OperatorVersion:
    """Return a version with the template as it may go to the engine. Nothing is run.

    :raises StatementError: when it breaks the contract, writes, or names what the schema lacks.
    """
    check_parameters(version.parameters, contract)
    known: Mapping[str, Any] = version.parameters["properties"]
    always = contract.parameters.get("required", ())
    used = [each for each in always if each not in version.process]
    text = check_template(version.template, schema, known, used)
    for name in sorted(_parameters_of(text)):
        if name not in always and "default" not in known[name]:
            problem = f"the optional argument {name} has no default"
            raise StatementError(problem, subject="contract", remedy="Give it one in parameters: a null has no type")
    return dataclasses.replace(version, template=text)


async def tried_version(
    version: OperatorVersion,
    contract: OperatorContract,
    graph: ReadableGraph,
    schema: GraphSchema,
    limits: QueryLimits,
    sandbox: Sandbox,
) -> OperatorVersion:
    """Return a version with the columns that its example gives.

    :param limits: of the dry run.
    :raises StatementError: when it fails, gives nothing, or breaks the contract.
    :raises EgotoolsError: when the graph is gone, or code cannot be isolated here.
    """
    names, rows, _ = await _rows(version, version.example, graph, limits, sandbox)
    if not rows:
        problem = "it gives no rows for the arguments of the call that failed"
        raise StatementError(problem, subject="dry run", remedy="Check names, directions and how values are compared")
    columns = [_column(name, [row[at] for row in rows], schema) for at, name in enumerate(names)]
    check_columns(columns, contract)
    return dataclasses.replace(version, columns=tuple(columns))


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionOperator:
    """Takes the place of an operator, under its name and description.

    :param base: the operator.
    :param version: checked, for the schema of the run.
    """

    base: Operator
    version: OperatorVersion
    sandbox: Sandbox

    @property
    def name(self) -> str:
        """See :class:`Operator`."""
        return self.base.name

    @property
    def group(self) -> Group:
        """See :class:`Operator`."""
        return self.base.group

    @property
    def description(self) -> str:
        """See :class:`Operator`; a version says nothing of itself to a planner."""
        return self.base.description

    @property
    def returns(self) -> tuple[ResultColumn, ...]:
        """Columns that its table always has."""
        found: tuple[ResultColumn, ...] = getattr(self.base, "returns", ())
        return found

    def parameters(self, schema: GraphSchema, handles: Sequence[str]) -> dict[str, Any]:
        """See :class:`Operator`."""
        return dict(self.version.parameters)

    async def run(self, arguments: Mapping[str, Any], context: OperatorContext) -> Result:
        """See :class:`Operator`. What fails is a StatementError, which is told like a fault."""
        version = self.version
        limits = QueryLimits(rows=_ROWS, seconds=context.seconds)
        names, rows, cut = await _rows(version, arguments, context.graph, limits, self.sandbox, context.ran)
        columns = version.columns
        if rows and names != tuple(each.name for each in columns):
            problem = f"version {version.name} gave the columns {', '.join(names)}"
            raise StatementError(problem, subject=self.name, remedy="Use another operator")
        cells = [tuple(_cell(value, column) for value, column in zip(row, columns, strict=True)) for row in rows]
        notes = [f"By version {version.name}, which is {version.status}."]
        notes += [f"There are more than {_ROWS:,} rows."] if cut else []
        return await context.results.keep_table(table_of(columns, cells), title=self.name, most=_ROWS, notes=notes)


async def _rows(
    version: OperatorVersion,
    arguments: Mapping[str, Any],
    graph: ReadableGraph,
    limits: QueryLimits,
    sandbox: Sandbox,
    ran: Callable[[Compiled], None] = lambda compiled: None,
) -> tuple[tuple[str, ...], list[tuple[Any, ...]], bool]:
    """Return columns, rows, and whether there were more."""
    known: Mapping[str, Any] = version.parameters["properties"]
    given = {name: each["default"] for name, each in known.items() if "default" in each} | dict(arguments)
    used = _parameters_of(version.template)
    values = {name: _value(value) for name, value in given.items() if name in used}
    compiled = Compiled(text=version.template, parameters=values)
    ran(compiled)
    async with graph.read(compiled.text, compiled.parameters, limits) as stream:
        rows: list[tuple[Any, ...]] = [tuple(row) async for batch in stream.batches() for row in batch]
        names, cut = stream.columns, stream.cut
    if version.process:
        dicts = [dict(zip(names, row, strict=True)) for row in rows]
        names, rows = await processed_rows(version.process, dicts, arguments, sandbox)
    return names, rows[: limits.rows], cut or len(rows) > limits.rows


def _column(name: str, values: Sequence[Any], schema: GraphSchema) -> ResultColumn:
    """Return a column; that of nodes with their type in the schema."""
    column = column_of(name, values)
    if column.type != "node":
        return column
    reader = NodeReader(schema, SemanticCatalog())
    try:
        types = {reader.node(each).type for each in values if each is not None}
    except (AttributeError, KeyError, TypeError, ValueError):  # what post-processing made of them
        problem = f"the column {name} has what is no node of the graph"
        raise StatementError(problem, subject="post-processing", remedy="Hand nodes on as they are") from None
    return dataclasses.replace(column, node_type=types.pop() if len(types) == 1 else "")


def _parameters_of(template: str) -> set[str]:
    return {token.text[1:] for token in cypher_tokens(template) if token.kind == "parameter"}


def _value(value: Any) -> Value | None:
    return tuple(value) if isinstance(value, list) else value


def _cell(value: Any, column: ResultColumn) -> Any:
    """Return a cell; what is of another type than the column becomes a text, which the store then empties."""
    try:
        return cell_of(value, column)
    except (TypeError, ValueError, KeyError):
        return str(value)
