"""Describe the callables of a module as tools: signature, type hints and docstring."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

from egotools.call import Argument, Call
from ingest.sources.document import Document
from ingest.sources.json_schema.cut_parts import cut_parts
from ingest.sources.json_schema.schema import flatten, local_lookup
from ingest.sources.json_schema.self_contained import self_contained
from ingest.sources.python.docstrings import Docstring, parse_docstring
from ingest.sources.python.type_hints import schema_of, with_top_level_definitions
from ingest.sources.source import RejectedRecord
from ontology.errors import DocumentError
from ontology.tool import Parameter, Tool

__all__ = ["describe_module"]

_SCHEME = "python:"
_MAX_MESSAGE_CHARS = 2_000  # of an error; the report shows less
_NOTHING = (None, type(None), inspect.Signature.empty)
_PLAIN = (str, int, float, bool)
_VARIABLE = frozenset({inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})


def describe_module(document: Document) -> Iterator[Tool | RejectedRecord]:
    """Import the module in this process and yield its tools.

    :raises DocumentError: when the module cannot be imported, or has no callable of this name.
    """
    module_name, _, name = document.address.removeprefix(_SCHEME).partition(":")
    module = _import(module_name.strip(), document.address)
    found = _named(module, name.strip(), document.address) if name.strip() else _public(module)
    for id_, function in found:
        try:
            yield _tool(id_, function, module)
        except (TypeError, ValueError) as error:
            detail = f"Its signature cannot be read: {error}."
            yield RejectedRecord(f"{document.address}#{id_}", "no-signature", detail)


def _import(name: str, address: str) -> ModuleType:
    try:
        with _current_folder_importable():
            return importlib.import_module(name)
    except BaseException as error:  # the imported code may raise any error
        raise DocumentError(
            f"the module cannot be imported: {type(error).__name__}: {' '.join(str(error)[:_MAX_MESSAGE_CHARS].split())}",
            subject=address,
            remedy="Install it, run from the folder that holds it, or name that folder in PYTHONPATH",
            reason="not-importable",
        ) from error


@contextmanager
def _current_folder_importable() -> Iterator[None]:
    """Put the current folder on the import path, as ``python -m`` does; an installed command does not have it there."""
    folder = os.getcwd()
    if folder in sys.path or "" in sys.path:
        yield
        return
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _named(module: ModuleType, name: str, address: str) -> list[tuple[str, Callable[..., Any]]]:
    target: Any = module
    for part in name.split("."):
        if not hasattr(target, part):
            problem = f"the module {module.__name__} has no {name!r}"
            raise DocumentError(problem, subject=address, remedy="Name one of its callables", reason="not-importable")
        target = getattr(target, part)
    if callable(target):
        return [(name, target)]
    if isinstance(target, (list, tuple)) and target and all(callable(item) for item in target):
        return [(getattr(item, "__name__", str(index)), item) for index, item in enumerate(target)]
    raise DocumentError(f"{name!r} is not callable", subject=address, remedy="Name a function, or a list of functions")


def _public(module: ModuleType) -> list[tuple[str, Callable[..., Any]]]:
    """Return the functions of ``__all__``, else the functions defined in the module whose names begin without underscore."""
    declared = getattr(module, "__all__", None)
    names = list(declared) if declared is not None else [name for name in vars(module) if not name.startswith("_")]
    found = [(name, getattr(module, name, None)) for name in names]
    return [
        (name, value)
        for name, value in found
        if inspect.isroutine(value) and (declared is not None or value.__module__ == module.__name__)
    ]


def _tool(id_: str, function: Callable[..., Any], module: ModuleType) -> Tool:
    """Convert a callable to a tool.

    :raises ValueError: when Python cannot determine its signature (some built-in functions).
    """
    signature = inspect.signature(function)
    hints = _hints(function)
    docstring = parse_docstring(inspect.getdoc(function))
    input_schema = with_top_level_definitions(_input_schema(signature, hints, docstring))
    given = hints.get("return", signature.return_annotation)
    output_schema = {} if given in _NOTHING else with_top_level_definitions(schema_of(given))
    inputs, outputs = flatten(input_schema), flatten(output_schema, output=True)
    taken = self_contained(input_schema, local_lookup(input_schema))
    alone = self_contained(output_schema, local_lookup(output_schema), output=True) if output_schema else None
    return Tool(
        id=id_,
        name=id_.rsplit(".", 1)[-1],
        description=docstring.description,
        parameters=inputs.parameters,
        returns=_outputs(given, output_schema, outputs.parameters, docstring),
        metadata={"module": module.__name__}
        | cut_parts(parameters=inputs, returns=outputs, input_schema=taken, output_schema=alone),
        input_schema=taken.schema,
        output_schema=alone.schema if alone else None,
        call=Call(protocol="python", operation=f"{module.__name__}:{id_}", arguments=_arguments(input_schema)),
    )


def _arguments(schema: Mapping[str, Any]) -> tuple[Argument, ...]:
    return tuple(Argument(name=name) for name in schema["properties"])


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    target = function if inspect.isroutine(function) or inspect.isclass(function) else type(function).__call__
    target = target.__init__ if inspect.isclass(target) else target
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception:  # a hint may use a name that exists only for type checkers; resolve the other hints one by one
        annotations = dict(getattr(target, "__annotations__", {}))
        return {name: _hint(hint, getattr(target, "__globals__", {})) for name, hint in annotations.items()}


def _hint(hint: Any, names: dict[str, Any]) -> Any:
    holder = SimpleNamespace(__annotations__={"hint": hint})
    try:
        return typing.get_type_hints(holder, globalns=names, include_extras=True)["hint"]
    except Exception:
        return hint.strip("'\"") if isinstance(hint, str) else hint


def _input_schema(signature: inspect.Signature, hints: dict[str, Any], docstring: Docstring) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for index, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind in _VARIABLE or (index == 0 and name in {"self", "cls"}):
            continue
        hint = hints.get(name, parameter.annotation)
        schema = schema_of(hint) if hint is not inspect.Parameter.empty else _of_default(parameter.default)
        if docstring.parameters.get(name):
            schema["description"] = docstring.parameters[name]
        properties[name] = schema
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
        elif isinstance(parameter.default, _PLAIN) and "$ref" not in schema:
            schema["default"] = parameter.default
    return {"type": "object", "properties": properties, "required": required}


def _of_default(default: Any) -> dict[str, Any]:
    """Return the schema of the default value's type, for a parameter without a hint."""
    return {} if default is None or default is inspect.Parameter.empty else schema_of(type(default))


def _outputs(
    hint: Any, schema: dict[str, Any], fields: tuple[Parameter, ...], docstring: Docstring
) -> tuple[Parameter, ...]:
    if hint is None or hint is type(None):
        return ()
    if fields and fields[0].name != "result":
        return fields
    if fields:
        return (replace(fields[0], description=fields[0].description or docstring.returns), *fields[1:])
    if not docstring.returns and not schema:
        return ()
    return (Parameter(name="result", type=str(schema.get("type", "any")), description=docstring.returns),)
