"""Values that were observed in use: a JSON Lines file from logs or tables, of which only the shapes are kept."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ingest.linking.documented_shapes import ShownShape
from ontology.errors import DocumentError
from ontology.names import canonical_name
from ontology.pattern_shape import is_specific
from ontology.tool import Parameter, Tool
from ontology.value_shape import shape_of

_MAX_BYTES = 1 << 26  # chosen, not tuned

__all__ = ["ObservedShapes", "read_observed_values"]

_SOURCE = "observed"


class ObservedShapes:
    """The shapes of observed values, by parameter and by entity.

    :param rows: objects with ``value`` and one of ``parameter`` (a name; with ``tool``, of that tool alone) and ``entity``.
    """

    def __init__(self, rows: Iterable[dict[str, Any]] = ()) -> None:
        self._shapes: defaultdict[tuple[str, str, str], dict[ShownShape, None]] = defaultdict(dict)
        for row in rows:
            shape = shape_of(row["value"])
            if shape is not None and is_specific(shape):
                key = (row.get("tool", ""), row.get("parameter", "").lower(), canonical_name(row.get("entity", "")))
                self._shapes[key][ShownShape(shape, _SOURCE)] = None

    def __bool__(self) -> bool:
        return bool(self._shapes)

    def of(self, tool: Tool, parameter: Parameter, entity: str) -> Iterator[ShownShape]:
        """Yield the shapes of a parameter that identifies an entity, which may be empty."""
        if not self._shapes:
            return
        name = parameter.name.rsplit(".", 1)[-1].removesuffix("[]").lower()
        for key in ((tool.id, name, ""), ("", name, ""), ("", "", entity)):
            yield from self._shapes.get(key, ())


def read_observed_values(path: Path) -> ObservedShapes:
    """Read the file.

    :raises DocumentError: when it cannot be read, or with the line of a row that is invalid.
    """
    if path.exists() and (not path.is_file() or path.stat().st_size > _MAX_BYTES):  # a pipe could be read without end
        problem = f"the observed values must be a file of at most {_MAX_BYTES:,} bytes"
        raise DocumentError(
            problem, subject=str(path), remedy="Give a sample of them: one value of each kind is enough"
        )
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise DocumentError(f"the observed values cannot be read: {error}", subject=str(path)) from error
    return ObservedShapes(_row(line, f"{path}:{number}") for number, line in enumerate(lines, start=1) if line.strip())


def _row(line: str, place: str) -> dict[str, Any]:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DocumentError("an observed value is no JSON", subject=place) from error
    known = {"value", "parameter", "tool", "entity"}
    is_text = isinstance(row, dict) and set(row) <= known and all(isinstance(one, str) for one in row.values())
    if not is_text or not row.get("value") or bool(row.get("parameter")) == bool(row.get("entity")):
        raise DocumentError(
            "an observed value must be an object of texts",
            subject=place,
            remedy='Write {"value": "INC0012345", "parameter": "incident_id"}, or "entity" for "parameter"',
        )
    return dict(row)
