"""A JSON object that is kept as its text: it needs a fraction of the memory of dicts, and is written without being encoded again."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["DEFINITIONS", "JsonObject", "as_dict", "canonical_text"]

DEFINITIONS = "$defs"
"""The key of a JSON Schema under which the schemas are that it refers to."""

_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class JsonObject(Mapping[str, Any]):
    """A read-only mapping over a canonical JSON text. Each access parses the text: take a ``dict`` of it for more than one.

    The schemas of a document's operations refer to the same definitions, which are most of their text: it is kept once for all.

    :param text: the text of a JSON object as :func:`canonical_text` writes it, without :data:`DEFINITIONS` where these are given;
        then none of its keys is sorted before that one.
    :param definitions: the canonical text of each of its definitions, by name.
    """

    __slots__ = ("_own", "_pairs")

    def __init__(self, text: str, definitions: Mapping[str, str] | None = None) -> None:
        self._own = text
        pairs = sorted(definitions.items()) if definitions else ()
        self._pairs = tuple((sys.intern(name), sys.intern(defined)) for name, defined in pairs)

    @property
    def own_text(self) -> str:
        """The text without the definitions that are kept apart."""
        return self._own

    @property
    def definitions(self) -> tuple[tuple[str, str], ...]:
        """Name and text of each definition that is kept apart, sorted by name."""
        return self._pairs

    @property
    def text(self) -> str:
        """The canonical text of the whole object."""
        if not self._pairs:
            return self._own
        definitions = ",".join(f"{_ENCODER.encode(name)}:{text}" for name, text in self._pairs)
        others = f",{self._own[1:]}" if self._own != "{}" else "}"
        return f'{{"{DEFINITIONS}":{{{definitions}}}{others}'

    def parsed(self) -> dict[str, Any]:
        """The object as a new dict; the caller may change it."""
        value: dict[str, Any] = json.loads(self.text)
        return value

    def __getitem__(self, key: str) -> Any:
        return self.parsed()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parsed())

    def __len__(self) -> int:
        return len(self.parsed())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, JsonObject):
            return self.text == other.text
        return self.parsed() == other if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"JsonObject({self.text!r})"


def as_dict(value: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping as a dict; of a :class:`JsonObject` a new one, parsed once."""
    return value.parsed() if isinstance(value, JsonObject) else dict(value)


def canonical_text(value: Any) -> str:
    """The text of a JSON value on one line with sorted keys: equal values have equal texts."""
    if isinstance(value, JsonObject):
        return value.text
    return _ENCODER.encode(value)
