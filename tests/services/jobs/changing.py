"""A small catalogue that changes, for the tests of changes: its tools, its store, and what changes it in this process."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from inference import HashingEncoder
from ontology.tool import Tool
from retrieval.delta.segment import ChangedTools, Segment
from retrieval.snapshot_engine import SnapshotEngine, open_engine
from services.jobs.build import build_snapshot
from services.jobs.changed_tools import ToolsMaker
from services.jobs.merge_changes import merge_changes
from services.jobs.tool_changes import ToolChanges

__all__ = ["ENCODER", "Changing", "built", "row"]

ENCODER = HashingEncoder()
_OBJECTS = ("invoice", "customer", "shipment", "contract", "ticket", "warehouse")
_VERBS = ("get", "find", "create", "cancel", "archive")


def row(number: int, version: int = 0) -> dict[str, Any]:
    """A tool; its id depends on the number alone, its document also on the version."""
    noun, verb = _OBJECTS[number % len(_OBJECTS)], _VERBS[number // len(_OBJECTS) % len(_VERBS)]
    other = _OBJECTS[(number + version + 1) % len(_OBJECTS)]
    finds = verb in ("find", "create")
    return {
        "id": f"{noun}s/{verb}_{noun}_{number}",
        "name": f"{verb}_{noun}_{number}",
        "description": f"{verb.title()} the {noun} of a {other}. Version {version} of this tool.",
        "parameters": [
            {"name": "name" if finds else f"{noun}_id", "type": "string", "description": "", "required": True}
        ],
        "returns": [{"name": f"{noun}_id" if finds else f"{other}_id", "type": "string"}],
        "metadata": {"namespace": f"{noun}s", "format": "table.v1", "version": str(version)},
    }


def built(store: Path, rows: Iterable[Mapping[str, Any]]) -> str:
    """Build and publish the catalogue of these tools, as from their document; return the snapshot's id."""
    path = store.with_suffix(".d") / "tools.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in rows), encoding="utf-8")
    return build_snapshot([str(path)], store, encoder=ENCODER).snapshot_id


@cache
def _maker() -> ToolsMaker:
    return ToolsMaker()


class _Reader:
    """Reads in this process; the rules are loaded once."""

    def read(self, rows: Sequence[Mapping[str, Any]]) -> list[Tool]:
        return _maker().read(rows)

    def make(self, changed: ChangedTools) -> Segment:
        return _maker().make(changed)


class Changing:
    """A store whose catalogue is changed, as a server does it. A new one of the same store is a server that started again."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.changes = ToolChanges(
            {"": store},
            self._serve,
            reader=_Reader(),
            merger=lambda store, base, count: merge_changes(store, base, count, encoder=ENCODER),
            opened=self.opened,
            merge_after_s=0,
        )
        self.engine = self.changes.adopt("", self.opened(store))

    @staticmethod
    def again(changing: Changing) -> Changing:
        """The same store after a stop and a start."""
        changing.changes.close()
        return Changing(changing.store)

    def upsert(self, *rows: Mapping[str, Any]) -> Any:
        return self.changes.upsert("", rows)

    def delete(self, *ids: str) -> Any:
        return self.changes.delete("", ids)

    def tools(self) -> list[str]:
        """All ids, page by page."""
        found: list[str] = []
        while page := self.engine.tool_ids(len(found), 3):
            found += page
        return found

    def _serve(self, tenant: str, engine: SnapshotEngine) -> None:
        self.engine = engine

    @staticmethod
    def opened(folder: Path) -> SnapshotEngine:
        """The engine over a snapshot, without changes."""
        return open_engine(folder, encoder=ENCODER)
