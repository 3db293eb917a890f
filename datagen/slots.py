"""Slots of a path: the inputs that a request states, each with the kind of its value and a sample value.

An input is a slot where a call needs it and nothing else gives it: it is required, no tool of the path fills it, it has no default
and is no context parameter. Some optional inputs are slots too, because people say them; a writer may leave those out.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from datagen.catalogue import FINDING_ACTIONS, ProfiledCatalogue, is_paging, word_set
from datagen.requests import ToolPath
from ingest.linking import ToolProfile, type_family
from ontology.files import read_yaml
from ontology.names import words
from ontology.tool import Parameter, Tool

MAX_REQUIRED = 6  # most required inputs of one tool that a request states; nobody types more
# Action → most optional inputs that are slots; 0 for others. An update without an optional input changes nothing.
_OPTIONAL = {"search": 1, "list": 1, "get": 0, "create": 2, "update": 2}
_TODAY = date(2026, 11, 30)
_DATE_WORDS = frozenset(("date", "day", "birthday", "deadline"))
_TIME_WORDS = frozenset(("at", "time", "timestamp", "datetime"))
_OPAQUE_FORMATS = frozenset(("uuid", "guid", "uri", "url", "byte", "binary"))
_OPAQUE_WORDS = frozenset(
    ("arn", "token", "uri", "url", "hash", "secret", "password", "uuid", "guid", "etag", "signature")
)
_IDENTIFIERS = frozenset(("id", "identifier", "key", "number", "no", "ref"))
_MISSING_MEMBERS = re.compile(r"unspecified|unknown|^all$|^none$|^any$|^$", re.IGNORECASE)
_FIXED = re.compile(r"\d{4}-\d\d-\d\d|\S\s+\S")  # a default that is a fixed day, or several words
# What a document says of an input that has one value
_CONSTANT = re.compile(r"\b(?:should|must|is|are) always\b|\bcurrently,? only\b|\bonly \S+ is supported", re.IGNORECASE)
_SHOWN_ID = re.compile(r"^[A-Za-z]{0,6}[-_]?\d[\w-]{0,11}$")
_GIVEN = frozenset(("email", "identifier"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """An input that a request states."""

    tool: str
    parameter: Parameter
    # ``enum``, ``boolean``, ``date``, ``datetime``, ``number``, ``integer``, ``email``, ``identifier`` or ``text``
    kind: str
    value: str  # a sample value as people say it; empty for ``boolean``
    required: bool

    @property
    def given(self) -> bool:
        """Whether a writer must say the sample value; else it chooses a value that fits the text."""
        return self.kind in _GIVEN


def find_unsayable(tool: Tool, profile: ToolProfile, filled: Iterable[str] = ()) -> str:
    """Return why no request can state what a tool needs beside the inputs that other tools fill, one clause; empty
    where one can."""
    required = _required(tool, profile, frozenset(filled))
    if unclear := _unclear(tool, profile, frozenset(filled)):
        return f"its required input {unclear} has only optional parts"
    if opaque := next((one.name for one in required if _is_opaque(one)), ""):
        return f"its required input {opaque} is no value that people type"
    if len(required) > MAX_REQUIRED:
        return f"it requires {len(required)} inputs, and people type {MAX_REQUIRED} at most"
    return ""


def slots_of(path: ToolPath, catalogue: ProfiledCatalogue, rng: random.Random) -> tuple[Slot, ...]:
    """Return the slots of a path, tool by tool. Inputs that identify the same kind of thing have the same value."""
    drawn: dict[object, str] = {}
    slots: list[Slot] = []
    for tool_id in path.tools:
        tool, profile = catalogue.tool(tool_id), catalogue.extended_profiles[tool_id]
        filled = frozenset(edge.parameter for edge in path.into(tool_id))
        required = _required(tool, profile, filled)
        optional = _optional(tool, profile, filled, catalogue, rng)
        if profile.action in FINDING_ACTIONS and required:
            optional = []
        for parameter in (*required, *optional):
            kind = kind_of(parameter)
            value = sample(parameter, kind, rng)
            if kind == "identifier":
                thing = next(
                    (one.key for one in profile.consumes if one.parameter == parameter.name), (tool_id, parameter.name)
                )
                value = drawn.setdefault(thing, value)
            slots.append(
                Slot(tool=tool_id, parameter=parameter, kind=kind, value=value, required=parameter in required)
            )
    return tuple(slots)


def _required(tool: Tool, profile: ToolProfile, filled: frozenset[str]) -> list[Parameter]:
    """The required inputs without default that nothing fills; of an object its required parts in its place."""
    names = {one.name: one for one in tool.parameters}
    found = []
    for one in tool.parameters:
        containers = [names.get(name) for name in _containers(one.name)]
        if not one.required or not all(each is not None and each.required for each in containers):
            continue
        has_parts = any(name.startswith((f"{one.name}.", f"{one.name}[].")) for name in names)
        outside = one.name in filled or one.name in profile.context or one.location == "header"
        if not (has_parts or outside or _has_default(one)):
            found.append(one)
    return found


def _unclear(tool: Tool, profile: ToolProfile, filled: frozenset[str]) -> str:
    """The required input with parts of which none is required: the document does not say which part is to be given."""
    for one in tool.parameters:
        parts = [part for part in tool.parameters if part.name.startswith((f"{one.name}.", f"{one.name}[]."))]
        given = one.default or one.name in profile.context or "." in one.name
        if one.required and parts and not given and not any(part.required or part.name in filled for part in parts):
            return one.name
    return ""


def _optional(
    tool: Tool, profile: ToolProfile, filled: frozenset[str], catalogue: ProfiledCatalogue, rng: random.Random
) -> list[Parameter]:
    """Some optional inputs that people say: of a search what is sought, of a change what changes."""
    most = _OPTIONAL.get(profile.action, 0)
    able = [
        one
        for one in tool.parameters
        if not (one.required or one.name in filled or one.name in profile.context or _is_opaque(one))
        and one.location != "header"
        and "." not in one.name
        and "[]" not in one.name
        and not one.name.startswith(("$", "_"))
        and type_family(one.type) not in ("boolean", "array", "object")
        and not is_paging(one.name, catalogue.names)
        and not _has_default(one)
        and not (_names(one) & (word_set("forms") | word_set("technical")))
    ]
    return rng.sample(able, min(most, len(able)))


def _containers(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:at]).removesuffix("[]") for at in range(1, len(parts))]


def _has_default(parameter: Parameter) -> bool:
    """Whether nobody has to state a value: there is one only. A fixed day or a phrase is an example, where the input is required."""
    if len(parameter.enum) == 1 or _CONSTANT.search(parameter.description):
        return True
    if not parameter.default:
        return False
    is_example = not parameter.enum and _FIXED.search(parameter.default) is not None
    return not is_example or "version" in words(parameter.name)


def _names(parameter: Parameter) -> frozenset[str]:
    return frozenset(words(parameter.name.rsplit(".", 1)[-1]))


def _is_opaque(parameter: Parameter) -> bool:
    last = words(parameter.name)[-1:]
    return (
        parameter.format in _OPAQUE_FORMATS
        or bool(_OPAQUE_WORDS & set(last))
        or "base64" in parameter.description[:200]
    )


def kind_of(parameter: Parameter) -> str:
    """Return the kind of the value that an input takes; see :class:`Slot`."""
    family, last = type_family(parameter.type), (words(parameter.name)[-1:] or [""])[0]
    if parameter.enum:
        return "enum"
    if family == "boolean":
        return "boolean"
    if parameter.format == "date-time" or (last in _TIME_WORDS and family in ("string", "time")):
        return "datetime"
    if parameter.format == "date" or family == "time" or (last in _DATE_WORDS and family == "string"):
        return "date"
    if parameter.format == "email" or "email" in _names(parameter):
        return "email"
    if last in _IDENTIFIERS and len(words(parameter.name)) > 0 and family in ("string", "integer", "number"):
        return "identifier"
    return family if family in ("integer", "number") else "text"


def sample(parameter: Parameter, kind: str, rng: random.Random) -> str:
    """Return a value of a kind as people say it; equal calls in an equal order give equal values."""
    if kind == "enum":
        members = [one for one in parameter.enum if not _MISSING_MEMBERS.search(one)] or list(parameter.enum)
        return " ".join(words(rng.choice(members))) or parameter.enum[0]
    if kind in ("date", "datetime"):
        day = _TODAY + timedelta(days=rng.randint(2, 150))
        at = f" at {rng.randint(8, 17)}:{rng.choice(('00', '15', '30'))}" if kind == "datetime" else ""
        return f"{day.day} {day:%B} {day.year}{at}"
    if kind in ("integer", "number"):
        return _number(parameter, rng)
    if kind == "email":
        return f"{rng.choice(_pool('first')).lower()}.{rng.choice(_pool('last')).lower()}@{rng.choice(_pool('domain'))}"
    if kind == "identifier":
        return _identifier(parameter, rng)
    return "" if kind == "boolean" else _text(parameter, rng)


def _number(parameter: Parameter, rng: random.Random) -> str:
    bounds = dict(parameter.bounds)
    low, high = int(bounds.get("minimum", 2)), int(bounds.get("maximum", bounds.get("minimum", 2) + 60))
    return str(rng.randint(min(low, high), max(low, high)))


def _identifier(parameter: Parameter, rng: random.Random) -> str:
    """An identifier of the form that the document shows, else a number; some letters before it where it is text."""
    if _SHOWN_ID.match(parameter.example):
        return re.sub(r"\d", lambda _: str(rng.randint(1, 9)), parameter.example)
    number = str(rng.randint(1_000, 99_999))
    if type_family(parameter.type) != "string" or dict(parameter.bounds).get("maxLength", 9) < len("AB-12345"):
        return number
    return number if rng.random() < 0.5 else f"{rng.choice('ABCDEHKLMPRST')}{rng.choice('BCDHKLMPRST')}-{number}"


def _text(parameter: Parameter, rng: random.Random) -> str:
    named = _names(parameter)
    pool = next((pool for pool in ("city", "country", "currency", "company", "phone") if pool in named), "")
    if not pool and named & {"customer", "vendor", "supplier", "employer", "organization"}:
        pool = "company"
    if not pool and named & {"first", "last", "person", "contact", "user", "employee", "assignee", "owner"}:
        return f"{rng.choice(_pool('first'))} {rng.choice(_pool('last'))}"
    return rng.choice(_pool(pool or "text"))


def _pool(name: str) -> Sequence[str]:
    pools: dict[str, list[str]] = read_yaml(Path(__file__).parent / "templates.yaml")["values"]
    return pools[name]


def fault_of_value(slot: Slot, value: Any) -> str:
    """Return why a typed value does not fit an input, one clause; empty where it fits. The value is as a call would
    have it: ISO 8601 for dates and times, a member for an enumeration."""
    text, parameter = str(value), slot.parameter
    if slot.kind == "enum" and text not in parameter.enum:
        return f"{text!r} is none of the values of {parameter.name}"
    if slot.kind == "boolean" and text.lower() not in ("true", "false"):
        return f"{text!r} is neither true nor false, as {parameter.name} takes"
    if slot.kind in ("integer", "number"):
        try:
            number = float(text)
        except ValueError:
            return f"{text!r} is no number, as {parameter.name} takes"
        bounds = dict(parameter.bounds)
        if not bounds.get("minimum", number) <= number <= bounds.get("maximum", number):
            return f"{text} is outside the bounds of {parameter.name}"
        return (
            ""
            if slot.kind == "number" or number == int(number)
            else f"{text} is no whole number, as {parameter.name} takes"
        )
    if slot.kind in ("date", "datetime"):
        try:
            datetime.fromisoformat(text)
        except ValueError:
            return f"{text!r} is no date in ISO 8601, as {parameter.name} takes"
    return "" if text.strip() else f"{parameter.name} has no value"
