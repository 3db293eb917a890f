"""The truth about generated data: from these tables the answer of any query graph can be computed by brute force."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class TruthTables:
    """Entities and edges.

    :ivar entities: type → identifier → fields.
    :ivar edges: (source type, edge, target type) → pairs of identifiers. A date is an interval of one day.
    """

    entities: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], set[tuple[str, str]]] = field(default_factory=dict)

    def add(self, kind: str, id_: str, /, **fields: Any) -> str:
        """Add an entity, unless it is known, and return its identifier."""
        self.entities.setdefault(kind, {}).setdefault(id_, fields)
        return id_

    def link(self, source: tuple[str, str], edge: str, target: tuple[str, str]) -> None:
        """Add an edge between two entities, each a type and an identifier."""
        self.edges.setdefault((source[0], edge, target[0]), set()).add((source[1], target[1]))

    def pairs(self, source: str, edge: str, target: str) -> set[tuple[str, str]]:
        """The pairs of an edge between two types."""
        return self.edges.get((source, edge, target), set())

    def write(self, path: Path) -> None:
        """Write the tables as JSON, in an order that does not depend on how they were made."""
        edges = [
            {"source": source, "edge": edge, "target": target, "pairs": sorted(map(list, pairs))}
            for (source, edge, target), pairs in sorted(self.edges.items())
        ]
        value = {
            "entities": {kind: dict(sorted(rows.items())) for kind, rows in sorted(self.entities.items())},
            "edges": edges,
        }
        path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> TruthTables:
        """Read what :meth:`write` wrote."""
        value: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        rows: Iterable[Mapping[str, Any]] = value["edges"]
        edges = {(row["source"], row["edge"], row["target"]): {(a, b) for a, b in row["pairs"]} for row in rows}
        return cls(dict(value["entities"]), edges)
