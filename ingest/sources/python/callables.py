"""Describe the callables of a module as tools: signature, type hints and docstring."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import importlib
import inspect
import os
import pathlib
import re
import sys
import types
import typing
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from types import ModuleType, SimpleNamespace
from typing import Any

from egotools.call import Argument, Call
from ingest.sources.document import Document
from ingest.sources.json_schema.schema import FLAT
from ingest.sources.operation import Operation, Output, Schemas
from ingest.sources.prose import plain
from ingest.sources.source import RejectedRecord
from ontology.errors import DocumentError
from ontology.tool import Parameter, Tool

_PARAMETERS = frozenset("args,arguments,parameters,params,other parameters,keyword args,keyword arguments".split(","))
_RETURNS = frozenset({"returns", "return", "yields"})
_OTHERS = frozenset("raises,examples,example,notes,note,references,see also,attributes,warnings,warns,todo".split(","))
_HEADING = re.compile(r"^(\w[\w ]*?):?\s*$")
_SPHINX = re.compile(r"^:(?P<field>\w+)(?:\s+(?P<args>[^:]*))?:\s*(?P<text>.*)$")
_GOOGLE_ITEM = re.compile(r"^\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)$")
_NUMPY_ITEM = re.compile(r"^\*{0,2}(?P<names>\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_RETURN_TYPE = re.compile(r"^[\w\[\], .|]{1,80}:\s+(?=\S)")


@dataclass(slots=True, kw_only=True)
class Docstring:
    """A parsed docstring; texts without markup."""

    description: str = ""  # the text before the first section
    parameters: dict[str, str] = field(default_factory=dict)  # map from parameter name to its description
    returns: str = ""


def parse_docstring(text: str | None) -> Docstring:
    """Parse a docstring; without a known section, the whole text is the description."""
    sections = _sections(inspect.cleandoc(text or "").splitlines())
    found = Docstring(description=plain("\n".join(sections.pop("", []))))
    for name, body in sections.items():
        if name == ":":
            _parse_sphinx(body, found)
        elif name in _PARAMETERS:
            found.parameters.update(_items(body))
        elif name in _RETURNS:
            # Without its type: a separate line in NumPy style, a prefix in Google style.
            filled = [line for line in body if line.strip()]
            if len(filled) > 1 and filled[0] == filled[0].lstrip() and filled[1] != filled[1].lstrip():
                filled = filled[1:]
            found.returns = plain(_RETURN_TYPE.sub("", "\n".join(map(str.strip, filled))))
    return found


def _sections(lines: list[str]) -> dict[str, list[str]]:
    """Map from section to its lines; the description has an empty name, Sphinx fields have the name ``:``."""
    sections: dict[str, list[str]] = {"": []}
    current = ""
    for line, following in pairwise([*lines, ""]):
        heading, under = _HEADING.match(line), following.strip()
        is_marked = line.rstrip().endswith(":") or (len(under) > 2 and set(under) == {"-"})
        if heading and is_marked and heading[1].lower() in _PARAMETERS | _RETURNS | _OTHERS:
            current = heading[1].lower()
            sections.setdefault(current, [])
        elif _SPHINX.match(line):
            current = ":"
            sections.setdefault(current, []).append(line)
        elif sections[current] or set(line.strip()) != {"-"}:
            sections[current].append(line)
    return sections


def _items(body: list[str]) -> dict[str, str]:
    """Parse the entries of a section: each begins at the smallest indent; deeper lines continue it."""
    filled = [line for line in body if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    texts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in filled:
        stripped = line.strip()
        if len(line) - len(line.lstrip()) > indent:
            current.append(stripped)
        elif google := _GOOGLE_ITEM.match(stripped) if indent else None:
            current = texts.setdefault(google["name"], [google["text"]])
        elif numpy := _NUMPY_ITEM.match(stripped):
            current = []
            for name in numpy["names"].split(","):
                texts[name.strip().lstrip("*")] = current
    return {name: plain("\n".join(lines)) for name, lines in texts.items()}


def _parse_sphinx(body: list[str], found: Docstring) -> None:
    fields: list[tuple[str, str, list[str]]] = []
    for line in body:
        if match := _SPHINX.match(line):
            fields.append((match["field"], match["args"] or "", [match["text"]]))
        elif fields:
            fields[-1][2].append(line)
    for name, args, lines in fields:
        text = plain("\n".join(lines))
        if name in {"param", "parameter", "arg", "argument", "key", "keyword"} and args.strip():
            found.parameters[args.split()[-1].lstrip("*")] = text
        elif name in {"returns", "return"}:
            found.returns = text


_SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "format": "byte"},
    complex: {"type": "string"},
    decimal.Decimal: {"type": "number"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
    datetime.timedelta: {"type": "string", "format": "duration"},
    pathlib.Path: {"type": "string", "format": "path"},
    type(None): {"type": "null"},
    None: {"type": "null"},
    Any: {},
    object: {},
}
_LISTS = (list, tuple, set, frozenset, collections.abc.Iterable, collections.abc.Iterator, collections.abc.Sequence)
_WRAPPERS = (
    *(collections.abc.Awaitable, collections.abc.Coroutine),
    *(typing.Final, typing.ClassVar, typing.Required, typing.NotRequired),
)


def schema_of(hint: Any, open_: frozenset[Any] = frozenset()) -> dict[str, Any]:
    """Return the JSON Schema of a type hint; a recursive class is not opened inside itself."""
    try:
        scalar = _SCALARS.get(hint)
    except TypeError:  # an unhashable annotation
        scalar = None
    if scalar is not None:
        return dict(scalar)
    origin = typing.get_origin(hint)
    if origin is not None:
        return _of_generic(origin, typing.get_args(hint), open_)
    if isinstance(hint, typing.TypeVar):
        return schema_of(hint.__bound__, open_) if hint.__bound__ is not None else {}
    if isinstance(hint, typing.NewType):
        return schema_of(hint.__supertype__, open_)
    if isinstance(hint, type):
        return _of_class(hint, open_)
    return {"type": hint} if isinstance(hint, str) and hint.isidentifier() else {}


def with_top_level_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """Move the ``$defs`` of nested schemas (each pydantic model has its own) to the top level, which ``#/$defs/…`` refers to."""
    definitions: dict[str, Any] = {}

    def without(node: Any) -> Any:
        if isinstance(node, list):
            return [without(inner) for inner in node]
        if not isinstance(node, dict):
            return node
        inner = node.get("$defs")
        if isinstance(inner, dict):
            definitions.update({name: without(definition) for name, definition in inner.items()})
        return {key: without(value) for key, value in node.items() if key != "$defs"}

    top: dict[str, Any] = without(schema)
    return {**top, "$defs": definitions} if definitions else top


