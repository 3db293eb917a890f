"""A JSON Schema that stands alone: Draft 2020-12, what it refers to under ``$defs``, nothing else changed.

Schemas are taken breadth first up to :data:`MAX_SCHEMAS`; what lies beyond accepts any value, so that every value the source accepts
stays valid.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from ingest.sources.json_schema.schema import Lookup, parts_of, states
from ingest.sources.source import as_list, as_mapping, as_number
from ontology.json_values import JsonObject, canonical_text, json_type, typed_values

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
    **dict.fromkeys(("title", "description", "format", "pattern", "contentEncoding", "contentMediaType"), str),
    **dict.fromkeys(("enum", "examples"), list),
    **dict.fromkeys(("const", "default"), object),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), _NUMBER),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), int),
    **dict.fromkeys(("uniqueItems", "deprecated"), bool),
}
_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_SCALARS: Mapping[str, Any] = {"string": str, "integer": _NUMBER, "number": _NUMBER, "boolean": bool}
_VALUES = frozenset(("default", "const", "enum", "examples"))
_COMBINED = ("$ref", "allOf", "anyOf", "oneOf", "prefixItems")


def _stated_keywords(source: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a schema that hold no schemas, in the dialect of Draft 2020-12."""
    written = {key: value for key, value in source.items() if key in _KEPT and isinstance(value, _KEPT[key])}
    for key in source.keys() & _KEPT.keys() if len(written) < len(source) else ():
        kind = _KEPT[key]  # bounds may be written as text: "maximum": "50"
        number = as_number(source[key]) if isinstance(source[key], str) and kind in (_NUMBER, int) else None
        if number is not None and (kind is not int or (isinstance(number, int) and number >= 0)):
            written[key] = number
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
    for key in ("type", "enum"):  # no value at all is never meant
        if not written.get(key, True):
            written.pop(key)
    if not _VALUES.isdisjoint(written):
        _type_values(written)
    return written


def _type_values(written: dict[str, Any]) -> None:
    """Give allowed values, default and examples the one stated type; where allowed values cannot have it, they count alone."""
    named = [name for name in _types(written) if name != "null"]
    if len(named) != 1 or named[0] not in _SCALARS:
        return
    type_ = named[0]
    for key in ("default", "const"):
        if key in written:
            written[key] = _typed(written[key], type_)
    for key in ("enum", "examples"):
        if key in written:
            typed = [_typed(each, type_) for each in written[key]]
            written[key] = list({json.dumps(each, default=str): each for each in typed}.values())
    for value in (*written.get("enum", ()), *([written["const"]] if "const" in written else [])):
        fits = isinstance(value, _SCALARS[type_]) and isinstance(value, bool) == (type_ == "boolean")
        if value is not None and not fits:
            del written["type"]
            return


def _types(written: Mapping[str, Any]) -> list[Any]:
    type_ = written.get("type")
    return type_ if isinstance(type_, list) else [type_]


def _typed(value: Any, type_: str) -> Any:
    if isinstance(value, str):
        return value if type_ == "string" else typed_values((value,), type_)[0]
    return json.dumps(value) if type_ == "string" and isinstance(value, (bool, int, float)) else value


