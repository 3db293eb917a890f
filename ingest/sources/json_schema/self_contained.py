"""A JSON Schema that stands alone: Draft 2020-12, what it refers to under ``$defs``, nothing else changed.

The dialects of documents are brought to one (:mod:`ingest.sources.json_schema.self_contained`). Schemas are taken breadth first up to
:data:`MAX_SCHEMAS`; what lies beyond accepts any value, so that every value the source accepts stays valid.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ingest.sources.json_schema.schema import Lookup, parts_of, states
from ingest.sources.source import as_list, as_mapping, as_number
from ontology.errors import DocumentError
from ontology.json_values import DEFINITIONS, JsonObject, canonical_text, json_type, typed_values

__all__ = ["Definitions", "SelfContained", "json_value", "schema_text", "self_contained"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_JSON = re.compile("[\ud800-\udfff]|NaN|Infinity")


def schema_text(schema: Any) -> str:
    """The canonical text of a schema or of a part of one. Few texts need the slow way, which parses them again."""
    try:
        text = json.dumps(schema, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    except TypeError:  # keys of several types
        return canonical_text(json_value(schema))
    return canonical_text(json_value(schema)) if _NO_JSON.search(text) else text


def json_value(value: Any) -> Any:
    """Replace lone surrogates, numbers and types that JSON does not have in a JSON value; other characters are escaped in JSON."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return json.loads(_SURROGATE.sub("\ufffd", text), parse_constant=lambda _: None)


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
_SCALARS: Mapping[str, Any] = {"string": str, "integer": (int, float), "number": (int, float), "boolean": bool}
_VALUES = frozenset(("default", "const", "enum", "examples"))
_COMBINED = ("$ref", "allOf", "anyOf", "oneOf", "prefixItems")


