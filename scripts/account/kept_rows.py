"""Rows of a measurement that goes on where it was: one JSON object a line; what has a row is not measured again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["KeptRows"]


class KeptRows:
    """Rows by what identifies them.

    :param keys: the fields that identify a row.
    """

    def __init__(self, path: Path, *keys: str) -> None:
        self._path = path
        self._keys = keys
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        rows = [json.loads(line) for line in lines if line.endswith("}")]  # a killed process left half of the last one
        self._rows = {self._key(row): row for row in rows}

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._rows.values())

    def has(self, **row: Any) -> bool:
        """Whether there is a row with these fields."""
        return self._key(row) in self._rows

    def add(self, **row: Any) -> None:
        """Keep a row."""
        self._rows[self._key(row)] = row
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def _key(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[key] for key in self._keys)