def _of_generic(origin: Any, args: tuple[Any, ...], open_: frozenset[Any]) -> dict[str, Any]:
    if origin is typing.Annotated:  # with a text, or an object with a ``description``
        schema = schema_of(args[0], open_)
        for extra in args[1:]:
            description = extra if isinstance(extra, str) else getattr(extra, "description", None)
            if isinstance(description, str):
                schema["description"] = description
        return schema
    if origin is typing.Literal:
        return _of_values(list(args), {type(value) for value in args if value is not None})
    if origin in {typing.Union, types.UnionType}:
        return {"anyOf": [schema_of(arg, open_) for arg in args]}
    if origin in _WRAPPERS:
        return schema_of(args[-1], open_) if args else {}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(args[1], open_) if len(args) > 1 else True}
    if isinstance(origin, type) and issubclass(origin, _LISTS):
        items = [schema_of(arg, open_) for arg in args if arg is not Ellipsis]
        return {"type": "array", "items": items[0] if len(items) == 1 else {"anyOf": items}}
    return schema_of(origin, open_) if origin is not None else {}


def _of_values(values: list[Any], kinds: set[type]) -> dict[str, Any]:
    type_ = _SCALARS.get(kinds.pop(), {}).get("type", "string") if len(kinds) == 1 else "string"
    return {"type": type_, "enum": values}


def _of_class(hint: type, open_: frozenset[Any]) -> dict[str, Any]:
    if issubclass(hint, enum.Enum):
        values = [member.value for member in hint]
        return _of_values(values, set(map(type, values)))
    if callable(describe := getattr(hint, "model_json_schema", None)):  # a pydantic model, without importing pydantic
        described = describe()
        return {**described, "title": hint.__name__} if isinstance(described, dict) else {}
    if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint) or hasattr(hint, "_fields"):
        return _of_fields(hint, open_)
    for base in hint.__mro__[:-1]:
        if base in _SCALARS:
            return dict(_SCALARS[base])
    if issubclass(hint, Mapping):
        return {"type": "object"}
    if issubclass(hint, (list, tuple, set, frozenset)):
        return {"type": "array"}
    return {"type": "object", "title": hint.__name__}


