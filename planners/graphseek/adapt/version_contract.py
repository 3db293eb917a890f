"""The contract of an operator: what a version of it must take, and which columns it must give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ontology.errors import StatementError
from planners.graphseek.operators.operator import Operator, OperatorFault, check_arguments
from planners.graphseek.results.result import ResultColumn
from planners.stores.graph_schema import GraphSchema

__all__ = ["OperatorContract", "check_columns", "check_parameters", "contract_of"]

_PLAIN = ("string", "integer", "number", "boolean")
"""Types of arguments that a template can have as parameters; so can lists of them be."""
_LEAST, _MOST = ("minimum", "minLength", "minItems"), ("maximum", "maxLength", "maxItems")
_KEYS = frozenset(("type", "enum", "items", "default", "description", *_LEAST, *_MOST))


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorContract:
    """What a version of an operator holds to.

    :param parameters: JSON schema of its arguments.
    :param returns: columns that its table always has.
    """

    parameters: Mapping[str, Any]
    returns: tuple[ResultColumn, ...]


def contract_of(operator: Operator, schema: GraphSchema) -> OperatorContract | None:
    """Return the contract of an operator on a graph; None where it says no columns, or takes what no template can."""
    returns: tuple[ResultColumn, ...] = getattr(operator, "returns", ())
    parameters = operator.parameters(schema, ())
    if not returns or not all(_is_plain(each) for each in parameters.get("properties", {}).values()):
        return None
    return OperatorContract(parameters=parameters, returns=returns)


def check_parameters(new: Mapping[str, Any], contract: OperatorContract) -> None:
    """Check that whatever the operator takes a version takes too.

    :raises StatementError: when it does not; the problem names the argument.
    """
    known, given = contract.parameters.get("properties", {}), new.get("properties", {})
    for name, each in given.items():
        if not (isinstance(name, str) and name.isidentifier() and _is_plain(each)):
            raise _broken(f"the argument {str(name)[:40]!r} is neither a plain value nor a list of them")
    for name in new.get("required", ()):
        if name not in contract.parameters.get("required", ()):
            raise _broken(f"the argument {str(name)[:40]} is required, but calls may lack it")
    for name, old in known.items():
        if name not in given:
            raise _broken(f"the argument {name} of the operator is missing")
        for problem in _narrowed(given[name], old):
            raise _broken(f"the argument {name} {problem}")


def check_columns(columns: Sequence[ResultColumn], contract: OperatorContract) -> None:
    """Check that a result has the columns that the operator always gives.

    :raises StatementError: when one is missing, or of another type.
    """
    found = {each.name: each for each in columns}
    if len(found) < len(columns):
        raise _broken("two columns have one name")
    for each in contract.returns:
        of = f"nodes of type {each.node_type}" if each.node_type else f"type {each.type}"
        if each.name not in found:
            raise _broken(f"the column {each.name} ({of}) is missing; there is {', '.join(found) or 'none'}")
        got = found[each.name]
        if (got.type, got.node_type) != (each.type, each.node_type) and not _is_wider(each, got):
            is_of = f"nodes of type {got.node_type or 'several'}" if got.type == "node" else f"type {got.type}"
            raise _broken(f"the column {each.name} must have {of}, and has {is_of}")


def _is_wider(wanted: ResultColumn, got: ResultColumn) -> bool:
    """Whether a column of another type can stand for the one that is wanted."""
    return (wanted.type, got.type) == ("number", "integer") or (
        wanted.type == got.type == "node" and not wanted.node_type
    )


def _is_plain(schema: Any, *, in_list: bool = False) -> bool:
    """Whether it is the schema of one value, or of a list, in words of JSON Schema that are known here."""
    if not isinstance(schema, Mapping) or not schema.keys() <= _KEYS:
        return False
    bounds = [schema[key] for key in (*_LEAST, *_MOST) if key in schema]
    if not all(type(each) in (int, float) for each in bounds) or not isinstance(schema.get("enum", []), list):
        return False
    types = _types(schema)
    if "default" in schema and not _fits(schema["default"], schema):
        return False
    if types == {"array"} and not in_list:
        return _is_plain(schema.get("items"), in_list=True)
    return bool(types) and types <= set(_PLAIN)


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    try:
        check_arguments(value, schema)
    except (OperatorFault, KeyError):  # a type that there is not
        return False
    return True


def _types(schema: Mapping[str, Any]) -> set[str]:
    given = schema.get("type", ())
    return {given} if isinstance(given, str) else {str(each) for each in given if isinstance(given, list)}


def _narrowed(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a plain schema refuses that another one takes."""
    given, wanted = _types(new), _types(old)
    if not wanted <= given | ({"integer"} if "number" in given else set()):
        yield f"must take type {' or '.join(sorted(wanted))}"
    if "enum" in new and not ("enum" in old and all(each in new["enum"] for each in old["enum"])):
        yield "takes fewer values"
    for keys, is_tighter in ((_LEAST, float.__gt__), (_MOST, float.__lt__)):
        for key in keys:
            if key in new and (key not in old or is_tighter(float(new[key]), float(old[key]))):
                yield f"has a tighter {key}"
    if "array" in wanted:
        yield from _narrowed(new.get("items", {}), old["items"])


def _broken(problem: str) -> StatementError:
    return StatementError(problem, subject="contract", remedy="Keep to the arguments and columns of the operator")
