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

ANY_NAME = "*"
"""The name of an :class:`~egotools.call.Argument` that stands for any further names."""
_MAX_KEY, _HASH_DIGITS = 64, 8
_MAX_PARTS = 200  # of a schema: its references and alternatives may stand for more than there is time for
_MAX_DEPTH = 100
_SHOWN, _LONGEST = 20, 100  # names and values in an error; characters of names that are compared
_ILLEGAL_IN_KEY = re.compile(r"[^a-zA-Z0-9_.-]+")
_KINDS = {str: "string", bool: "boolean", int: "integer", type(None): "null", bytes: "string"}
_UNTYPED = {"properties": "object", "items": "array", "pattern": "string", "minLength": "string", "maxLength": "string"}
_JSON_KINDS = frozenset({"string", "boolean", "integer", "number", "object", "array", "null", "file"})
_WRITTEN = {"integer": r"-?\d+", "number": r"-?\d+(\.\d+)?([eE][+-]?\d+)?", "boolean": "true|false"}
_DATES = {"date": "2026-03-31", "date-time": "2026-03-31T09:00:00Z"}  # servers take other forms too, but none in words
_AS_TEXT = frozenset({"path", "query", "header", "form", "filter"})
_CLOSED = ("http", "odata")
_ALTERNATIVES = ("allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas")


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
            key = f"{key[: _MAX_KEY - _HASH_DIGITS - 1] or 'field'}_{digest}"
        taken.add(key)
        keys[name] = key
    return keys


