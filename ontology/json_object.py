"""A JSON object that is kept as its text: it needs a fraction of the memory of dicts, and is written without being encoded again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["JsonObject", "as_dict", "canonical_text"]

_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class JsonObject(Mapping[str, Any]):
    """A read-only mapping over a canonical JSON text. Each access parses the text: take a ``dict`` of it for more than one.

    :param text: the text of a JSON object as :func:`canonical_text` writes it.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

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
