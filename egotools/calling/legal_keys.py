"""The names of properties as the runtimes of models accept them, and back."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["legal_keys", "source_names"]

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
    renamed = isinstance(title, str) and not _is_legal(title) and key in _possible_keys(title)
    return str(title) if renamed else key


def _possible_keys(name: str) -> set[str]:
    """Return the keys that :func:`legal_keys` may have made of an illegal name."""
    alone = legal_keys((name,))[name]
    return {alone, legal_keys((alone, name))[name]}


def _is_legal(name: str) -> bool:
    return 0 < len(name) <= _MAX_KEY and not _ILLEGAL_IN_KEY.search(name)
