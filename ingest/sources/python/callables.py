"""Describe the callables of a module as tools: signature, type hints and docstring. Pydantic makes the schemas of the hints."""

from __future__ import annotations

import importlib
import inspect
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

from pydantic import ConfigDict, TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from egotools.call import Argument, Call
from ingest.sources.document import Document
from ingest.sources.json_schema.schema import FLAT, object_schema
from ingest.sources.operation import Operation, Output, Schemas
from ingest.sources.prose import plain
from ingest.sources.source import RejectedRecord
from ontology.errors import DocumentError
from ontology.tool import Parameter, Tool

# A heading of Google (``Args:``) or NumPy (underlined), or a field of Sphinx (``:param name:``).
_HEADING = re.compile(
    r"^(?:(?P<title>args|arguments|(?:other )?param(?:eter)?s|keyword arg(?:ument)?s|returns?|yields|raises|examples?|notes?|"
    r"references|see also|attributes|warn(?:ing)?s|todo)(?::[ \t]*|[ \t]*\n-{3,}[ \t]*)$|"
    r":(?P<field>param|parameter|arg|argument|key|keyword|type|raises?|returns?|rtype|yields?)\b[^:\n]*:)",
    re.IGNORECASE | re.MULTILINE,
)
# Before what is returned: a line of its own in NumPy style, a prefix in Google style.
_RETURN_TYPE = re.compile(r"\A(?:\S.*\n(?=[ \t])|\s*[\w\[\], .|]{1,80}:[ \t]+(?=\S))")


class Docstring(NamedTuple):
    """The texts of a docstring in the style of Google, NumPy or Sphinx, without markup."""

    description: str  # the text before the first section
    parameters: dict[str, str]  # map from the name of a parameter to its description
    returns: str


def parse_docstring(text: str, names: Iterable[str]) -> Docstring:
    """Parse the docstring of a callable with parameters of these names; without a known section, all of it is the description."""
    headings = list(_HEADING.finditer(text))
    start = headings[0].start() if headings else len(text)
    parameters = {name: plain(described) for name in names if (described := _entry(name, text[start:]))}
    returns = ""
    for heading, end in zip(headings, [*(each.start() for each in headings[1:]), len(text)], strict=False):
        if (heading["title"] or heading["field"]).lower().startswith(("return", "yield")):
            returns = text[heading.end() : end].lstrip("\n")
            returns = _RETURN_TYPE.sub("", returns) if heading["title"] else returns
    return Docstring(plain(text[:start]), parameters, plain(returns))


def _entry(name: str, text: str) -> str:
    """The description of one parameter: what follows its name, and the lines that are indented deeper."""
    sphinx, google, numpy = (
        r"(?::\w+[ \t]+(?:[^:\n]*[ \t])?)?",
        r"(?:[ \t]*\([^)\n]*\))?:[ \t]*(.*)",
        r"[ \t]*(?:[ \t]:.*)?",
    )
    deeper = r"((?:\n(?:\1[ \t]+\S.*|[ \t]*$))*)"
    entry = re.search(rf"^([ \t]*){sphinx}\*{{0,2}}{name}(?:{google}|{numpy}$){deeper}", text, re.MULTILINE)
    return (entry[2] or "") + entry[3] if entry is not None else ""


class _HintSchema(GenerateJsonSchema):
    """Without a title of each field, and without a statement of what JSON cannot express."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
        return {}


def _schemas_of(hints: Mapping[str, Any], mode: JsonSchemaMode) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The JSON Schema of each type hint, any value for one that pydantic does not know; and ``$defs``, to which they refer."""
    adapters: list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]] = []
    for name, hint in hints.items():
        for config in (ConfigDict(arbitrary_types_allowed=True), None):
            try:
                adapter: TypeAdapter[Any] = TypeAdapter(hint, config=config)
            except PydanticUserError:  # a model has settings of its own; a hint may be none that it knows
                continue
            if adapter.pydantic_complete:
                adapters.append((name, mode, adapter))
            break
    made, shared = TypeAdapter.json_schemas(adapters, schema_generator=_HintSchema)
    definitions = {"$defs": shared["$defs"]} if "$defs" in shared else {}
    return {name: dict(made.get((name, mode), {})) for name in hints}, definitions


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
        except Exception as error:  # also of the module's own types
            yield RejectedRecord(subject, "no-signature", f"Its signature cannot be read: {error}.")
            continue
        for item in schemas.tools(subject, partial(replace, operation)):
            if isinstance(item, Tool):
                returns = item.returns or ((result,) if result is not None else ())
                item = replace(item, name=id_.rpartition(".")[2], returns=returns)
            yield item


def _import(name: str, address: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except BaseException as error:  # the imported code may raise any error
        raise DocumentError(
            f"the module cannot be imported: {type(error).__name__}: {' '.join(str(error)[:_MAX_MESSAGE_CHARS].split())}",
            subject=address,
            remedy="Install it, run from the folder that holds it, or name that folder in PYTHONPATH",
            reason="not-importable",
        ) from error


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
    signature, hints = inspect.signature(function), _hints(function)
    taken = [
        parameter
        for number, parameter in enumerate(signature.parameters.values())
        if parameter.kind not in _VARIABLE and not (number == 0 and parameter.name in {"self", "cls"})
    ]
    docstring = parse_docstring(inspect.getdoc(function) or "", [each.name for each in taken])
    input_schema = _input_schema(taken, hints, docstring)
    given = hints.get("return", signature.return_annotation)
    output, result = None, None
    if given not in _NOTHING:
        schemas, definitions = _schemas_of({"result": given}, "serialization")
        schema = schemas["result"]
        if schema:
            # A value that is no object is one field, ``result``, which the docstring describes.
            described = {"description": schema.get("description") or docstring.returns}
            output = Output({**schema, **definitions, FLAT: described})
        if schema or docstring.returns:
            result = Parameter(name="result", type=str(schema.get("type", "any")), description=docstring.returns)
    operation = Operation(
        id=id_,
        description=docstring.description,
        inputs=input_schema,
        output=output,
        metadata={"module": module.__name__},
        call=Call(
            protocol="python",
            operation=f"{module.__name__}:{id_}",
            arguments=tuple(Argument(name=each.name) for each in taken),
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
        return Any


def _input_schema(taken: list[inspect.Parameter], hints: Mapping[str, Any], docstring: Docstring) -> dict[str, Any]:
    types: dict[str, Any] = {}
    for each in taken:
        stated = None if each.default is inspect.Parameter.empty else each.default
        untyped = Any if stated is None else type(stated)
        types[each.name] = hints.get(each.name, untyped)
    schemas, definitions = _schemas_of(types, "validation")
    for each in taken:
        schema = schemas[each.name]
        texts = (one for one in getattr(types[each.name], "__metadata__", ()) if isinstance(one, str))
        if description := docstring.parameters.get(each.name) or next(texts, ""):
            schema["description"] = description
        if isinstance(each.default, (str, int, float, bool)) and "$ref" not in schema:
            schema["default"] = each.default
    required = (each.name for each in taken if each.default is inspect.Parameter.empty)
    return {**object_schema(schemas, required), **definitions}
