"""A JSON Schema that stands alone: Draft 2020-12, what it refers to under ``$defs``, nothing else changed.

The dialects of documents are brought to one: ``nullable`` of OpenAPI 3.0 and ``x-nullable`` become the type ``null``, ``example``
becomes ``examples``, a boolean ``exclusiveMinimum`` becomes a number, ``file`` becomes a binary string. Schemas are taken breadth
first up to :data:`MAX_SCHEMAS`; what lies beyond accepts any value, so that every value the source accepts stays valid.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ingest.sources.json_schema.schema_text import schema_text
from ingest.sources.json_schema.schema_view import Lookup
from ingest.sources.json_values import as_list, as_mapping, as_number
from ontology.errors import DocumentError
from ontology.json_object import DEFINITIONS, JsonObject
from ontology.json_types import json_type, typed_values

__all__ = ["MAX_SCHEMAS", "Definitions", "SelfContained", "self_contained"]

#: Schemas and subschemas that are taken from one input or output. Chosen, not tuned: of 36,500 real tools (all discovery documents that
#: the client ships, eight AWS models, seven specifications) it cuts six schemas.
MAX_SCHEMAS = 1_500

_NUMBER = (int, float)
# The keywords that are copied, and the type that each must have.
_KEPT: Mapping[str, Any] = {
    "type": (str, list),
    "title": str,
    "description": str,
    "enum": list,
    "const": object,
    "default": object,
    "examples": list,
    "format": str,
    "pattern": str,
    "minimum": _NUMBER,
    "maximum": _NUMBER,
    "exclusiveMinimum": _NUMBER,
    "exclusiveMaximum": _NUMBER,
    "multipleOf": _NUMBER,
    "minLength": int,
    "maxLength": int,
    "minItems": int,
    "maxItems": int,
    "uniqueItems": bool,
    "minProperties": int,
    "maxProperties": int,
    "contentEncoding": str,
    "contentMediaType": str,
    "deprecated": bool,
}
_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_ONE = ("items", "additionalProperties", "not", "propertyNames", "contains", "if", "then", "else")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "dependentSchemas")
_NESTED = frozenset((*_ONE, *_LISTS, *_MAPS, "$ref", "required"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfContained:
    """A schema without references to the outside.

    :param cut: whether the limit left something out.
    """

    schema: Mapping[str, Any]
    cut: bool = False


class _Pending(NamedTuple):
    """A schema, and its place in the result: a key of an object or an index of a list."""

    source: Any
    holder: Any
    place: str | int


class _Definition(NamedTuple):
    """What a reference stands for.

    :param text: as JSON.
    :param refs: the references in it.
    :param taken: number of its schemas and subschemas, without those that it refers to.
    """

    text: str
    refs: tuple[str, ...]
    taken: int


class Definitions:
    """The definitions of one document, each converted once for all schemas that refer to it.

    :param lookup: what a ``$ref`` stands for.
    """

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self._known: dict[tuple[str, str], _Definition] = {}

    def of(self, ref: str, hidden: str) -> _Definition:
        """What a reference stands for, without the fields that are ``hidden``; raises DocumentError where it leads nowhere."""
        key = (ref, hidden)
        if key not in self._known:
            writer = _PartWriter(self.lookup, hidden)
            written = writer.write_part(self.lookup(ref))
            self._known[key] = _Definition(schema_text(written), tuple(writer.names), writer.taken)
        return self._known[key]


def self_contained(
    schema: Any, lookup: Lookup, *, output: bool = False, definitions: Definitions | None = None
) -> SelfContained:
    """The schema with everything it refers to.

    :param lookup: what a ``$ref`` stands for.
    :param output: whether it is a schema of answers (``writeOnly`` fields are left out) or of requests (``readOnly`` ones are).
    :param definitions: of the document, with the same ``lookup``; the schema is then a :class:`JsonObject`, which sorts its keys.
    :raises DocumentError: when a reference leads nowhere.
    """
    hidden = "writeOnly" if output else "readOnly"
    if definitions is not None and (composed := _composed(schema, definitions, hidden)) is not None:
        return composed
    written = _Writer(lookup, hidden).write(schema)
    return written if definitions is None else replace(written, schema=_divided(written.schema))


def _composed(schema: Any, definitions: Definitions, hidden: str) -> SelfContained | None:
    """The schema with finished definitions; None where a limit, a fault or two definitions of one name need the whole to be seen."""
    writer = _PartWriter(definitions.lookup, hidden)
    texts: dict[str, str] = {}
    try:
        top = writer.write_top(schema)
        taken, pending, done = writer.taken, deque(writer.names), set[str]()
        while pending:
            ref = pending.popleft()
            if ref in done:
                continue
            done.add(ref)
            name, found = _stem(ref), definitions.of(ref, hidden)
            taken += found.taken
            if name in texts or taken > MAX_SCHEMAS:
                return None
            texts[name] = found.text
            pending.extend(found.refs)
    except DocumentError:
        return None
    return SelfContained(schema=JsonObject(schema_text(top), texts)) if taken <= MAX_SCHEMAS else None


def _divided(schema: Mapping[str, Any]) -> JsonObject:
    own = {key: value for key, value in schema.items() if key != DEFINITIONS}
    return JsonObject(schema_text(own), {name: schema_text(each) for name, each in schema.get(DEFINITIONS, {}).items()})


class _Writer:
    def __init__(self, lookup: Lookup, hidden: str) -> None:
        self._lookup = lookup
        self._hidden = hidden
        self._defs: dict[str, Any] = {}
        self.names: dict[str, str] = {}
        self.taken = 0
        self._pending: deque[_Pending] = deque()

    def write(self, schema: Any) -> SelfContained:
        top = self.write_top(schema)
        cut = self.taken > MAX_SCHEMAS
        return SelfContained(schema={**top, **({DEFINITIONS: self._defs} if self._defs else {})}, cut=cut)

    def write_top(self, schema: Any) -> dict[str, Any]:
        top = self.write_part(self._resolved(schema))
        return top if isinstance(top, dict) else {}

    def write_part(self, schema: Any) -> Any:
        holder: dict[str, Any] = {}
        self._queue(schema, holder, "top")
        while self._pending:
            source, into, place = self._pending.popleft()
            self.taken += 1
            into[place] = self._converted(source) if self.taken <= MAX_SCHEMAS else {}
        return holder["top"]

    def _resolved(self, schema: Any) -> Any:
        """The top schema without a reference around it, so that it says itself what it is."""
        if isinstance(schema, dict) and "$ref" not in schema:  # most are
            return schema
        seen: set[str] = set()
        while isinstance(schema, Mapping) and isinstance(ref := schema.get("$ref"), str) and ref not in seen:
            seen.add(ref)
            schema = {**self._lookup(ref), **{key: value for key, value in schema.items() if key != "$ref"}}
        return schema

    def _converted(self, source: Any) -> Any:
        if not isinstance(source, (dict, Mapping)):
            return source is not False  # true and false are schemas; anything else states nothing
        written = {key: value for key, value in source.items() if key in _KEPT and isinstance(value, _KEPT[key])}
        if len(written) < len(source):
            written.update(_numbers(source))
        _to_one_dialect(written, source)
        if not _NESTED.isdisjoint(source):
            self._add_nested(written, source)
        return _with_null(written, source)

    def _add_nested(self, written: dict[str, Any], source: Mapping[str, Any]) -> None:
        """Add the reference, the subschemas, which are written later, and the names of required fields."""
        if isinstance(ref := source.get("$ref"), str):
            written["$ref"] = f"#/$defs/{self._name(ref)}"
        for key in _ONE:
            if key not in source:  # most are not
                continue
            inner = source[key]
            if isinstance(inner, bool) and key == "additionalProperties":
                written[key] = inner
            elif isinstance(inner, Mapping):
                self._queue(inner, written, key)
            elif isinstance(inner, list) and inner and key == "items":  # a tuple before Draft 2020-12
                self._queue_list(inner, written, "prefixItems")
        for key in _LISTS:
            if key in source and isinstance(source[key], list) and source[key]:
                self._queue_list(source[key], written, key)
        for key in _MAPS:
            if key in source and isinstance(source[key], Mapping):
                fields = dict(self._shown(source[key])) if key == "properties" else source[key]
                written[key] = {}
                for name, inner in fields.items():
                    self._queue(inner, written[key], str(name))
        self._add_required(written, source)

    def _add_required(self, written: dict[str, Any], source: Mapping[str, Any]) -> None:
        names = [name for name in as_list(source.get("required")) if isinstance(name, str)]
        hidden = as_mapping(source.get("properties")).keys() - written.get("properties", {}).keys()
        required = [name for name in dict.fromkeys(names) if name not in hidden]
        if required:
            written["required"] = required

    def _shown(self, properties: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """The fields of one direction: not those that only the server, or only the caller, writes."""
        for name, schema in properties.items():
            stated = self._resolved(schema)
            if not (isinstance(stated, Mapping) and stated.get(self._hidden) is True):
                yield name, schema

    def _queue(self, schema: Any, holder: dict[str, Any], key: str) -> None:
        holder[key] = {}  # holds the place: the order of the fields is that of the source
        self._pending.append(_Pending(schema, holder, key))

    def _queue_list(self, schemas: list[Any], holder: dict[str, Any], key: str) -> None:
        places: list[Any] = [{} for _ in schemas]
        holder[key] = places
        for number, schema in enumerate(schemas):
            self._pending.append(_Pending(schema, places, number))

    def _name(self, ref: str) -> str:
        if ref not in self.names:
            stem = _stem(ref)
            name, number = stem, 2
            while name in self._defs:
                name, number = f"{stem}_{number}", number + 1
            self.names[ref] = name
            self._queue(self._lookup(ref), self._defs, name)
        return self.names[ref]


class _PartWriter(_Writer):
    """Writes a schema without what it refers to."""

    def _name(self, ref: str) -> str:
        return self.names.setdefault(ref, _stem(ref))


def _stem(ref: str) -> str:
    return re.sub(r"[^\w.-]+", "_", re.split("[/#]", ref.rstrip("/#"))[-1]).strip("_") or "schema"


def _to_one_dialect(written: dict[str, Any], source: Mapping[str, Any]) -> None:
    """Bring the keywords of other dialects to those of Draft 2020-12."""
    if "example" in source and "examples" not in written:
        written["examples"] = [source["example"]]
    for key, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(written.get(key), bool):
            if written.pop(key) and limit in written:
                written[key] = written.pop(limit)
    type_ = written.get("type")
    if isinstance(type_, list):
        written["type"] = list(dict.fromkeys(name for name in type_ if name in _TYPES))
    elif type_ == "file":
        written.update(type="string", format="binary")
    elif type_ not in _TYPES:  # "dict", "list<int>", "any": the names of other languages
        written.pop("type", None)
        written.update({**json_type(type_), **written} if type_ else {})
    if not written.get("type", True):
        written.pop("type")
    if written.get("type") in ("integer", "number", "boolean"):
        _type_texts(written, written["type"])


def _numbers(source: Mapping[str, Any]) -> dict[str, Any]:
    """The bounds that a document writes as text (``"maximum": "50"``), as numbers."""
    texts = {key: source[key] for key in source if isinstance(source[key], str) and _KEPT.get(key) in (_NUMBER, int)}
    numbers = {key: number for key, text in texts.items() if (number := as_number(text)) is not None}
    return {key: n for key, n in numbers.items() if _KEPT[key] is not int or (isinstance(n, int) and n >= 0)}


def _type_texts(written: dict[str, Any], type_: str) -> None:
    """Give a default and examples that are written as text the type of the value."""
    if isinstance(written.get("default"), str):
        written["default"] = typed_values((written["default"],), type_)[0]
    if "examples" in written:
        written["examples"] = [
            typed_values((each,), type_)[0] if isinstance(each, str) else each for each in written["examples"]
        ]


def _with_null(written: dict[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    if source.get("nullable") is not True and source.get("x-nullable") is not True:
        return written
    type_ = written.get("type")
    if type_ is not None:
        types = [type_] if isinstance(type_, str) else type_
        written["type"] = [*types, *(["null"] if "null" not in types else [])]
        if isinstance(written.get("enum"), list) and None not in written["enum"]:
            written["enum"] = [*written["enum"], None]
        return written
    if type_ is None and ("$ref" in written or any(key in written for key in _LISTS)):
        outer: dict[str, Any] = {
            key: written.pop(key) for key in ("title", "description", "default", "examples") if key in written
        }
        return {**outer, "anyOf": [written, {"type": "null"}]}
    return written
