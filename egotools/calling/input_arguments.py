"""The arguments that a model gives, under the names of the source, each with its place in the call."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from egotools.call import Argument, Call
from egotools.client_errors import ToolRequestError

_MAX_KEY = 64
_HASH_DIGITS = 8
_ILLEGAL_IN_KEY = re.compile(r"[^a-zA-Z0-9_.-]+")


def legal_keys(names: Iterable[str]) -> dict[str, str]:
    """Return the map from name to legal key: the name itself where it is legal, else made legal, with hash digits where that key is taken.

    A legal key has 1 to 64 characters of ``a-z A-Z 0-9 _ . -``.
    """
    names = list(names)
    keys = {name: name for name in names if _is_legal(name)}
    taken = set(keys)
    for name in names:
        if name in keys:
            continue
        key = _ILLEGAL_IN_KEY.sub("_", name).strip("_")[:_MAX_KEY]
        if not key or key in taken:
            digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_HASH_DIGITS]
            key = f"{key[: _MAX_KEY - _HASH_DIGITS - 1]}_{digest}" if key else f"field_{digest}"
        taken.add(key)
        keys[name] = key
    return keys


def source_names(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the map from every key under which a property may be given to its name in the source.

    :param properties: properties of a JSON Schema: those of the source, or those in which :func:`legal_keys` renamed some and
        left the name of the source as ``title``.
    """
    names = {key: _source_name(key, schema) for key, schema in properties.items()}
    made = {key: name for name, key in legal_keys(names.values()).items()}
    return {**made, **names, **{name: name for name in names.values()}}


def _source_name(key: str, schema: Any) -> str:
    title = schema.get("title") if isinstance(schema, Mapping) else None
    if not isinstance(title, str) or _is_legal(title):
        return key
    alone = legal_keys((title,))[title]  # or with digits, where that key was taken
    return title if key in (alone, legal_keys((alone, title))[title]) else key


def _is_legal(name: str) -> bool:
    return 0 < len(name) <= _MAX_KEY and not _ILLEGAL_IN_KEY.search(name)


_MAX_PARTS = 200
_KINDS = {str: "string", bool: "boolean", int: "integer", type(None): "null", bytes: "string"}
_UNTYPED = {"properties": "object", "items": "array", "pattern": "string", "minLength": "string", "maxLength": "string"}


def kind_of(value: Any) -> str:
    """Return the JSON type of a value (``integer`` also for 2.0, ``string`` for bytes); ``file`` for a file; else the Python type's name."""
    if isinstance(value, tuple) and len(value) == 3 and isinstance(value[1], bytes):
        return "file"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    if isinstance(value, Mapping):
        return "object"
    if isinstance(value, list | tuple):
        return "array"
    return _KINDS.get(type(value), type(value).__name__)


def kinds(schema: Any, root: Any) -> frozenset[str] | None:
    """Return the JSON types that a schema allows; None where it allows any, or does not say within 200 parts.

    :param root: the schema that local references (``#/$defs/…``) point into.
    """
    return _kinds(schema, root, frozenset(), [_MAX_PARTS])


def resolved(schema: Any, root: Any) -> Mapping[str, Any]:
    """Return the schema itself, or what it refers to; empty where that is no object or stands elsewhere."""
    for _ in range(_MAX_PARTS):
        if not isinstance(schema, Mapping):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        schema = _pointed_at(reference, root)
    return {}


