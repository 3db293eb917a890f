"""Operators: a name, a schema of arguments made from the graph's own, and a function that gives a result.

All that modules of this folder have are found; a file that a caller adds has ``OPERATOR``. Schemas stand in prompts: they are brief.
"""

from __future__ import annotations

import importlib
import pkgutil
import runpy
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from ontology.errors import InvalidArgumentError
from planners.graphseek import operators
from planners.graphseek.catalog import SemanticCatalog
from planners.graphseek.operators.cypher_text import Compiled
from planners.graphseek.results import Result, ResultStore
from planners.stores.graph_schema import GraphSchema, ReadableGraph

Schema: TypeAlias = dict[str, Any]
Arguments: TypeAlias = Mapping[str, Any]
FaultKind: TypeAlias = Literal[
    "arguments", "unknown name", "no such handle", "empty", "too large", "timeout", "refused", "engine", "repeated"
]
MOST_ROWS = 1_000_000  # of a table: four times the nodes of the paper's graph; a join of all with all ends here
MOST_HOPS = 6
COMPARED = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
TEXT_OPERATORS = {"contains": "CONTAINS", "starts_with": "STARTS WITH", "ends_with": "ENDS WITH"}
NULL_OPERATORS = {"is_null": "IS NULL", "is_not_null": "IS NOT NULL"}
FILTER_OPERATORS = (*COMPARED, *TEXT_OPERATORS, "in", *NULL_OPERATORS)
GROUPING_TYPES = ("COUNT", "COUNT_DISTINCT", "SUM", "AVG", "MIN", "MAX")
STRING: Schema = {"type": "string"}
COLUMN: Schema = {"type": "string", "description": "name of a column"}
COLUMNS: Schema = {"type": "array", "items": COLUMN, "minItems": 1, "description": "names of columns"}
_MOST_CHARACTERS = 400  # of a description
_SHOWN = 100  # characters of a value in a fault
_LISTED = 40  # names in a hint


class OperatorFault(Exception):  # the paper's word for what comes back to the plan
    """An invocation that failed, as the next step is told: what happened, and in a sentence what to do instead."""

    def __init__(self, kind: FaultKind, problem: str, hint: str) -> None:
        super().__init__(f"{problem}. {hint}")
        self.kind, self.problem, self.hint = kind, problem, hint


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorContext:
    """What an operator works with."""

    graph: ReadableGraph
    schema: GraphSchema  # as the graph has it now
    catalog: SemanticCatalog  # the accepted one; an empty one where there is none
    results: ResultStore
    seconds: float  # that one query may take
    ran: Callable[[Compiled], None] = lambda compiled: None  # is told each query before it is run, for the trace


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedOperator:
    """An operator."""

    name: str
    description: str  # what it does and when to take it, at most 400 characters
    forms: Callable[[ArgumentForms], dict[str, Schema]]  # the JSON schemas of its arguments by name
    required: tuple[str, ...]  # names of those without which it cannot run
    # gives a result; arguments are inside the schema. It raises an OperatorFault for what the plan can correct, and a
    # StorageError when the graph or the disk is gone
    runs: Callable[[Arguments, OperatorContext], Awaitable[Result]]

    def parameters(self, schema: GraphSchema, handles: Sequence[str]) -> Schema:
        """Return the JSON schema of its arguments: types, relationships and properties are enums of the schema, handles of the run."""
        return object_schema(self.required, **self.forms(ArgumentForms(schema, handles)))


Operator: TypeAlias = TypedOperator


