"""Sanitize the texts of a tool: limit their length, and replace characters that encoders, files or databases cannot store."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, cast

from ingest.sources.json_schema.self_contained import schema_text
from ontology.json_values import DEFINITIONS, JsonObject
from ontology.redaction import redact_document_text
from ontology.tool import Parameter, Tool

MAX_TEXT_CHARS = 100_000
MAX_NAME_CHARS = 2_000  # of texts that are no prose: names, ids, types of values, examples

# Control characters, lone surrogates and the two non-characters: XML or UTF-8 does not allow them.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_PROSE = frozenset(("description", "type", "metadata"))
_SCHEMAS = ("input_schema", "output_schema")


def sanitize_tool(tool: Tool) -> Tool:
    """Cut texts that are too long (listed in the tool's metadata ``cut``), and replace unprintable characters by U+FFFD."""
    cut: list[str] = []
    parts = {each.name: getattr(tool, each.name) for each in fields(tool) if each.name not in _SCHEMAS}
    clean: dict[str, Any] = {name: _clean(part, name, cut) for name, part in parts.items()}
    if cut:
        before = clean["metadata"].get("cut")
        clean["metadata"]["cut"] = [*(before if isinstance(before, list) else []), *dict.fromkeys(cut)]
    schemas = {name: getattr(tool, name) for name in _SCHEMAS}
    for name, schema in schemas.items():
        clean[name] = schema if schema is None or isinstance(schema, JsonObject) else JsonObject(schema_text(schema))
    return replace(tool, **clean)


def _clean(value: Any, place: str, cut: list[str]) -> Any:
    """Sanitize the texts of a part of a tool, the same object where nothing changes; a value that JSON does not have (a date) becomes text."""
    if isinstance(value, str):
        limit = (
            MAX_TEXT_CHARS if place.rpartition(".")[2] in _PROSE or place.startswith("metadata.") else MAX_NAME_CHARS
        )
        if len(value) > limit:
            cut.append(f"{place}: {len(value)} characters, the first {limit} kept")
        return printable(value[:limit])
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {printable(str(key)): _clean(inner, f"{place}.{key}", cut) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_clean(inner, place, cut) for inner in value)
    if not is_dataclass(value) or isinstance(value, type):
        return str(value)
    shown = repr(value)  # escapes what is unprintable
    if len(shown) <= MAX_NAME_CHARS and "\\" not in shown:  # as nearly all are
        return value
    changed = {}
    for each in fields(value):
        inner = getattr(value, each.name)
        clean = _clean(inner, f"{place}.{each.name}", cut)
        if clean != inner:
            changed[each.name] = clean
    return replace(value, **changed) if changed else value


def printable(text: str) -> str:
    """Return the text with U+FFFD for each character that no file can hold."""
    return _UNPRINTABLE.sub("\ufffd", text) if _UNPRINTABLE.search(text) else text


# A text without one of these has no key and no password: searching for them is fast.
_MARKS = (
    *("PRIVATE KEY-----", "sk-", "gh", "glpat-", "AKIA", "ASIA", "xox", "eyJ", "://"),
    *("k_live_", "AIza", "SG.", "npm_", "hf_", "pypi-", "sig=", "Signature=", "curl ", "uthorization", "UTHORIZATION"),
    *("Bearer", "bearer", "BEARER", "Basic", "basic", "BASIC"),
    *("assw", "ASSW", "pwd", "PWD", "ecret", "ECRET", "oken", "OKEN", "key", "Key", "KEY"),
)
_HIDDEN = "***"
_SHORTEST = 8  # no key and no password with its name is shorter
_NAMES = frozenset(("id", "name", "tool", "operation", "path"))
_EXAMPLES = frozenset(("example", "default", "examples", "const", "x-example", "x-examples"))
_VALUES = _EXAMPLES | {"enum", "pattern"}
# What a schema says by these is what is valid: they are taken out whole or stay as they are.
_EXACT = frozenset(("enum", "pattern", "const", "format", "$ref"))
_EXAMPLE_PLACE = re.compile(rf"(?<!properties)\.(?:{'|'.join(sorted(_VALUES))})(?=[.\[]|\Z)")
_REMEMBERED_CHARS = 500  # a longer text is searched each time: what is remembered stays below some 30 MB
_PASSWORD_NAMES = frozenset(
    ("password", "passwd", "pwd", "secret", "clientsecret", "apikey", "accesstoken", "privatekey")
)
# Of other names that say that a value is secret, only values go that look like keys: ``token`` is also a currency or a page.
_KEY_NAMES = ("token", "secret", "password", "apikey", "accesskey", "secretkey", "authorization")
_NO_KEY_NAMES = ("page", "next", "sync", "continu", "cursor", "clienttoken", "clientrequest", "idempot")
# Letters and at least two digits, no placeholder (``<TOKEN>``, ``your_key_12345``) and no address of a blockchain.
_LOOKS_LIKE_KEY = re.compile(
    r"(?!.*(?:your|xxx|\*\*\*))(?!0x[0-9a-f]{40}\Z)(?=.*[a-z])(?=.*[0-9].*[0-9])[\w+/=.~:-]{12,400}", re.IGNORECASE
)
_LITERAL_PATTERN = re.compile(r"\^?([^\\^$.|?*+()\[\]{}]+)\$?")


def without_secrets(tool: Tool, secrets: tuple[str, ...] = ()) -> Tool:
    """Return the tool without secrets in any of its texts; ``***`` stands in their place. ``secrets`` are the values
    that are known to be secret, such as those of its source's environment. Examples and defaults of passwords (by
    format or by name) are removed; under further names of keys and tokens, and in lists of values and patterns, what
    looks like a key. Patterns, lists of values and references are left out or stay as they are: an edited one says
    something else."""
    schemas = {key: schema for key in _SCHEMAS if isinstance(schema := getattr(tool, key), JsonObject)}
    own: dict[str, Any] = {key: JsonObject(schema.own_text) for key, schema in schemas.items()}
    definitions = {
        key: dict(_cleaned_definition(name, text, secrets) for name, text in schema.definitions)
        for key, schema in schemas.items()
    }
    row = replace(tool, parameters=(), returns=(), **own).to_json()
    if (
        _cleaned(row, secrets) is row
        and not any(_has_secret(each, secrets) for each in (*tool.parameters, *tool.returns))
        and all(schemas[key].definitions == tuple(each.items()) for key, each in definitions.items())
    ):
        return tool
    cleaned = _cleaned(replace(tool, **own).to_json(), secrets)
    found = sanitize_tool(Tool.from_json(cleaned))
    whole = {key: JsonObject(schema_text(cleaned[key]), each) for key, each in definitions.items()}
    return replace(found, **cast(dict[str, Any], whole))


@lru_cache(maxsize=1 << 15)  # the tools of a document repeat the fields of its objects
def _has_secret(parameter: Parameter, secrets: tuple[str, ...]) -> bool:
    row = parameter.to_json()
    return _cleaned(row, secrets) is not row


@lru_cache(maxsize=1 << 13)
def _cleaned_definition(name: str, text: str, secrets: tuple[str, ...]) -> tuple[str, str]:
    """A definition of a schema without secrets; its name stays, others refer to it."""
    definition = json.loads(text)
    cleaned = _cleaned(definition, secrets, name)
    return name, text if cleaned is definition else schema_text(cleaned)


def secret_places(before: Tool, after: Tool) -> list[str]:
    """Return the fields of a tool that :func:`without_secrets` changed (``parameters[2].example``); never a value."""
    return list(_changed(before.to_json(), after.to_json(), ""))


def is_example(place: str) -> bool:
    """Whether a place of :func:`secret_places` is an example, a default or a value that the document publishes for its readers."""
    return _EXAMPLE_PLACE.search(place) is not None


def _changed(before: Any, after: Any, place: str) -> Iterator[str]:
    """Yield the places where two JSON values differ, of which the second may lack properties of the first."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        kept = dict(after)
        for key, inner in before.items():
            if key in kept:
                yield from _changed(inner, kept.pop(key), f"{place}.{key}".lstrip("."))
            elif key in _VALUES or key in _EXACT:
                yield f"{place}.{key}".lstrip(".")
        yield from (f"{place}.{key}".lstrip(".") for key in kept)  # a name of a property was changed
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _changed(old, new, f"{place}[{number}]")
    elif before != after:
        yield place


def _cleaned(value: Any, secrets: tuple[str, ...], name: str = "", *, in_example: bool = False) -> Any:
    """Return a JSON value without secrets, the same object where it has none. ``name`` is that of the property that it
    describes, or in an example of the property whose value it is."""
    if isinstance(value, str):
        if in_example and (_is_password(name) or (_names_key(name) and _looks_like_key(value))):
            return _HIDDEN
        return _cleaned_text(value, secrets, name in _NAMES)
    if isinstance(value, list):
        items = [_cleaned(item, secrets, in_example=in_example) for item in value]
        return items if any(map(operator.is_not, items, value)) else value
    if not isinstance(value, dict):
        return value
    own = value.get("name")
    described = own if isinstance(own, str) else name
    has_values = not in_example and not _VALUES.isdisjoint(value)
    hidden = has_values and (value.get("format") == "password" or _is_password(described))
    suspected = has_values and (hidden or _names_key(described))
    cleaned: dict[str, Any] = {}
    changed = False
    for key, inner in value.items():
        is_value = not isinstance(inner, Mapping)
        hides = hidden and key in _EXAMPLES and is_value
        if hides or (suspected and key in _VALUES and _looks_like_key(inner)):
            changed = True
        elif key in _EXACT and is_value and not in_example:
            if any(_is_secret(text, secrets) for text in (inner if isinstance(inner, list) else [inner])):
                changed = True
            else:
                cleaned[key] = inner
        else:
            shown = key if name == DEFINITIONS else _cleaned_text(key, secrets, True)
            kept = _cleaned(inner, secrets, key, in_example=in_example or (key in _EXAMPLES and has_values))
            changed |= shown is not key or kept is not inner
            cleaned[shown] = kept
    return cleaned if changed else value


def _is_secret(text: Any, secrets: tuple[str, ...]) -> bool:
    """Whether a text has a known secret, or is a key as a whole."""
    if not isinstance(text, str):
        return False
    return any(secret in text for secret in secrets) or _cleaned_text(_literal(text), (), False) == _HIDDEN


def _cleaned_text(text: str, secrets: tuple[str, ...], is_name: bool) -> str:
    """The text without secrets, the same object where it has none."""
    if len(text) < _SHORTEST and not secrets:
        return text
    cleaned = (_redacted if len(text) > _REMEMBERED_CHARS else _remembered)(text, secrets, is_name)
    return text if cleaned == text else cleaned


def _redacted(text: str, secrets: tuple[str, ...], is_name: bool) -> str:
    may_have = secrets or any(mark in text for mark in _MARKS)
    return redact_document_text(text, secrets, is_name=is_name) if may_have else text


# The operations of one document repeat the texts of its schemas.
_remembered = lru_cache(maxsize=1 << 15)(_redacted)


@lru_cache(maxsize=1 << 14)
def _is_password(name: str) -> bool:
    return _letters(name) in _PASSWORD_NAMES


@lru_cache(maxsize=1 << 14)
def _names_key(name: str) -> bool:
    """Whether a name ends as those of keys and tokens do (``X-Auth-Token``, ``clientSecretKey``), and is none of paging."""
    letters = _letters(name)
    return letters.endswith(_KEY_NAMES) and not letters.startswith(_NO_KEY_NAMES)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.rpartition(".")[2].lower()))


def _looks_like_key(value: Any) -> bool:
    """Whether a value, or one of a list, could be a key; of a pattern, only one that has no special characters."""
    if isinstance(value, list):
        return any(map(_looks_like_key, value))
    return isinstance(value, str) and _LOOKS_LIKE_KEY.fullmatch(_literal(value)) is not None


def _literal(text: str) -> str:
    """The text that a pattern without special characters stands for; any other as it is."""
    found = _LITERAL_PATTERN.fullmatch(text)
    return found[1] if found else text
