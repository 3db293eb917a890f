"""JSON values and JSON Schema: objects that are frozen, types of values, the JSON form of calls, the first error of a model."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from reprlib import Repr
from typing import TYPE_CHECKING, Any

from egotools.call import LOCATIONS, PROTOCOLS, Call
from ontology.errors import DocumentError

if TYPE_CHECKING:
    from pydantic import ValidationError


DEFINITIONS = "$defs"
"""The key of a JSON Schema under which the schemas are that it refers to."""

_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class JsonObject(Mapping[str, Any]):
    """A read-only mapping over a canonical JSON text. Each access parses the text: take a ``dict`` of it for more than one.

    The schemas of a document's operations refer to the same definitions, which are most of their text: it is kept once for all.

    :param text: the text of a JSON object as :func:`canonical_text` writes it, without :data:`DEFINITIONS` where these are given;
        then none of its keys is sorted before that one. It stays as ``own_text``.
    :param definitions: the canonical text of each of its definitions, by name; they stay as pairs sorted by name.
    """

    __slots__ = ("definitions", "own_text")

    def __init__(self, text: str, definitions: Mapping[str, str] | None = None) -> None:
        self.own_text = text
        pairs = sorted(definitions.items()) if definitions else ()
        self.definitions = tuple((sys.intern(name), sys.intern(defined)) for name, defined in pairs)

    @property
    def text(self) -> str:
        """The canonical text of the whole object."""
        if not self.definitions:
            return self.own_text
        definitions = ",".join(f"{_ENCODER.encode(name)}:{text}" for name, text in self.definitions)
        others = f",{self.own_text[1:]}" if self.own_text != "{}" else "}"
        return f'{{"{DEFINITIONS}":{{{definitions}}}{others}'

    def parsed(self) -> dict[str, Any]:
        """The object as a new dict; the caller may change it."""
        value: dict[str, Any] = json.loads(self.text)
        return value

    def __getitem__(self, key: str) -> Any:
        return self.parsed()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parsed())

    def __len__(self) -> int:
        return len(self.parsed())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, JsonObject):
            return self.text == other.text
        return self.parsed() == other if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"JsonObject({self.text!r})"


def as_dict(value: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping as a dict; of a :class:`JsonObject` a new one, parsed once."""
    return value.parsed() if isinstance(value, JsonObject) else dict(value)


def canonical_text(value: Any) -> str:
    """The text of a JSON value on one line with sorted keys: equal values have equal texts."""
    if isinstance(value, JsonObject):
        return value.text
    return _ENCODER.encode(value)


