"""Take secrets out of tools: those that egotools knows, and those that a document has written into its own texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ontology.redaction import redact_document_text
from ontology.tool import Tool

__all__ = ["secret_places", "without_secrets"]

# A text without one of these has no key and no password: searching for them is fast.
_MARKS = (
    *("PRIVATE KEY-----", "sk-", "gh", "glpat-", "AKIA", "ASIA", "xox", "eyJ", "://"),
    *("assw", "ASSW", "pwd", "PWD", "ecret", "ECRET", "oken", "OKEN", "key", "Key", "KEY"),
)
_SHORTEST = 8  # no key and no password with its name is shorter
_NAMES = frozenset(("id", "name", "tool", "operation", "path"))
_EXAMPLES = ("example", "default", "examples", "const")
_PASSWORD_NAMES = frozenset(
    ("password", "passwd", "pwd", "secret", "clientsecret", "apikey", "accesstoken", "privatekey")
)


def without_secrets(tool: Tool, secrets: tuple[str, ...] = ()) -> Tool:
    """Return the tool without secrets in any of its texts; ``***`` stands in their place.

    Examples and defaults of passwords (by format or by name) are removed.

    :param secrets: the values that are known to be secret, such as those of its source's environment.
    """
    row = tool.to_json()
    text = json.dumps(row, ensure_ascii=False)
    known = any(json.dumps(secret, ensure_ascii=False)[1:-1] in text for secret in secrets)
    if not known and not any(mark in text for mark in _MARKS):
        return tool
    cleaned = _cleaned(row, secrets)
    return Tool.from_json(cleaned) if cleaned != row else tool


def secret_places(before: Tool, after: Tool) -> list[str]:
    """Return the fields of a tool that :func:`without_secrets` changed (``parameters[2].example``); never a value.

    :param after: the tool without secrets.
    """
    return list(_changed(before.to_json(), after.to_json(), ""))


def _changed(before: Any, after: Any, place: str) -> Iterator[str]:
    """Yield the places where two JSON values differ, of which the second may lack properties of the first."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        kept = dict(after)
        for key, inner in before.items():
            if key in kept:
                yield from _changed(inner, kept.pop(key), f"{place}.{key}".lstrip("."))
            elif key in _EXAMPLES:
                yield f"{place}.{key}".lstrip(".")
        yield from (f"{place}.{key}".lstrip(".") for key in kept)  # a name of a property was changed
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _changed(old, new, f"{place}[{number}]")
    elif before != after:
        yield place


def _cleaned(value: Any, secrets: tuple[str, ...], name: str = "") -> Any:
    """Return a JSON value without secrets; ``name`` is that of the property that it describes."""
    if isinstance(value, str):
        if not secrets and (len(value) < _SHORTEST or not any(mark in value for mark in _MARKS)):
            return value
        return redact_document_text(value, secrets, is_name=name in _NAMES)
    if isinstance(value, list):
        return [_cleaned(item, secrets) for item in value]
    if not isinstance(value, Mapping):
        return value
    own = value.get("name")
    hidden = value.get("format") == "password" or _is_password(own if isinstance(own, str) else name)
    cleaned: dict[str, Any] = {}
    for key, inner in value.items():
        if hidden and key in _EXAMPLES and not isinstance(inner, Mapping):
            continue
        cleaned[_cleaned(key, secrets, "name")] = _cleaned(inner, secrets, key)
    return cleaned


def _is_password(name: str) -> bool:
    return "".join(filter(str.isalnum, name.rpartition(".")[2].lower())) in _PASSWORD_NAMES