def required_parts(schema: Any, root: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the schema and all its parts under ``$ref`` and ``allOf``, each once."""
    yield from _parts(schema, root, ("allOf",))


def properties_of(schema: Any, root: Any) -> dict[str, Any]:
    """Return the properties of an object, those of all parts and alternatives of its schema together.

    Of a property that several parts state the first counts; one that only alternatives state may be as any of them says.
    """
    found: dict[str, Any] = {}
    for name, inner in _stated(required_parts(schema, root)):
        found.setdefault(name, inner)
    alternatives: dict[str, list[Any]] = {}
    for name, inner in _stated(_all_parts(schema, root)):
        known = alternatives.setdefault(name, [])
        known += [inner] if name not in found and inner not in known else []
    for name, inners in alternatives.items():
        if name not in found:
            title = {key: inners[0][key] for key in ("title",) if isinstance(inners[0], Mapping) and key in inners[0]}
            found[name] = inners[0] if len(inners) == 1 else {**title, "anyOf": inners}
    return found


def items_of(schema: Any, root: Any) -> Any:
    """Return the schema of the items of a list, or None."""
    return next((part["items"] for part in _all_parts(schema, root) if "items" in part), None)


def _kinds(schema: Any, root: Any, outer: frozenset[int], left: list[int]) -> frozenset[str] | None:
    """The kinds of a schema that stands in others; a schema that is an alternative of itself says nothing.

    :param left: parts that are still looked at: alternatives that share parts can stand for more than there is time for.
    """
    allowed: frozenset[str] | None = None
    for part in required_parts(schema, root):
        left[0] -= 1
        if left[0] < 0:
            return None
        own = _own_kinds(part, root, outer | {id(part)}, left) if id(part) not in outer else None
        allowed = own if allowed is None else allowed if own is None else allowed & own
    return allowed


def _own_kinds(schema: Mapping[str, Any], root: Any, outer: frozenset[int], left: list[int]) -> frozenset[str] | None:
    allowed: frozenset[str] | None = None
    stated = schema.get("type")
    if isinstance(stated, str):
        allowed = frozenset({stated})
    elif isinstance(stated, list):
        allowed = frozenset(map(str, stated))
    elif values := schema.get("enum") or ([schema["const"]] if "const" in schema else []):
        allowed = frozenset(map(kind_of, values))
    elif inferred := {kind for key, kind in _UNTYPED.items() if key in schema}:
        allowed = frozenset(inferred)
    if allowed is not None and schema.get("nullable") is True:
        allowed |= {"null"}
    for key in ("anyOf", "oneOf"):
        branches = [_kinds(branch, root, outer, left) for branch in _list(schema.get(key))]
        known = [branch for branch in branches if branch is not None]
        if branches and len(known) == len(branches):
            union = frozenset[str]().union(*known)
            allowed = union if allowed is None else allowed | union if "null" in union else allowed
    return allowed


def _stated(parts: Iterator[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    for part in parts:
        properties = part.get("properties")
        for name, inner in properties.items() if isinstance(properties, Mapping) else ():
            yield str(name), inner


def _all_parts(schema: Any, root: Any) -> Iterator[Mapping[str, Any]]:
    yield from _parts(schema, root, ("allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas"))


def _parts(schema: Any, root: Any, keys: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    waiting, seen = [schema], 0
    done: set[int] = set()
    while waiting and seen < _MAX_PARTS:
        part = waiting.pop(0)
        seen += 1
        if not isinstance(part, Mapping) or id(part) in done:
            continue
        done.add(id(part))
        yield part
        if isinstance(part.get("$ref"), str):
            waiting.append(_pointed_at(part["$ref"], root))
        waiting += [branch for key in keys for branch in _schemas(part.get(key))]


def _pointed_at(reference: str, root: Any) -> Any:
    if not reference.startswith("#"):
        return None
    node = root
    for word in reference[1:].strip("/").split("/") if len(reference) > 1 else ():
        key = unquote(word).replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = node.get(key)
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node


def _schemas(value: Any) -> list[Any]:
    """The schemas under a keyword: those of a list, those of a map by name, or the one."""
    if isinstance(value, list) or not isinstance(value, Mapping):
        return _list(value)
    return [value, *(inner for inner in value.values() if isinstance(inner, Mapping))]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


_SHOWN = 20
_SAYS_NO_MORE = frozenset({"type", "title", "description", "format", "example"})
_MAX_DEPTH = 100
_JSON_KINDS = frozenset({"string", "boolean", "integer", "number", "object", "array", "null", "file"})
_WRITTEN = {"integer": r"-?\d+", "number": r"-?\d+(\.\d+)?([eE][+-]?\d+)?", "boolean": "true|false"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueCheck:
    """How the values of one argument are checked.

    Alternatives (``anyOf``, ``oneOf``) are checked where the kind of the value leaves one of them, and accepted otherwise.
    Patterns and bounds are not checked: a regular expression of a document may take time without end.

    :param root: the schema that local references (``#/$defs/…``) point into.
    :param as_text: whether the request carries the value as text, where ``7`` and ``"7"`` are the same.
    :param any_python: whether values of Python that JSON does not have can be sent.
    :param all_optional: whether members that the schema requires may be absent, as under strict schemas.
    """

    root: Any
    as_text: bool = False
    any_python: bool = False
    all_optional: bool = False

    def check(self, value: Any, schema: Any, path: str, depth: int = 0) -> None:
        """Check a value and all that is in it.

        :param schema: its schema; None where it is not known.
        :param path: what an error names it: ``amount.currency``, ``lines[0].quantity``.
        :raises ToolRequestError: for the first part that is of the wrong kind, none of its enum's values, or absent.
        """
        kind = kind_of(value)
        if depth > _MAX_DEPTH or kind == "file":
            return
        if kind not in _JSON_KINDS:
            if not self.any_python:
                raise ToolRequestError(f"a value of the type {kind} cannot be sent", path, "Give a JSON value.")
            return
        if isinstance(value, float) and not math.isfinite(value):
            raise ToolRequestError("the number is not finite", path, "Give a finite number.")
        allowed = kinds(schema, self.root) if schema is not None else None
        if allowed and not self._fits(value, kind, allowed):
            known = allowed & _JSON_KINDS  # a schema may have any text in the place of a kind
            wanted = _article(
                " or ".join(sorted(known - {"null"})) or ("null" if known else "value of any kind of JSON")
            )
            raise ToolRequestError(f"the value is {_article(kind)}, not {wanted}", path, f"Give {wanted}.")
        for part in required_parts(schema, self.root):
            items = part.get("items")
            if kind == "object":
                self._check_members(value, part, path, depth)
            elif kind == "array" and isinstance(items, Mapping) and not _are_texts(value, items):
                for number, item in enumerate(value):
                    self.check(item, items, f"{path}[{number}]", depth + 1)
            elif kind not in ("array", "null"):
                _check_enum(value, part, path)
            for branches in (_list(part.get("anyOf")), _list(part.get("oneOf"))):
                of_each = [(branch, kinds(branch, self.root)) for branch in branches]
                possible = [branch for branch, own in of_each if own is None or self._fits(value, kind, own)]
                if len(possible) == 1:
                    self.check(value, possible[0], path, depth + 1)

    def _fits(self, value: Any, kind: str, allowed: frozenset[str]) -> bool:
        if kind in allowed or (kind == "integer" and "number" in allowed):
            return True
        return self.as_text and _same_as_text(value, kind, allowed)

    def _check_members(self, value: Mapping[str, Any], part: Mapping[str, Any], path: str, depth: int) -> None:
        stated = part.get("properties")
        properties: Mapping[str, Any] = stated if isinstance(stated, Mapping) else {}
        names = source_names(properties)
        if not self.all_optional:
            needed = [key for key in _required(part) if resolved(properties.get(key), {}).get("readOnly") is not True]
            missing = [name for name in (names.get(key, key) for key in needed) if name not in value]
            _raise_missing("this required member is missing", missing, f"{path}.")
        for key, inner in properties.items():
            if names[key] in value:
                self.check(value[names[key]], inner, f"{path}.{names[key]}", depth + 1)
        further = part.get("additionalProperties")
        if isinstance(further, Mapping) and "patternProperties" not in part:
            for name in value.keys() - set(names.values()):
                self.check(value[name], further, f"{path}.{name}", depth + 1)


def _are_texts(value: Any, items: Mapping[str, Any]) -> bool:
    """Whether a list of texts is wanted and given: one of many identifiers is checked at once."""
    plain = items.get("type") == "string" and set(items) <= _SAYS_NO_MORE
    return plain and all(isinstance(item, str) for item in value)


def _check_enum(value: Any, part: Mapping[str, Any], path: str) -> None:
    values = part.get("enum") or ([part["const"]] if "const" in part else [])
    if not isinstance(values, list) or not values:
        return
    texts = [_text(each) for each in values]  # documents quote numbers, and leave words like true unquoted
    if _text(value) not in texts:
        more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        listed = ", ".join(text[:100] for text in texts[:_SHOWN])
        problem = "the value is none of those that the schema lists"
        raise ToolRequestError(problem, path, f"Give one of: {listed}{more}.")


def _raise_missing(problem: str, missing: Sequence[str], start: str = "") -> None:
    if missing:
        others = f" Also missing: {', '.join(missing[1:_SHOWN])}." if missing[1:] else ""
        raise ToolRequestError(problem, f"{start}{missing[0]}", f"Give it.{others}")


def _same_as_text(value: Any, kind: str, allowed: frozenset[str]) -> bool:
    """Whether a value of another kind is written the same in a URL, a header or a form."""
    if kind in ("integer", "number", "boolean"):
        return "string" in allowed
    return isinstance(value, str) and any(
        re.fullmatch(pattern, value, re.ASCII) for written, pattern in _WRITTEN.items() if written in allowed
    )


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _article(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "aeiou" else f"a {noun}"


ANY_NAME = "*"
"""The name of an :class:`~egotools.call.Argument` that stands for any further names."""

_LONGEST = 100  # characters of names that are compared

_AS_TEXT = frozenset({"path", "query", "header", "form", "filter"})
_CLOSED = frozenset({"http", "odata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedArgument:
    """One value, and where the call carries it.

    :param schema: the JSON Schema of the value; None where it is not known.
    """

    argument: Argument
    value: Any
    schema: Any = None

    @property
    def wire_name(self) -> str:
        """Its name in the request."""
        return self.argument.wire_name or self.argument.name


def place_arguments(
    call: Call, arguments: Mapping[str, Any], schema: Mapping[str, Any], *, null_is_absent: bool = False
) -> tuple[PlacedArgument, ...]:
    """Find the place of every argument, in the order of the call; absent ones are left out.

    :param schema: the JSON Schema of the arguments; empty where it is not known.
    :param null_is_absent: whether ``null`` always means that an argument is absent, as under schemas that require every property.
    :raises ToolRequestError: for an unknown argument, a missing one, and a value that its schema does not allow, also inside
        of objects and lists.
    """
    if not isinstance(arguments, Mapping):
        problem = f"the arguments are {_article(kind_of(arguments))}, not an object"
        raise ToolRequestError(problem, "arguments", "Give a mapping of names to values.")
    names, schemas = _names_and_schemas(call, schema)
    given = _given(arguments, names, schemas, schema, null_is_absent)
    places = {each.name: each for each in call.arguments}
    further = places.pop(ANY_NAME, None)
    if further is None and (places or call.protocol in _CLOSED):
        unknown = set(given) - set(places)
        if unknown:
            raise _unknown(min(unknown), list(places))
    needed = [] if null_is_absent else [names.get(key, key) for key in _required(schema)]
    needed += [each.name for each in call.arguments if each.location == "path"]
    missing = [name for name in dict.fromkeys(needed) if name not in given]
    place = next((each.location for each in call.arguments if each.name in missing[:1]), "argument")
    where = f" of the {place}" if place != "argument" else ""
    _raise_missing(f"this required argument{where} is missing", missing)
    placed = [
        PlacedArgument(argument=place, value=given[name], schema=schemas.get(name))
        for name, place in places.items()
        if name in given
    ]
    further = further or Argument(name=ANY_NAME)
    placed += [
        PlacedArgument(argument=replace(further, name=name), value=value)
        for name, value in given.items()
        if name not in places
    ]
    check = ValueCheck(root=schema, any_python=call.protocol in ("aws", "python"), all_optional=null_is_absent)
    for each in placed:
        one = replace(check, as_text=each.argument.location in _AS_TEXT)
        several = each.argument.location == "filter" and kind_of(each.value) == "array"  # one of several values
        for value in each.value if several else [each.value]:
            one.check(value, each.schema, each.argument.name)
    return tuple(placed)


def _names_and_schemas(call: Call, schema: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the map from every key of an argument to its name in the source, and the schema of each name."""
    properties = properties_of(schema, schema)
    known = set(source_names(properties).values())
    names = source_names({**properties, **{each.name: {} for each in call.arguments if each.name not in known}})
    return names, {names[key]: inner for key, inner in properties.items()}


def _given(
    arguments: Mapping[str, Any],
    names: Mapping[str, str],
    schemas: Mapping[str, Any],
    root: Mapping[str, Any],
    null_is_absent: bool,
) -> dict[str, Any]:
    """Return the arguments by their names in the source, without those that are absent."""
    given: dict[str, Any] = {}
    for key, value in arguments.items():
        name = names.get(str(key), str(key))
        if name in given:
            problem = "it is given twice, also under the name that model runtimes accept"
            raise ToolRequestError(problem, name, "Give it once.")
        if value is None and (null_is_absent or not _takes_null(schemas.get(name), root)):
            continue
        given[name] = _restored(value, schemas.get(name), root, null_is_absent, 0)
    return given


def _takes_null(schema: Any, root: Any) -> bool:
    if schema is None:
        return False
    allowed = kinds(schema, root)
    return allowed is None or "null" in allowed


def _restored(value: Any, schema: Any, root: Any, null_is_absent: bool, depth: int) -> Any:
    """Return the value with the property names of the source, and without nulls that mean that a property is absent."""
    if depth > _MAX_DEPTH:
        problem = f"a value is nested more than {_MAX_DEPTH} levels deep"
        raise ToolRequestError(problem, "arguments", "Nest it less deep.")
    if isinstance(value, Mapping):
        properties = properties_of(schema, root)
        names = source_names(properties)
        by_name = {names[key]: inner for key, inner in properties.items()}
        found = {}
        for key, inner in value.items():
            name = names.get(str(key), str(key))
            known = by_name.get(name)
            if inner is None and known is not None and (null_is_absent or not _takes_null(known, root)):
                continue
            found[name] = _restored(inner, known, root, null_is_absent, depth + 1)
        return found
    if kind_of(value) == "array":
        items = items_of(schema, root)
        return [_restored(inner, items, root, null_is_absent, depth + 1) for inner in value]
    return value


def _unknown(name: str, known: list[str]) -> ToolRequestError:
    close = difflib.get_close_matches(name[:_LONGEST], [each for each in known if len(each) <= _LONGEST], n=3)
    hint = f"Did you mean {' or '.join(close)}? " if close else ""
    listed = ", ".join(sorted(known)[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
    return ToolRequestError("the tool takes no such argument", name[:200], f"{hint}It takes: {listed or 'none'}.")


def _required(schema: Mapping[str, Any]) -> list[str]:
    stated = schema.get("required")
    return list(map(str, stated)) if isinstance(stated, list | tuple) else []