def _with_values_of_items(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a list whose allowed values, where they are those of its items, stand at these."""
    if "enum" not in source or source.get("type") != "array":  # most are
        return source
    values, items = source["enum"], source.get("items", {})
    if not isinstance(values, list) or not isinstance(items, Mapping) or any(isinstance(each, list) for each in values):
        return source
    return {**{key: value for key, value in source.items() if key != "enum"}, "items": {"enum": values, **items}}


def _with_null(written: dict[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """The schema that takes null too where the source says ``nullable``."""
    if source.get("nullable") is not True and source.get("x-nullable") is not True:
        return written
    if isinstance(written.get("enum"), list) and None not in written["enum"]:
        written["enum"] = [*written["enum"], None]
    if "type" in written:
        types = _types(written)
        written["type"] = [*types, *(["null"] if "null" not in types else [])]
    elif any(key in written for key in _COMBINED):
        stated = [key for key in ("title", "description", "default", "examples") if key in written]
        outer: dict[str, Any] = {key: written.pop(key) for key in stated}
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


class SelfContained(NamedTuple):
    """A schema without references to the outside."""

    schema: JsonObject
    cut: bool = False  # whether the limit left something out


class _Context(NamedTuple):
    """What the schema around a part of it says of the same value."""

    hidden: frozenset[str] = frozenset()  # the fields that it leaves out, which the part then cannot require
    inlined: frozenset[str] = frozenset()  # the references that are written out around the part
    conjunct: bool = True  # whether the value fulfils the part: not where it is an alternative

    def below(self, key: str) -> _Context:
        if key not in _SAME_VALUE:
            return _ALONE
        return self if key == "allOf" else self._replace(conjunct=False)


_ALONE = _Context()


class _Definition(NamedTuple):
    """What a reference stands for: its text as JSON, the references in it, and the number of its own schemas and subschemas."""

    text: str
    refs: tuple[str, ...]
    taken: int


class Definitions:
    """The definitions of one document, each converted once, and under one name, for all schemas that refer to it."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self._known: dict[tuple[str, str], _Definition] = {}

    def name(self, ref: str) -> str:
        """The name of a definition: the last part of its reference, and a number where another one has this name."""
        if ref not in self._names:
            stem = re.sub(r"[^\w.-]+", "_", re.split("[/#]", ref.rstrip("/#"))[-1]).strip("_") or "schema"
            name, number = stem, 2
            while name in self._taken:
                name, number = f"{stem}_{number}", number + 1
            self._names[ref] = name
            self._taken.add(name)
        return self._names[ref]

    def of(self, ref: str, hidden: str) -> _Definition:
        """What a reference stands for, without the fields that are ``hidden``; raises DocumentError where it leads nowhere."""
        key = (ref, hidden)
        if key not in self._known:
            writer = _Writer(self, hidden)
            written = writer.write(self.lookup(ref), _Context(inlined=frozenset((ref,))))
            self._known[key] = _Definition(schema_text(written), tuple(writer.refs), writer.taken)
        return self._known[key]


def self_contained(
    schema: Any, lookup: Lookup, *, output: bool = False, definitions: Definitions | None = None
) -> SelfContained:
    """The schema with everything it refers to: of answers (``output``) without ``writeOnly`` fields, of requests without ``readOnly`` ones."""
    definitions = definitions or Definitions(lookup)
    hidden = "writeOnly" if output else "readOnly"
    writer = _Writer(definitions, hidden)
    seen: set[str] = set()
    while isinstance(schema, Mapping) and isinstance(ref := schema.get("$ref"), str) and ref not in seen:
        seen.add(ref)  # without a reference around it: it says itself what it is
        schema = {**lookup(ref), **{key: value for key, value in schema.items() if key != "$ref"}}
    top = writer.write(schema)
    taken, cut, pending = writer.taken, writer.taken > MAX_SCHEMAS, deque(writer.refs)
    texts: dict[str, str] = {}
    while pending:
        name = definitions.name(ref := pending.popleft())
        if name in texts:
            continue
        found = definitions.of(ref, hidden) if not cut else _Definition("{}", (), 0)
        taken += found.taken
        if taken > MAX_SCHEMAS:
            cut, found = True, _Definition("{}", (), 0)
        texts[name] = found.text
        pending.extend(found.refs)
    return SelfContained(JsonObject(schema_text(top if isinstance(top, dict) else {}), texts), cut)


class _Writer:
    """Writer of one schema without what it refers to; ``refs`` are its references, ``taken`` counts its schemas."""

    def __init__(self, definitions: Definitions, hidden: str) -> None:
        self._definitions = definitions
        self._lookup = definitions.lookup
        self._hidden = hidden
        # Schemas, and their places in the result: a key of an object or an index of a list.
        self._pending: deque[tuple[Any, Any, str | int, _Context]] = deque()
        self.refs: dict[str, None] = {}
        self.taken = 0

    def write(self, schema: Any, context: _Context = _ALONE) -> Any:
        holder: dict[str, Any] = {}
        self._queue(schema, holder, "top", context)
        while self._pending:
            source, into, place, context = self._pending.popleft()
            self.taken += 1
            into[place] = self._converted(source, context) if self.taken <= MAX_SCHEMAS else {}
        return holder["top"]

    def _converted(self, source: Any, context: _Context) -> Any:
        if not isinstance(source, (dict, Mapping)):
            return source is not False  # true and false are schemas; anything else states nothing
        if context is not _ALONE or not _PARTS.isdisjoint(source) or ("$ref" in source and "required" in source):
            source, context = self._in_context(source, context)
        source = _with_values_of_items(source)
        written = _stated_keywords(source)
        if not _NESTED.isdisjoint(source):
            self._add_nested(written, source, context)
        return _with_null(written, source)

    def _in_context(self, source: Mapping[str, Any], outer: _Context) -> tuple[Mapping[str, Any], _Context]:
        """The schema and the context of its parts, a reference written out where its target requires what is left out, or leads back."""
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
        if leads_back or (context.hidden and (self._required(target) & context.hidden) - self._left_out(target)):
            own = {**own, "allOf": [target, *as_list(own.get("allOf"))]}
            return own, context._replace(inlined=outer.inlined | {ref})
        return source, context

    def _required(self, source: Any) -> set[str]:
        parts = parts_of(source, self._lookup, _SAME_VALUE)
        return {name for part in parts for name in as_list(part.get("required")) if isinstance(name, str)}

    def _left_out(self, source: Any) -> frozenset[str]:
        """The fields that a schema requires and that it or one of its parts leaves out."""
        required = self._required(source)
        stated = (as_mapping(part.get("properties")) for part in parts_of(source, self._lookup, _SAME_VALUE))
        return frozenset(
            name
            for properties in (stated if required else ())
            for name in required & properties.keys()
            if states(properties[name], self._hidden, self._lookup)
        )

    def _add_nested(self, written: dict[str, Any], source: Mapping[str, Any], context: _Context) -> None:
        """Add the reference, the subschemas, which are written later, and the names of required fields."""
        if isinstance(ref := source.get("$ref"), str):
            self.refs.setdefault(ref)
            written["$ref"] = f"#/$defs/{self._definitions.name(ref)}"
        for key in filter(source.__contains__, _ONE):
            inner = source[key]
            if isinstance(inner, bool) and key == "additionalProperties":
                written[key] = inner
            elif isinstance(inner, Mapping):
                self._queue(inner, written, key, context.below(key))
            elif isinstance(inner, list) and inner and key == "items":  # a tuple before Draft 2020-12
                self._queue_list(inner, written, "prefixItems", _ALONE)
        for key in _LISTS:
            if inner := as_list(source.get(key)):
                self._queue_list(inner, written, key, context.below(key))
        for key in _MAPS:
            if isinstance(fields := source.get(key), Mapping):
                written[key] = {}
                for name, inner in fields.items():
                    # not what only the server, or only the caller, writes
                    if key != "properties" or not states(inner, self._hidden, self._lookup):
                        self._queue(inner, written[key], str(name))
        hidden = context.hidden | (as_mapping(source.get("properties")).keys() - written.get("properties", {}).keys())
        names = dict.fromkeys(name for name in as_list(source.get("required")) if isinstance(name, str))
        if required := [name for name in names if name not in hidden]:
            written["required"] = required

    def _queue(self, schema: Any, holder: Any, key: str | int, context: _Context = _ALONE) -> None:
        holder[key] = {}  # holds the place: the order of the fields is that of the source
        self._pending.append((schema, holder, key, context))

    def _queue_list(self, schemas: list[Any], holder: dict[str, Any], key: str, context: _Context) -> None:
        holder[key] = [{} for _ in schemas]
        for number, schema in enumerate(schemas):
            self._queue(schema, holder[key], number, context)