class ArgumentForms:
    """The JSON schemas of arguments by their names, for one graph and the handles of the run."""

    def __init__(self, schema: GraphSchema, handles: Sequence[str] = ()) -> None:
        along = names_of(schema.relationships)
        self.handles = handles
        self.node_type = _names(each.name for each in schema.nodes)
        self.property = _names(names_of(schema.nodes))
        filters = array(filter_schema(self.property))
        aggregated = [*self.property.get("enum", ()), "*"]
        self._named: dict[str, Schema] = {
            **_PLAIN,
            "aggregations": array(aggregation_schema(_names(aggregated) if len(aggregated) > 1 else STRING)),
            "end": self._selection(filters),
            "filters": filters,
            "neighbour_filters": filters,
            "neighbour_type": self.node_type,
            "node_type": self.node_type,
            "node_types": array(self.node_type),
            "relationship_types": array(_names(each.name for each in schema.relationships)),
            "start": self._selection(filters),
        }
        if along or not schema.nodes:
            self._named["relationship_filters"] = array(filter_schema(_names(along)))
            self._named["relationship_property"] = _names(along)

    def handle(self) -> Schema:
        """Return the schema of the handle of a result."""
        known = list(self.handles)
        return {"type": "string", "description": "handle of a result", **({"enum": known} if known else {})}

    def named(self, name: str) -> Schema | None:
        """Return the schema of an argument that has one meaning in all operators; None where the graph has nothing for it."""
        return self._named.get(name)

    def _selection(self, filters: Schema) -> Schema:
        """Nodes by type and filters, or a result."""
        by_type = object_schema(["type"], type=self.node_type, filters=filters)
        if not self.handles:
            return by_type
        handle = {"type": "string", "enum": list(self.handles)}
        return {"anyOf": [by_type, object_schema(["handle"], handle=handle, column=STRING, type=self.node_type)]}


Special: TypeAlias = Schema | Callable[[ArgumentForms], Schema | None]


def operator(
    arguments: str, **special: Special
) -> Callable[[Callable[[Arguments, OperatorContext], Awaitable[Result]]], TypedOperator]:
    """Make an operator of the function that runs it: the function's name and docstring are its name and its
    description. In ``arguments`` a ``*`` stands behind the names without which it cannot run; schemas are those of
    :meth:`ArgumentForms.named`, or ``special`` ones."""
    names = {each.rstrip("*"): each.endswith("*") for each in arguments.split()}

    def forms(of: ArgumentForms) -> dict[str, Schema]:
        found = {name: special.get(name, of.named(name)) for name in names}
        called = {name: each(of) if callable(each) else each for name, each in found.items()}
        return {name: schema for name, schema in called.items() if schema is not None}

    def made(runs: Callable[[Arguments, OperatorContext], Awaitable[Result]]) -> TypedOperator:
        description, required = " ".join((runs.__doc__ or "").split()), tuple(name for name in names if names[name])
        name = runs.__name__.rstrip("_")
        return TypedOperator(name=name, description=description, forms=forms, required=required, runs=runs)

    return made


