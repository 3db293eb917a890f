"""Sanitize the texts of a tool: limit their length, and replace characters that encoders, files or databases cannot store."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ingest.sources.json_schema.self_contained import json_value, schema_text
from ontology.json_values import DEFINITIONS, JsonObject, call_from_json, call_to_json
from ontology.redaction import redact_document_text
from ontology.tool import Dependency, Parameter, Tool

MAX_DESCRIPTION_CHARS = 100_000
MAX_NAME_CHARS = 2_000

# Control characters, lone surrogates and the two non-characters: XML or UTF-8 does not allow them.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_PARAMETER_TEXTS = ("type", "description", "location", "format", "example", "default", "pattern")


def sanitize_tool(tool: Tool) -> Tool:
    """Cut texts that are too long (listed in the tool's metadata ``cut``), and replace unprintable characters by U+FFFD."""
    cut: list[str] = []
    description = _text(tool.description, MAX_DESCRIPTION_CHARS, "description", cut)
    name = _text(tool.name, MAX_NAME_CHARS, "name", cut)
    parameters = tuple(_parameter(each, "parameters", cut) for each in tool.parameters)
    returns = tuple(_parameter(each, "returns", cut) for each in tool.returns)
    metadata = {printable(key): _value(value, f"metadata.{key}", cut) for key, value in tool.metadata.items()}
    if cut:
        before = metadata.get("cut")
        metadata["cut"] = [*(before if isinstance(before, list) else []), *cut]
    return replace(
        tool,
        id=_text(tool.id, MAX_NAME_CHARS, "id", cut),
        name=name,
        description=description,
        parameters=parameters,
        returns=returns,
        depends_on=tuple(map(_dependency, tool.depends_on)),
        metadata=metadata,
        input_schema=_schema(tool.input_schema),
        output_schema=_schema(tool.output_schema),
        call=None if tool.call is None else call_from_json(json_value(call_to_json(tool.call))),
    )


def _schema(schema: Mapping[str, Any] | None) -> JsonObject | None:
    return schema if schema is None or isinstance(schema, JsonObject) else JsonObject(schema_text(schema))


def _dependency(old: Dependency) -> Dependency:
    texts = ((key, getattr(old, key)) for key in ("tool", "parameter", "output", "reason"))
    cut: dict[str, Any] = {key: printable(text[:MAX_NAME_CHARS]) for key, text in texts}
    return replace(old, **cut)


def _text(text: str, max_chars: int, field: str, cut: list[str]) -> str:
    if len(text) > max_chars:
        cut.append(f"{field}: {len(text)} characters, the first {max_chars} kept")
    return printable(text[:max_chars])


def printable(text: str) -> str:
    """Return the text with U+FFFD for each character that no file can hold."""
    return _UNPRINTABLE.sub("\ufffd", text) if _UNPRINTABLE.search(text) else text


def _parameter(parameter: Parameter, field: str, cut: list[str]) -> Parameter:
    texts: dict[str, Any] = {key: getattr(parameter, key) for key in _PARAMETER_TEXTS}
    together = "".join((parameter.name, *texts.values(), *parameter.enum))
    if len(together) <= MAX_NAME_CHARS and not _UNPRINTABLE.search(together):  # as nearly all are
        return parameter
    name = _text(parameter.name, MAX_NAME_CHARS, f"{field} name", cut)
    for key, text in texts.items():
        limit = MAX_DESCRIPTION_CHARS if key in ("type", "description") else MAX_NAME_CHARS
        texts[key] = _text(text, limit, f"{field}.{name} {key}", cut)
    enum = tuple(_text(value, MAX_NAME_CHARS, f"{field}.{name} enum", cut) for value in parameter.enum)
    return replace(parameter, name=name, enum=enum, **texts)


def _value(value: Any, field: str, cut: list[str]) -> Any:
    """Sanitize the texts of a JSON value; a type that JSON does not have (a date) becomes text."""
    match value:
        case str():
            return _text(value, MAX_DESCRIPTION_CHARS, field, cut)
        case None | bool() | int() | float():
            return value
        case Mapping():
            return {printable(str(key)): _value(inner, field, cut) for key, inner in value.items()}
        case list() | tuple():
            return [_value(inner, field, cut) for inner in value]
    return str(value)


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
    if not secrets and _is_clean(tool):
        return tool
    text = tool.canonical_json()
    known = any(json.dumps(secret, ensure_ascii=False)[1:-1] in text for secret in secrets)
    if not known and not _has_mark(text):
        return tool
    row = tool.to_json()
    cleaned = _cleaned(row, secrets)
    return sanitize_tool(Tool.from_json(cleaned)) if cleaned != row else tool


def _is_clean(tool: Tool) -> bool:
    """Whether a tool surely has no secrets; each definition of its schemas is searched once for all tools that have it."""
    schemas = {key: getattr(tool, key) for key in ("input_schema", "output_schema")}
    whole = {key: schema for key, schema in schemas.items() if isinstance(schema, JsonObject)}
    without_definitions: dict[str, Any] = {key: JsonObject(schema.own_text) for key, schema in whole.items()}
    own = replace(tool, **without_definitions)
    found = [_searched(*each) for each in {each for schema in whole.values() for each in schema.definitions}]
    if not _has_mark(own.canonical_json()) and not any(marked for marked, _ in found):
        return True
    row = own.to_json()
    return all(clean for _, clean in found) and _cleaned(row, ()) is row


@lru_cache(maxsize=1 << 13)
def _searched(name: str, text: str) -> tuple[bool, bool]:
    """Whether a definition has a text of :data:`_MARKS`, and whether nothing in it is to be taken out."""
    definition = {name: json.loads(text)}
    return _has_mark(name) or _has_mark(text), _cleaned(definition, ()) is definition


def _has_mark(text: str) -> bool:
    return any(mark in text for mark in _MARKS)


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
    if secrets or len(text) > _REMEMBERED_CHARS:
        cleaned = _changed_text(text, secrets, is_name)
    else:
        cleaned = None if len(text) < _SHORTEST else _remembered_text(text, secrets, is_name)
    return text if cleaned is None else cleaned


def _changed_text(text: str, secrets: tuple[str, ...], is_name: bool) -> str | None:
    """The text without secrets; None where it has none."""
    if not secrets and not _has_mark(text):
        return None
    cleaned = redact_document_text(text, secrets, is_name=is_name)
    return None if cleaned == text else cleaned


# The operations of one document repeat the texts of its schemas.
_remembered_text = lru_cache(maxsize=1 << 15)(_changed_text)


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
