"""The encoded texts of tools that a process keeps for later answers, within one bound for all its catalogues."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias
from weakref import WeakKeyDictionary

from retrieval.engine import Engine

__all__ = ["KeptTexts"]

_MOST, _LONGEST = 512, 16 * 1024  # texts of one engine, and bytes of one
_MOST_BYTES = 32 * 2**20
_Key: TypeAlias = tuple[str, str]


@dataclass(slots=True)
class _OfEngine:
    texts: dict[_Key, bytes] = field(default_factory=dict)
    size: int = 0

    def clear(self) -> None:
        self.texts.clear()
        self.size = 0


class KeptTexts:
    """Tool and format → encoded text, for each engine as long as it is served. Thread-safe.

    :param most_bytes: of all engines together; where there are more, the engine that has most loses its own.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._engines: WeakKeyDictionary[Engine, _OfEngine] = WeakKeyDictionary()

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return sum(each.size for each in self._engines.values())

    def text(self, engine: Engine, tool_id: str, schema_format: str, make: Callable[[], bytes]) -> bytes:
        """Return the text of a tool in a format; what ``make`` returns is kept, if it is short."""
        kept = self._engines.get(engine)
        found = kept.texts.get((tool_id, schema_format)) if kept is not None else None
        if found is None:
            found = make()
            if len(found) <= _LONGEST:
                self._keep(engine, (tool_id, schema_format), found)
        return found

    def _keep(self, engine: Engine, key: _Key, text: bytes) -> None:
        with self._lock:
            kept = self._engines.setdefault(engine, _OfEngine())
            if len(kept.texts) >= _MOST:
                kept.clear()
            if key in kept.texts:  # another thread was faster
                return
            kept.texts[key] = text
            kept.size += len(text)
            while self.size > self._most_bytes:
                max(self._engines.values(), key=lambda each: each.size).clear()