def object_schema(required: Sequence[str], **properties: Schema) -> Schema:
    """Return the schema of arguments."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def array(items: Schema) -> Schema:
    """Return the schema of one or more."""
    return {"type": "array", "items": items, "minItems": 1}


def choice(*names: str) -> Schema:
    """Return the schema of one of some names."""
    return {"type": "string", "enum": list(names)}


def integer(least: int, most: int | None = None) -> Schema:
    """Return the schema of an integer."""
    return {"type": "integer", "minimum": least, **({} if most is None else {"maximum": most})}


_PLAIN: dict[str, Schema] = {
    "columns": COLUMNS,
    "descending": {"type": "boolean"},
    "direction": choice("out", "in", "both"),
    "limit": integer(1, MOST_ROWS),
    "max_hops": integer(1, MOST_HOPS),
}


def filter_schema(key: Schema) -> Schema:
    """Return the schema of one filter, on a property or a column whose name has the schema ``key``."""
    scalar = {"type": ["string", "number", "boolean"]}
    value = {"anyOf": [scalar, {"type": "array", "items": scalar}]}
    return object_schema(["key", "operator"], key=key, operator=choice(*FILTER_OPERATORS), value=value)


def aggregation_schema(name: Schema) -> Schema:
    """Return the schema of one aggregation, of a property or a column whose name has the schema ``name``."""
    return object_schema(["grouping_type"], grouping_type=choice(*GROUPING_TYPES), property=name)


def names_of(owners: Iterable[Any]) -> list[str]:
    """Return the names of the properties of types, each once."""
    return list(dict.fromkeys(each.name for owner in owners for each in owner.properties))


def _names(names: Iterable[str]) -> Schema:
    known = list(names)
    return {"type": "string", "enum": known} if known else {"type": "string"}


def nearest_hint(name: str, known: Sequence[str]) -> str:
    """Return a hint that names the nearest of the known names, and lists them."""
    lower = {each.casefold(): each for each in reversed(known)}
    close = get_close_matches(name[:_SHOWN].casefold(), lower, n=1, cutoff=0.5)
    listed = ", ".join(known[:_LISTED]) + (" …" if len(known) > _LISTED else "")
    return f"{f'The nearest is {lower[close[0]]}. ' if close else ''}Known: {listed or 'none'}"


def check_arguments(arguments: Any, schema: Mapping[str, Any], *, called: str = "the arguments") -> None:
    """Check the arguments of an invocation; ``called`` is what a fault calls the whole. The OperatorFault is of the
    part outside the schema that is nearest to being inside."""
    error = best_match(Draft202012Validator(schema).iter_errors(arguments))
    if error is None:
        return
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path]
    place, value = "".join(steps).removeprefix(".") or called, cast(Any, error.instance)
    wanted, inside = cast(Any, error.validator_value), cast(Mapping[str, Any], error.schema)
    shown = repr(value) if len(repr(value)) <= _SHOWN else f"{repr(value)[:_SHOWN]}…"
    kind: FaultKind = "unknown name" if error.validator == "enum" else "arguments"
    match error.validator:
        case "enum":
            known = [each for each in wanted if isinstance(each, str)]
            problem, hint = f"{place} names {shown}, which there is not", nearest_hint(str(value), known)
        case "additionalProperties":
            name = next(name for name in value if name not in inside["properties"])
            problem, hint = f"{place} cannot have {name!r}", nearest_hint(str(name), list(inside["properties"]))
        case "required":
            name = next(name for name in wanted if name not in value)
            problem, hint = f"{place} lacks {name}", f"Give {name}"
        case _:
            problem, hint = (
                f"{place} is {shown}",
                f"It must be inside the schema: {error.validator} {str(wanted)[:_SHOWN]}",
            )
    raise OperatorFault(kind, problem, hint)


def known_operators(folders: Sequence[Path] = ()) -> dict[str, Operator]:
    """Return the operators by name, sorted.

    :param folders: with further operators, one in each file that does not begin with ``_``. Their code runs in this process.
    :raises InvalidArgumentError: when two have one name, a description is empty or too long, or a file is broken or has no ``OPERATOR``.
    """
    found: dict[str, Operator] = {}
    for module, each in _all_operators(folders):
        if each.name in found:
            problem = f"two operators are called {each.name}"
            raise InvalidArgumentError(problem, subject=module, remedy="Rename one of them")
        if not 0 < len(each.description) <= _MOST_CHARACTERS:
            problem = f"the description of {each.name} has {len(each.description)} characters"
            raise InvalidArgumentError(problem, subject=module, remedy=f"Use 1 to {_MOST_CHARACTERS}")
        found[each.name] = each
    return dict(sorted(found.items()))


def _all_operators(folders: Sequence[Path]) -> Iterator[tuple[str, Operator]]:
    for info in pkgutil.iter_modules(operators.__path__):
        module = importlib.import_module(f"{operators.__name__}.{info.name}")
        for each in vars(module).values():
            if isinstance(each, TypedOperator) and each.runs.__module__ == module.__name__:
                yield info.name, each
    for folder in folders:
        files = sorted(folder.glob("[!_]*.py"))
        if not files:
            remedy = "Name a folder with a file for each operator"
            raise InvalidArgumentError("there is no operator in it", subject=str(folder), remedy=remedy)
        yield from ((str(path), _loaded(path)) for path in files)


def _loaded(path: Path) -> Operator:
    try:
        found = runpy.run_path(str(path)).get("OPERATOR")
        if isinstance(found, TypedOperator):
            found.parameters(GraphSchema(nodes=(), relationships=()), ())
            return found
        problem = "it has no OPERATOR, a TypedOperator"
    except (Exception, SystemExit) as error:  # code of somebody else
        problem = f"it cannot be loaded: {type(error).__name__}: {error}"
    raise InvalidArgumentError(problem, subject=str(path), remedy="See 'Operators of your own' in docs/solve.md")
