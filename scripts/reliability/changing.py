"""A small catalogue that changes as that of a server does, and the comparison of its states with a map."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from inference import HashingEncoder
from ontology.errors import NotFoundError
from ontology.tool import Tool
from retrieval.delta.segment import ChangedTools, Segment
from retrieval.query.request import Request
from retrieval.snapshot_engine import SnapshotEngine, open_engine
from services.jobs.build import build_snapshot
from services.jobs.changed_tools import ToolsMaker
from services.jobs.changing_catalogue import ChangeCounts
from services.jobs.merge_changes import merge_changes
from services.jobs.store_changes import StoreChanges

__all__ = ["ENCODER", "Changing", "built", "compare_with_map", "row"]

ENCODER = HashingEncoder()
_FIRST, _MOST = 12, 30
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


def built(store: Path, rows: Iterable[Mapping[str, Any]] = tuple(map(row, range(_FIRST)))) -> str:
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

    def examine(self, tools: Sequence[Tool], published: Sequence[Tool], store: Path) -> None:
        _maker().examine(tools, published, store)

    def make(self, changed: ChangedTools) -> Segment:
        return _maker().make(changed)


class Changing:
    """A store whose catalogue is changed, as a server does it. A new one of the same store is a server that started again."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.changes = StoreChanges(
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

    def upsert(self, *rows: Mapping[str, Any]) -> ChangeCounts:
        """Add or replace tools."""
        return self.changes.upsert("", rows)

    def delete(self, *ids: str) -> ChangeCounts:
        """Remove tools."""
        return self.changes.delete("", ids)

    def found(self, query: str, k: int = 5) -> list[str]:
        """The ids of the tools of an answer, which is of the state that the engine names."""
        answer = self.engine.retriever().retrieve(Request(query=query, k=k))
        if answer.snapshot_id != self.engine.snapshot_id:
            raise AssertionError(f"{answer.snapshot_id} answered, not {self.engine.snapshot_id}")
        return [tool.id for tool in answer.tools]

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


def compare_with_map(store: Path, operations: int, seed: int, *, restarts: float = 0.05, merges: float = 0.01) -> str:
    """Change a catalogue at random, restart and merge it at random, and compare it with a map after each step.

    :param store: with the catalogue of :func:`built`.
    :param restarts: probability of a restart at each step; ``merges`` likewise.
    :returns: the first difference with the number of its step, or empty.
    """
    chosen = random.Random(seed)
    model = {row(number)["id"]: row(number) for number in range(_FIRST)}
    changing = Changing(store)
    for at in range(operations):
        what = chosen.random()
        if what < restarts:
            state, changing = changing.engine.snapshot_id, Changing.again(changing)
            wrong = "" if changing.engine.snapshot_id == state else f"{changing.engine.snapshot_id} after a restart"
        elif what < restarts + merges:
            merged = changing.changes.merge("")
            wrong = "" if changing.engine.snapshot_id == merged else f"{changing.engine.snapshot_id} after a merge"
        else:
            wrong = _change(changing, model, chosen)
        wrong = wrong or _difference(changing, model, chosen)
        if wrong:
            return f"step {at}: {wrong}"
    changing.changes.close()
    return ""


def _change(changing: Changing, model: dict[str, dict[str, Any]], chosen: random.Random) -> str:
    rows = [row(chosen.randrange(_MOST), chosen.randrange(3)) for _ in range(chosen.choice((1, 1, 1, 2, 4)))]
    rows = list({each["id"]: each for each in rows}.values())
    known = [each for each in rows if each["id"] in model]
    if len(model) <= _FIRST // 2 or chosen.random() < 0.6:
        same = sum(model[each["id"]] == each for each in known)
        wanted = (len(rows) - len(known), len(known) - same, same)
        counts = changing.upsert(*rows)
        model.update((each["id"], each) for each in rows)
        found = (counts.added, counts.replaced, counts.unchanged)
    else:
        wanted = (len(known), len(rows) - len(known), 0)
        counts = changing.delete(*(each["id"] for each in rows))
        for each in known:
            del model[each["id"]]
        found = (counts.removed, counts.unknown, 0)
    return "" if found == wanted else f"the counts are {found}, not {wanted}"


def _difference(changing: Changing, model: Mapping[str, Mapping[str, Any]], chosen: random.Random) -> str:
    """What one state gets wrong: its ids, one tool and its graph, one tool that it does not have."""
    if changing.tools() != sorted(model):
        return f"the tools are {changing.tools()}, not {sorted(model)}"
    one, other = chosen.choice(sorted(model)), row(chosen.randrange(_MOST))["id"]
    if changing.engine.tool(one).description != model[one]["description"]:
        return f"{one} is {changing.engine.tool(one).description!r}"
    if one not in changing.found(f"{model[one]['name']} {model[one]['description']}"):
        return f"{one} is not found"
    edges = changing.engine.neighbors(one).edges
    ends = {end.removeprefix("tool:") for edge in edges for end in (edge.head, edge.tail) if end.startswith("tool:")}
    if not ends <= model.keys():
        return f"{one} has an edge to {ends - model.keys()}"
    if other not in model:
        try:
            changing.engine.tool(other)
            return f"{other} is still there"
        except NotFoundError:
            pass
    return ""