_MAX_DEPTH = 8
_MAX_CHARS = 1_000
_MAX_VALUE_CHARS = 40
_NAMES = {
    "string": "string str text char varchar nvarchar uuid guid date datetime time timestamp email uri url password "
    "binary bytes byte base64 file enum",
    "integer": "integer int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 long short bigint smallint sbyte",
    "number": "number float double decimal numeric float32 float64 real money currency single",
    "boolean": "boolean bool",
    "object": "object dict dictionary map mapping struct record json complextype entitytype",
    "array": "array list tuple set sequence collection iterable frozenset",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_FORMATS = {
    "uuid": "uuid",
    "guid": "uuid",
    "date": "date",
    "datetime": "date-time",
    "datetimeoffset": "date-time",
    "timestamp": "date-time",
    "email": "email",
    "uri": "uri",
    "url": "uri",
}
_ANY = frozenset(("any", "mixed", "unknown", "variant"))
_NULL = frozenset(("null", "none", "nonetype", "undefined"))
_WRAPPERS = frozenset(("optional", "annotated", "nullable", "required", "notrequired"))
_PARAMETRISED = re.compile(r"^([\w.]+)\s*(?:<(.*)>|\[(.*)\]|\((.*)\))$", re.DOTALL)


def json_type(text: str) -> dict[str, Any]:
    """The JSON Schema of a type as a document writes it. An unknown type is a string.

    >>> json_type("list<int>")
    {'type': 'array', 'items': {'type': 'integer'}}
    """
    return _parse(text, 0)


def _parse(text: str, depth: int) -> dict[str, Any]:
    text = text.strip().strip("'\"").strip().removesuffix("?").strip()
    if depth > _MAX_DEPTH or len(text) > _MAX_CHARS:
        return {"type": "string"}
    if text.endswith("[]"):
        return {"type": "array", "items": _parse(text[:-2], depth + 1)}
    parts = _without_null(_split(text, "|"))
    if len(parts) > 1:
        return _any_of([_parse(part, depth + 1) for part in parts])
    text = parts[0].strip() if parts else text
    parametrised = _PARAMETRISED.match(text)
    if parametrised is None:
        return _named(text)
    outer, *arguments = parametrised.groups(default="")
    name = outer.lower().rsplit(".", 1)[-1]
    inner = [part for part in _split("".join(arguments), ",") if part.strip()]
    if name in _WRAPPERS and inner:
        return _parse(inner[0], depth + 1)
    if name == "union" and inner:
        return _any_of([_parse(part, depth + 1) for part in _without_null(inner)])
    if name in ("literal", "enum"):
        return {"type": "string"}
    if _KINDS.get(name) == "array":
        return {"type": "array", "items": _parse(inner[0], depth + 1) if inner else {}}
    if _KINDS.get(name) == "object" and len(inner) == 2:
        return {"type": "object", "additionalProperties": _parse(inner[1], depth + 1)}
    return _named(outer)


def _named(text: str) -> dict[str, Any]:
    name = text.lower().rsplit(".", 1)[-1].replace("-", "").replace("_", "")
    if name in _ANY:
        return {}
    kind = _KINDS.get(name, "string")
    if kind == "array":
        return {"type": "array", "items": {}}
    return {"type": kind, "format": _FORMATS[name]} if name in _FORMATS else {"type": kind}


def _without_null(parts: list[str]) -> list[str]:
    return [part for part in parts if part.strip().lower() not in _NULL]


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    distinct = [schema for number, schema in enumerate(schemas) if schema not in schemas[:number]]
    if not distinct or {} in distinct:
        return {}
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _split(text: str, separator: str) -> list[str]:
    """Split at the separators outside all brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character in "<[(":
            depth += 1
        elif character in ">])":
            depth -= 1
        elif character == separator and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def typed_values(values: tuple[str, ...], kind: str | None) -> list[Any]:
    """Allowed values as JSON values of a kind (``integer``, …), without duplicates; others stay strings."""
    typed = [_typed(value, kind) for value in values]
    return list({json.dumps(value): value for value in typed}.values())


def _typed(value: str, kind: str | None) -> Any:
    if kind not in ("integer", "number", "boolean") or len(value) > _MAX_VALUE_CHARS:
        return value
    if kind == "boolean":
        return {"true": True, "false": False}.get(value.strip().lower(), value)
    try:
        number = int(value) if kind == "integer" else float(value)
    except ValueError:
        return value
    return number if math.isfinite(number) else value


def call_to_json(call: Call) -> dict[str, Any]:
    """The JSON form, without fields that have their default."""
    row: dict[str, Any] = _codec().dump_python(call, mode="json", exclude_defaults=True)
    return row


def call_from_json(row: Any) -> Call:
    """Read the JSON form.

    :raises DocumentError: with the invalid field as its subject.
    """
    from pydantic import ValidationError

    try:
        call: Call = _codec().validate_python(row)
    except ValidationError as error:
        first = error.errors()[0]
        raise _wrong(".".join(("call", *map(str, first["loc"]))), first["msg"]) from None
    if call.protocol not in PROTOCOLS:
        raise _wrong("call.protocol", f"it must be one of {', '.join(PROTOCOLS)}")
    if unknown := {each.location for each in call.arguments} - set(LOCATIONS):
        raise _wrong("call.arguments.location", f"{min(unknown)!r} is none of {', '.join(LOCATIONS)}")
    return call


def _wrong(subject: str, problem: str) -> DocumentError:
    return DocumentError(f"{subject} is not as expected: {problem}", subject=subject, reason="wrong-type")


@cache
def _codec() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Call)


_MAX_SHOWN = 80
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 2 * _MAX_SHOWN
_SHORT.maxlist = _SHORT.maxdict = _SHORT.maxtuple = _SHORT.maxset = 10


def first_error(error: ValidationError, *, show_value: bool = True) -> str:
    """Return the field, its value where it is short, and what is wrong with it.

    :param show_value: False for a file of secrets.
    """
    first = error.errors(include_url=False, include_context=False)[0]
    field = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":  # its input is the whole object that lacks it
        return f"{field!r} is missing"
    message = first["msg"].removeprefix("Value error, ")
    if not show_value:
        return f"{field!r}: {message}" if field else message
    shown = _SHORT.repr(first["input"])  # of a value of any size, in a time that does not grow with it
    shown = shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"
    return f"{field!r} is {shown}: {message}" if field else message