def source_names(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the map from every key under which a property may be given to its name in the source.

    :param properties: properties of a JSON Schema: those of the source, or those in which :func:`legal_keys` renamed some and
        left the name of the source as ``title``.
    """
    names = {}
    for key, schema in properties.items():
        title = schema.get("title") if isinstance(schema, Mapping) else None
        names[key] = key
        if isinstance(title, str) and not _is_legal(title):
            alone = legal_keys((title,))[title]  # or with digits, where that key was taken
            names[key] = title if key in (alone, legal_keys((alone, title))[title]) else key
    made = {key: name for name, key in legal_keys(names.values()).items()}
    return {**made, **names, **{name: name for name in names.values()}}


def _is_legal(name: str) -> bool:
    return 0 < len(name) <= _MAX_KEY and not _ILLEGAL_IN_KEY.search(name)


def required_parts(schema: Any, root: Any, keys: tuple[str, ...] = ("allOf",)) -> Iterator[Mapping[str, Any]]:
    """Yield the schema and all its parts under ``$ref`` and ``keys``, each once."""
    waiting, done = [schema], set[int]()
    for _ in range(_MAX_PARTS):
        if not waiting:
            return
        part = waiting.pop(0)
        if not isinstance(part, Mapping) or id(part) in done:
            continue
        done.add(id(part))
        yield part
        if isinstance(reference := part.get("$ref"), str):
            node = root if reference.startswith("#") else None
            for word in reference[1:].strip("/").split("/") if len(reference) > 1 else ():
                key = unquote(word).replace("~1", "/").replace("~0", "~")
                if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
                    node = node[int(key)]
                else:
                    node = node.get(key) if isinstance(node, Mapping) else None
            waiting.append(node)
        for value in map(part.get, keys):  # a list of schemas, one schema, or schemas by name
            waiting += [value, *value.values()] if isinstance(value, Mapping) else _list(value)


def properties_of(schema: Any, root: Any) -> dict[str, Any]:
    """Return the properties of an object, those of all parts and alternatives of its schema together.

    Of a property that several parts state the first counts; one that only alternatives state may be as any of them says.
    """
    found: dict[str, Any] = {}
    for part in required_parts(schema, root):
        for name, inner in _mapping(part.get("properties")).items():
            found.setdefault(str(name), inner)
    either: dict[str, list[Any]] = {}
    for part in required_parts(schema, root, _ALTERNATIVES):
        for name, inner in _mapping(part.get("properties")).items():
            if name not in found and inner not in either.setdefault(str(name), []):
                either[str(name)].append(inner)
    return {**found, **{name: each[0] if len(each) == 1 else {"anyOf": each} for name, each in either.items()}}


def items_of(schema: Any, root: Any) -> Any:
    """Return the schema of the items of a list, or None."""
    return next((part["items"] for part in required_parts(schema, root, _ALTERNATIVES) if "items" in part), None)


def kinds(schema: Any, root: Any) -> frozenset[str] | None:
    """Return the JSON types that a schema allows, whose references point into ``root``; None for any, or where 200 parts do not say it."""
    return _kinds(schema, root, frozenset(), [_MAX_PARTS])


def _kinds(schema: Any, root: Any, outer: frozenset[int], left: list[int]) -> frozenset[str] | None:
    """The kinds of a schema that stands in others, within ``left`` parts; one that is an alternative of itself says nothing."""
    allowed: frozenset[str] | None = None
    for part in required_parts(schema, root):
        left[0] -= 1
        if left[0] < 0:
            return None
        own = _own_kinds(part, root, outer | {id(part)}, left) if id(part) not in outer else None
        if own is not None:
            allowed = own if allowed is None else allowed & own
    return allowed


def _own_kinds(schema: Mapping[str, Any], root: Any, outer: frozenset[int], left: list[int]) -> frozenset[str] | None:
    allowed: frozenset[str] | None = None
    stated = schema.get("type")
    if isinstance(stated, str | list):
        allowed = frozenset([stated] if isinstance(stated, str) else map(str, stated))
    elif values := _listed(schema):
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


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _listed(schema: Mapping[str, Any]) -> list[Any]:
    """The values that a schema lists."""
    return _list(schema.get("enum")) or ([schema["const"]] if "const" in schema else [])


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueCheck:
    """How the values of one argument are checked: kinds, listed values, dates in words, required members, at any depth.

    Patterns and bounds are not checked: a regular expression of a document may take time without end.
    """

    root: Any  # the schema that local references (``#/$defs/…``) point into
    as_text: bool = False  # whether the request carries the value as text, where ``7`` and ``"7"`` are the same
    any_python: bool = False  # whether values of Python that JSON does not have can be sent
    all_optional: bool = False  # whether members that the schema requires may be absent, as under strict schemas

    def check(self, value: Any, schema: Any, path: str, depth: int = 0) -> None:
        """Check a value and all that is in it.

        :param schema: its schema; None where it is not known.
        :param path: what an error names it: ``amount.currency``, ``lines[0].quantity``.
        :raises ToolRequestError: for the first part that is of the wrong kind, none of its enum's values, or absent.
        """
        kind = kind_of(value)
        if depth > _MAX_DEPTH or kind == "file" or (self.any_python and kind not in _JSON_KINDS):
            return
        if kind not in _JSON_KINDS:
            raise ToolRequestError(f"a value of the type {kind} cannot be sent", path, "Give a JSON value.")
        if isinstance(value, float) and not math.isfinite(value):
            raise ToolRequestError("the number is not finite", path, "Give a finite number.")
        allowed = kinds(schema, self.root) if schema is not None else None
        if allowed and not self._fits(value, kind, allowed):
            known = allowed & _JSON_KINDS  # a schema may have any text in the place of a kind
            wanted = " or ".join(sorted(known - {"null"})) or ("null" if known else "value of any kind of JSON")
            problem = f"the value is {_article(kind)}, not {_article(wanted)}"
            raise ToolRequestError(problem, path, f"Give {_article(wanted)}.")
        for part in required_parts(schema, self.root):
            if kind == "object":
                properties = _mapping(part.get("properties"))
                names = source_names(properties)
                if not self.all_optional:
                    needed = [
                        key for key in _required(part) if _mapping(properties.get(key)).get("readOnly") is not True
                    ]
                    missing = [name for name in (names.get(key, key) for key in needed) if name not in value]
                    _raise_missing("this required member is missing", missing, f"{path}.")
                for key, inner in properties.items():
                    if names[key] in value:
                        self.check(value[names[key]], inner, f"{path}.{names[key]}", depth + 1)
            elif kind == "array" and isinstance(part.get("items"), Mapping):
                for number, item in enumerate(value):
                    self.check(item, part["items"], f"{path}[{number}]", depth + 1)
            elif kind not in ("array", "null"):
                texts = [_text(each) for each in _listed(part)]  # documents quote numbers, and leave true unquoted
                if texts and _text(value) not in texts:
                    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
                    shown = ", ".join(text[:_LONGEST] for text in texts[:_SHOWN])
                    problem = "the value is none of those that the schema lists"
                    raise ToolRequestError(problem, path, f"Give one of: {shown}{more}.")
                if part.get("format") in _DATES and isinstance(value, str) and value and not re.search(r"\d", value):
                    raise ToolRequestError("the value is no date", path, f"Write it as {_DATES[part['format']]}.")
            for key in ("anyOf", "oneOf"):
                branches = [(branch, kinds(branch, self.root)) for branch in _list(part.get(key))]
                possible = [branch for branch, own in branches if own is None or self._fits(value, kind, own)]
                if len(possible) == 1:  # where the kind leaves several, the server says which it is
                    self.check(value, possible[0], path, depth + 1)

    def _fits(self, value: Any, kind: str, allowed: frozenset[str]) -> bool:
        if kind in allowed or (kind == "integer" and "number" in allowed):
            return True
        if not self.as_text:
            return False
        if kind in _WRITTEN:
            return "string" in allowed
        patterns = [pattern for written, pattern in _WRITTEN.items() if written in allowed]
        return isinstance(value, str) and any(re.fullmatch(pattern, value, re.ASCII) for pattern in patterns)


def _raise_missing(problem: str, missing: Sequence[str], start: str = "") -> None:
    if missing:
        others = f" Also missing: {', '.join(missing[1:_SHOWN])}." if missing[1:] else ""
        raise ToolRequestError(problem, f"{start}{missing[0]}", f"Give it.{others}")


def _required(schema: Mapping[str, Any]) -> list[str]:
    return list(map(str, _list(schema.get("required"))))


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _article(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "aeiou" else f"a {noun}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedArgument:
    """One value, and where the call carries it."""

    argument: Argument
    value: Any
    schema: Any = None  # the JSON Schema of the value; None where it is not known

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
    properties = properties_of(schema, schema)
    known = set(source_names(properties).values())
    names = source_names({**properties, **{each.name: {} for each in call.arguments if each.name not in known}})
    schemas = {names[key]: inner for key, inner in properties.items()}

    def members(
        given: Mapping[str, Any], names: Mapping[str, str], schemas: Mapping[str, Any], depth: int
    ) -> dict[str, Any]:
        """The members of an object under their names of the source, without nulls that mean that one is absent."""
        found: dict[str, Any] = {}
        for key, member in given.items():
            name = names.get(str(key), str(key))
            if name in found:
                problem = "it is given twice, also under the name that model runtimes accept"
                raise ToolRequestError(problem, name, "Give it once.")
            inner, takes_null = schemas.get(name), depth > 0  # one without a schema, inside of another value
            if member is None and inner is not None:
                allowed = kinds(inner, schema)
                takes_null = not null_is_absent and (allowed is None or "null" in allowed)
            if member is not None or takes_null:
                found[name] = named(member, inner, depth)
        return found

    def named(value: Any, own: Any, depth: int) -> Any:
        """A value whose members have the names of the source."""
        if depth > _MAX_DEPTH:
            problem = f"a value is nested more than {_MAX_DEPTH} levels deep"
            raise ToolRequestError(problem, "arguments", "Nest it less deep.")
        if isinstance(value, Mapping):
            properties = properties_of(own, schema)
            names = source_names(properties)
            return members(value, names, {names[key]: inner for key, inner in properties.items()}, depth + 1)
        if kind_of(value) == "array":
            items = items_of(own, schema)
            return [named(inner, items, depth + 1) for inner in value]
        return value

    given = members(arguments, names, schemas, 0)
    places = {each.name: each for each in call.arguments}
    further = places.pop(ANY_NAME, None)
    unknown = given.keys() - places.keys()
    if further is None and unknown and (places or call.protocol in _CLOSED):
        name, known_names = min(unknown), list(places)
        close = difflib.get_close_matches(name[:_LONGEST], [each for each in known_names if len(each) <= _LONGEST], n=3)
        hint = f"Did you mean {' or '.join(close)}? " if close else ""
        listed = ", ".join(sorted(known_names)[:_SHOWN]) + (", …" if len(known_names) > _SHOWN else "")
        remedy = f"{hint}It takes: {listed or 'none'}."
        raise ToolRequestError("the tool takes no such argument", name[:200], remedy)
    needed = [] if null_is_absent else [names.get(key, key) for key in _required(schema)]
    needed += [each.name for each in call.arguments if each.location == "path"]
    missing = [name for name in dict.fromkeys(needed) if name not in given]
    place = next((each.location for each in call.arguments if each.name in missing[:1]), "argument")
    _raise_missing(f"this required argument{f' of the {place}' if place != 'argument' else ''} is missing", missing)
    chosen = {name: place for name, place in places.items() if name in given}
    chosen |= {name: replace(further or Argument(name=ANY_NAME), name=name) for name in given if name not in places}
    placed = [PlacedArgument(argument=chosen[n], value=given[n], schema=schemas.get(n)) for n in chosen]
    check = ValueCheck(root=schema, any_python=call.protocol in ("aws", "python"), all_optional=null_is_absent)
    for each in placed:
        one = replace(check, as_text=each.argument.location in _AS_TEXT)
        several = each.argument.location == "filter" and kind_of(each.value) == "array"  # one of several values
        for value in each.value if several else [each.value]:
            one.check(value, each.schema, each.argument.name)
    return tuple(placed)
