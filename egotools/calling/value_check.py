"""Whether a value is what its JSON Schema says: kinds, enums and required members, down into objects and lists."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from egotools.calling.legal_keys import source_names
from egotools.calling.schema_kinds import kind_of, kinds, required_parts
from egotools.client_errors import ToolRequestError

__all__ = ["ValueCheck"]

_SHOWN = 20
_SAYS_NO_MORE = frozenset({"type", "title", "description", "format", "example"})
_MAX_DEPTH = 100
_JSON_KINDS = frozenset({"string", "boolean", "integer", "number", "object", "array", "null", "file"})
_NUMBER = re.compile(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?\Z", re.ASCII)
_INTEGER = re.compile(r"^-?\d+\Z", re.ASCII)


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
        if depth > _MAX_DEPTH or kind == "file" or not self._is_sent(value, kind, path):
            return
        self._check_kind(value, kind, schema, path)
        for part in required_parts(schema, self.root):
            if kind in ("string", "boolean", "integer", "number"):
                _check_enum(value, part, path)
            elif kind == "object":
                self._check_members(value, part, path, depth)
            elif kind == "array" and isinstance(part.get("items"), Mapping) and not _are_texts(value, part["items"]):
                for number, item in enumerate(value):
                    self.check(item, part["items"], f"{path}[{number}]", depth + 1)
            for key in ("anyOf", "oneOf"):
                self._check_alternatives(value, kind, part.get(key), path, depth)

    def _is_sent(self, value: Any, kind: str, path: str) -> bool:
        """Return whether the value is one of JSON.

        :raises ToolRequestError: when it is not, and must be.
        """
        if kind not in _JSON_KINDS and not self.any_python:
            problem = f"a value of the type {kind} cannot be sent"
            raise ToolRequestError(problem, subject=path, remedy="Give a JSON value.")
        if isinstance(value, float) and not math.isfinite(value):
            raise ToolRequestError("the number is not finite", subject=path, remedy="Give a finite number.")
        return kind in _JSON_KINDS

    def _check_kind(self, value: Any, kind: str, schema: Any, path: str) -> None:
        allowed = kinds(schema, self.root) if schema is not None else None
        if not allowed or self._fits(value, kind, allowed):
            return
        known = allowed & _JSON_KINDS  # a schema may have any text in the place of a kind
        wanted = " or ".join(sorted(known - {"null"})) or ("null" if known else "value of any kind of JSON")
        problem = f"the value is {_article(kind)}, not {_article(wanted)}"
        raise ToolRequestError(problem, subject=path, remedy=f"Give {_article(wanted)}.")

    def _fits(self, value: Any, kind: str, allowed: frozenset[str]) -> bool:
        if kind in allowed or (kind == "integer" and "number" in allowed):
            return True
        return self.as_text and _same_as_text(value, kind, allowed)

    def _check_members(self, value: Mapping[str, Any], part: Mapping[str, Any], path: str, depth: int) -> None:
        stated = part.get("properties")
        properties: Mapping[str, Any] = stated if isinstance(stated, Mapping) else {}
        names = source_names(properties)
        if not self.all_optional:
            _check_required(value, part, properties, names, path)
        for key, inner in properties.items():
            if names[key] in value:
                self.check(value[names[key]], inner, f"{path}.{names[key]}", depth + 1)
        further = part.get("additionalProperties")
        if isinstance(further, Mapping) and "patternProperties" not in part:
            for name in value.keys() - set(names.values()):
                self.check(value[name], further, f"{path}.{name}", depth + 1)

    def _check_alternatives(self, value: Any, kind: str, branches: Any, path: str, depth: int) -> None:
        possible = []
        for branch in branches if isinstance(branches, list) else ():
            allowed = kinds(branch, self.root)
            if allowed is None or self._fits(value, kind, allowed):
                possible.append(branch)
        if len(possible) == 1:
            self.check(value, possible[0], path, depth + 1)


def _are_texts(value: Any, items: Mapping[str, Any]) -> bool:
    """Return whether a list of texts is wanted and given: one of many identifiers is checked at once."""
    return (
        items.get("type") == "string" and set(items) <= _SAYS_NO_MORE and all(isinstance(item, str) for item in value)
    )


def _check_enum(value: Any, part: Mapping[str, Any], path: str) -> None:
    values = part.get("enum") or ([part["const"]] if "const" in part else [])
    if not isinstance(values, list) or not values:
        return
    texts = [_text(each) for each in values]  # documents quote numbers, and leave words like true unquoted
    if _text(value) not in texts:
        more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        listed = ", ".join(text[:100] for text in texts[:_SHOWN])
        problem = "the value is none of those that the schema lists"
        raise ToolRequestError(problem, subject=path, remedy=f"Give one of: {listed}{more}.")


def _check_required(
    value: Mapping[str, Any],
    part: Mapping[str, Any],
    properties: Mapping[str, Any],
    names: Mapping[str, str],
    path: str,
) -> None:
    stated = part.get("required")
    keys = map(str, stated) if isinstance(stated, list | tuple) else ()
    needed = [key for key in keys if not _read_only(properties.get(key))]
    missing = [names.get(key, key) for key in needed if names.get(key, key) not in value]
    if missing:
        others = f" Also missing: {', '.join(missing[1:_SHOWN])}." if missing[1:] else ""
        problem = "this required member is missing"
        raise ToolRequestError(problem, subject=f"{path}.{missing[0]}", remedy=f"Give it.{others}")


def _read_only(schema: Any) -> bool:
    """Return whether a member belongs to answers only, also where it is required."""
    return isinstance(schema, Mapping) and schema.get("readOnly") is True


def _same_as_text(value: Any, kind: str, allowed: frozenset[str]) -> bool:
    """Return whether a value of another kind is written the same in a URL, a header or a form."""
    if kind in ("integer", "number", "boolean"):
        return "string" in allowed
    if kind == "string" and isinstance(value, str):
        numeric = ("integer" in allowed and _INTEGER.match(value)) or ("number" in allowed and _NUMBER.match(value))
        return bool(numeric) or ("boolean" in allowed and value in ("true", "false"))
    return False


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _article(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "aeiou" else f"a {noun}"