def stated_keywords(source: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a schema that hold no schemas, in one dialect."""
    written = {key: value for key, value in source.items() if key in _KEPT and isinstance(value, _KEPT[key])}
    if len(written) < len(source):
        written.update(_numbers(source))
    _to_one_dialect(written, source)
    return written


def with_values_of_items(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a list whose allowed values, where they are those of its items, stand at these."""
    if "enum" not in source or source.get("type") != "array":  # most are
        return source
    values, items = source["enum"], source.get("items", {})
    if (
        not isinstance(values, list)
        or not isinstance(items, Mapping)
        or any(isinstance(value, list) for value in values)
    ):
        return source
    return {**{key: value for key, value in source.items() if key != "enum"}, "items": {"enum": values, **items}}


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
    if not written.get("enum", True):  # no value at all is never meant
        written.pop("enum")
    _type_values(written)


def _numbers(source: Mapping[str, Any]) -> dict[str, Any]:
    """The bounds that a document writes as text (``"maximum": "50"``), as numbers."""
    texts = {key: source[key] for key in source if isinstance(source[key], str) and _KEPT.get(key) in (_NUMBER, int)}
    numbers = {key: number for key, text in texts.items() if (number := as_number(text)) is not None}
    return {key: n for key, n in numbers.items() if _KEPT[key] is not int or (isinstance(n, int) and n >= 0)}


def _type_values(written: dict[str, Any]) -> None:
    """Give allowed values, default and examples the one stated type; where allowed values cannot have it, they count alone."""
    if _VALUES.isdisjoint(written):  # most are
        return
    named = [name for name in _types(written) if name != "null"]
    if len(named) != 1 or named[0] not in _SCALARS:
        return
    for key in ("default", "const"):
        if key in written:
            written[key] = _typed(written[key], named[0])
    for key in ("enum", "examples"):
        if key in written:
            typed = [_typed(each, named[0]) for each in written[key]]
            written[key] = list({json.dumps(each, default=str): each for each in typed}.values())
    allowed = [*written.get("enum", ()), *([written["const"]] if "const" in written else [])]
    if not all(value is None or _is_of(value, named[0]) for value in allowed):
        del written["type"]


def _types(written: Mapping[str, Any]) -> list[Any]:
    type_ = written.get("type")
    return type_ if isinstance(type_, list) else [type_]


def _typed(value: Any, type_: str) -> Any:
    if isinstance(value, str):
        return value if type_ == "string" else typed_values((value,), type_)[0]
    return json.dumps(value) if type_ == "string" and isinstance(value, (bool, int, float)) else value


def _is_of(value: Any, type_: str) -> bool:
    return isinstance(value, _SCALARS[type_]) and isinstance(value, bool) == (type_ == "boolean")


def with_null(written: dict[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """The schema that takes null too where the source says ``nullable``."""
    if source.get("nullable") is not True and source.get("x-nullable") is not True:
        return written
    if isinstance(written.get("enum"), list) and None not in written["enum"]:
        written["enum"] = [*written["enum"], None]
    if "type" in written:
        types = _types(written)
        written["type"] = [*types, *(["null"] if "null" not in types else [])]
    elif any(key in written for key in _COMBINED):
        outer: dict[str, Any] = {
            key: written.pop(key) for key in ("title", "description", "default", "examples") if key in written
        }
        return {**outer, "anyOf": [written, {"type": "null"}]}
    return written


#: Schemas and subschemas that are taken from one input or output. Chosen, not tuned: of 36,500 real tools (all discovery documents that
#: the client ships, eight AWS models, seven specifications) it cuts six schemas.
MAX_SCHEMAS = 1_500

_ONE = ("items", "additionalProperties", "not", "propertyNames", "contains", "if", "then", "else")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "dependentSchemas")
# The keywords whose schemas say something of the same value.
_SAME_VALUE = ("allOf", "anyOf", "oneOf", "then", "else")
_PARTS = frozenset(_SAME_VALUE)
_NESTED = frozenset((*_ONE, *_LISTS, *_MAPS, "$ref", "required"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfContained:
    """A schema without references to the outside.

    :param cut: whether the limit left something out.
    """

    schema: Mapping[str, Any]
    cut: bool = False


class _Context(NamedTuple):
    """What the schema around a part of it says of the same value.

    :param hidden: the fields that it leaves out, which the part then cannot require.
    :param inlined: the references that are written out around the part.
    :param conjunct: whether the value fulfils the part: not where it is an alternative.
    """

    hidden: frozenset[str] = frozenset()
    inlined: frozenset[str] = frozenset()
    conjunct: bool = True

    def below(self, key: str) -> _Context:
        """The context of the schemas under a keyword."""
        if key not in _SAME_VALUE:
            return _ALONE
        return self if key == "allOf" else self._replace(conjunct=False)


_ALONE = _Context()


class _Pending(NamedTuple):
    """A schema, and its place in the result: a key of an object or an index of a list."""

    source: Any
    holder: Any
    place: str | int
    context: _Context = _ALONE


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
            written = writer.write_part(self.lookup(ref), _Context(inlined=frozenset((ref,))))
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

    def write_part(self, schema: Any, context: _Context = _ALONE) -> Any:
        holder: dict[str, Any] = {}
        self._queue(schema, holder, "top", context)
        while self._pending:
            source, into, place, context = self._pending.popleft()
            self.taken += 1
            into[place] = self._converted(source, context) if self.taken <= MAX_SCHEMAS else {}
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

    def _converted(self, source: Any, context: _Context) -> Any:
        if not isinstance(source, (dict, Mapping)):
            return source is not False  # true and false are schemas; anything else states nothing
        if context is not _ALONE or not _PARTS.isdisjoint(source) or ("$ref" in source and "required" in source):
            source, context = self._in_context(source, context)
        source = with_values_of_items(source)
        written = stated_keywords(source)
        if not _NESTED.isdisjoint(source):
            self._add_nested(written, source, context)
        return with_null(written, source)

    def _in_context(self, source: Mapping[str, Any], outer: _Context) -> tuple[Mapping[str, Any], _Context]:
        """The schema and the context of its parts.

        A reference is written out where its target requires a field that is left out, or leads back to what is being written.
        """
        context = outer._replace(hidden=outer.hidden | self._left_out(source))
        ref = source.get("$ref")
        if not isinstance(ref, str):
            return source, context
        own = {key: value for key, value in source.items() if key != "$ref"}
        if ref in outer.inlined:
            return own if outer.conjunct else source, context  # the value fulfils it already
        target = self._lookup(ref)
        parts = parts_of(target, self._lookup, ("allOf",))
        leads_back = bool(outer.inlined) and any(part.get("$ref") in outer.inlined for part in parts)
        if not leads_back and not (
            context.hidden and (self._required(target) & context.hidden) - self._left_out(target)
        ):
            return source, context
        return {**own, "allOf": [target, *as_list(own.get("allOf"))]}, context._replace(inlined=outer.inlined | {ref})

    def _required(self, source: Any) -> set[str]:
        """The fields that a schema or one of its parts requires."""
        parts = parts_of(source, self._lookup, _SAME_VALUE)
        return {name for part in parts for name in as_list(part.get("required")) if isinstance(name, str)}

    def _left_out(self, source: Any) -> frozenset[str]:
        """The fields that a schema requires and that it or one of its parts leaves out."""
        required = self._required(source)
        if not required:
            return frozenset()
        stated = (as_mapping(part.get("properties")) for part in parts_of(source, self._lookup, _SAME_VALUE))
        return frozenset(
            name
            for properties in stated
            for name in required & properties.keys()
            if states(properties[name], self._hidden, self._lookup)
        )

    def _add_nested(self, written: dict[str, Any], source: Mapping[str, Any], context: _Context) -> None:
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
                self._queue(inner, written, key, context.below(key))
            elif isinstance(inner, list) and inner and key == "items":  # a tuple before Draft 2020-12
                self._queue_list(inner, written, "prefixItems")
        for key in _LISTS:
            if key in source and isinstance(source[key], list) and source[key]:
                self._queue_list(source[key], written, key, context.below(key))
        for key in _MAPS:
            if key in source and isinstance(source[key], Mapping):
                fields = dict(self._shown(source[key])) if key == "properties" else source[key]
                written[key] = {}
                for name, inner in fields.items():
                    self._queue(inner, written[key], str(name))
        self._add_required(written, source, context.hidden)

    def _add_required(self, written: dict[str, Any], source: Mapping[str, Any], left_out: frozenset[str]) -> None:
        names = [name for name in as_list(source.get("required")) if isinstance(name, str)]
        hidden = left_out | (as_mapping(source.get("properties")).keys() - written.get("properties", {}).keys())
        required = [name for name in dict.fromkeys(names) if name not in hidden]
        if required:
            written["required"] = required

    def _shown(self, properties: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """The fields of one direction: not those that only the server, or only the caller, writes."""
        for name, schema in properties.items():
            if not states(schema, self._hidden, self._lookup):
                yield name, schema

    def _queue(self, schema: Any, holder: dict[str, Any], key: str, context: _Context = _ALONE) -> None:
        holder[key] = {}  # holds the place: the order of the fields is that of the source
        self._pending.append(_Pending(schema, holder, key, context))

    def _queue_list(self, schemas: list[Any], holder: dict[str, Any], key: str, context: _Context = _ALONE) -> None:
        places: list[Any] = [{} for _ in schemas]
        holder[key] = places
        for number, schema in enumerate(schemas):
            self._pending.append(_Pending(schema, places, number, context))

    def _name(self, ref: str) -> str:
        if ref not in self.names:
            stem = _stem(ref)
            name, number = stem, 2
            while name in self._defs:
                name, number = f"{stem}_{number}", number + 1
            self.names[ref] = name
            self._queue(self._lookup(ref), self._defs, name, _Context(inlined=frozenset((ref,))))
        return self.names[ref]


class _PartWriter(_Writer):
    """Writes a schema without what it refers to."""

    def _name(self, ref: str) -> str:
        return self.names.setdefault(ref, _stem(ref))


def _stem(ref: str) -> str:
    return re.sub(r"[^\w.-]+", "_", re.split("[/#]", ref.rstrip("/#"))[-1]).strip("_") or "schema"