def _of_fields(hint: Any, open_: frozenset[Any]) -> dict[str, Any]:
    if hint in open_:
        return {"type": "object", "title": hint.__name__}
    try:
        hints = typing.get_type_hints(hint, include_extras=True)
    except Exception:  # a hint may use a name that exists only for type checkers
        hints = dict(getattr(hint, "__annotations__", {}))
    properties = {name: schema_of(inner, open_ | {hint}) for name, inner in hints.items()}
    if dataclasses.is_dataclass(hint):
        fields = [field for field in dataclasses.fields(hint) if field.name in properties]
        for field in fields:
            if isinstance(description := field.metadata.get("description"), str):
                properties[field.name].setdefault("description", description)
        missing = dataclasses.MISSING
        required = [f.name for f in fields if f.default is missing and f.default_factory is missing]
    elif typing.is_typeddict(hint):
        required = sorted(hint.__required_keys__)
    else:
        required = [name for name in hints if name not in getattr(hint, "_field_defaults", {})]
    return {"type": "object", "title": hint.__name__, "properties": properties, "required": required}


_MAX_MESSAGE_CHARS = 2_000  # of an error; the report shows less
_NOTHING = (None, type(None), inspect.Signature.empty)
_VARIABLE = frozenset({inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})


def describe_module(document: Document) -> Iterator[Tool | RejectedRecord]:
    """Import the module in this process and yield its tools."""
    module_name, _, name = document.address.removeprefix("python:").partition(":")
    module = _import(module_name.strip(), document.address)
    schemas = Schemas()
    found = _named(module, name.strip(), document.address) if name.strip() else _public(module)
    for id_, function in found:
        subject = f"{document.address}#{id_}"
        try:
            operation, result = _operation(id_, function, module)
        except (TypeError, ValueError) as error:
            yield RejectedRecord(subject, "no-signature", f"Its signature cannot be read: {error}.")
            continue
        for item in schemas.tools(subject, partial(replace, operation)):
            if isinstance(item, Tool):
                returns = item.returns or ((result,) if result is not None else ())
                item = replace(item, name=id_.rpartition(".")[2], returns=returns)
            yield item


def _import(name: str, address: str) -> ModuleType:
    added = ""
    try:
        # The current folder is on the path as with ``python -m``; an installed command does not have it there.
        folder = os.getcwd()
        if folder not in sys.path and "" not in sys.path:
            sys.path.insert(0, folder)
            added = folder
        return importlib.import_module(name)
    except BaseException as error:  # the imported code may raise any error
        raise DocumentError(
            f"the module cannot be imported: {type(error).__name__}: {' '.join(str(error)[:_MAX_MESSAGE_CHARS].split())}",
            subject=address,
            remedy="Install it, run from the folder that holds it, or name that folder in PYTHONPATH",
            reason="not-importable",
        ) from error
    finally:
        if added and added in sys.path:
            sys.path.remove(added)


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


def _operation(id_: str, function: Callable[..., Any], module: ModuleType) -> tuple[Operation, Parameter | None]:
    """One callable, and its result where the schema of that has no fields."""
    signature = inspect.signature(function)
    hints = _hints(function)
    docstring = parse_docstring(inspect.getdoc(function))
    input_schema = with_top_level_definitions(_input_schema(signature, hints, docstring))
    given = hints.get("return", signature.return_annotation)
    output_schema = {} if given in _NOTHING else with_top_level_definitions(schema_of(given))
    output, result = None, None
    if output_schema:
        # A value that is no object is one field, ``result``, which the docstring describes.
        described = {"description": output_schema.get("description") or docstring.returns}
        output = Output({**output_schema, FLAT: described})
    if given not in (None, type(None)) and (output_schema or docstring.returns):
        result = Parameter(name="result", type=str(output_schema.get("type", "any")), description=docstring.returns)
    operation = Operation(
        id=id_,
        description=docstring.description,
        inputs=input_schema,
        output=output,
        metadata={"module": module.__name__},
        call=Call(
            protocol="python",
            operation=f"{module.__name__}:{id_}",
            arguments=tuple(Argument(name=name) for name in input_schema["properties"]),
        ),
    )
    return operation, result


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
        hint, default = hints.get(name, parameter.annotation), parameter.default
        if hint is inspect.Parameter.empty:
            hint = Any if default is None or default is inspect.Parameter.empty else type(default)
        schema = schema_of(hint)
        if docstring.parameters.get(name):
            schema["description"] = docstring.parameters[name]
        properties[name] = schema
        if default is inspect.Parameter.empty:
            required.append(name)
        elif isinstance(default, (str, int, float, bool)) and "$ref" not in schema:
            schema["default"] = default
    return {"type": "object", "properties": properties, "required": required}
