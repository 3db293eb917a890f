"""Changes of a served catalogue under restarts, kills and torn files, and how soon and how well they are found."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ontology.errors import CatalogError, SnapshotCorruptError
from retrieval.delta.change_log import ChangeLog
from retrieval.delta.near_tools import as_read
from retrieval.query.request import Request
from retrieval.snapshot.change_records import Change, log_file
from retrieval.snapshot.publish import SNAPSHOTS, published_id
from retrieval.snapshot_engine import SnapshotEngine, open_engine
from scripts.reliability.changing import ENCODER, Changing, built, compare_with_map, row
from scripts.reliability.row import Figure, Row
from services.jobs.build import build_snapshot
from services.jobs.store_changes import StoreChanges

__all__ = ["ROWS"]

_OPERATIONS = int(os.environ.get("EGOTOOLS_CHAOS_OPERATIONS", "20000"))
_KILLS = int(os.environ.get("EGOTOOLS_CHAOS_KILLS", "50"))
_LARGE = os.environ.get("EGOTOOLS_LARGE_STORE", "")  # a store with a large catalogue; without it a small one is built
_CHANGES, _REQUESTS = 30, 100
_SAME_SHARE = 0.95
_COMPANY = Path(__file__).resolve().parents[2] / "examples" / "enterprise"


def _random_changes(folder: Path) -> Figure:
    seed = random.SystemRandom().randrange(10**6)
    store = folder / "store"
    built(store)
    wrong = compare_with_map(store, _OPERATIONS, seed, restarts=0.01, merges=0.002)
    said = f"the first at {wrong}" if wrong else "0 divergences"
    return Figure(text=f"{said} in {_OPERATIONS:,} steps, seed {seed}", held=not wrong)


def _torn_tails(folder: Path) -> Figure:
    """Cut the log at each byte of its last record, and change each of them: that record is gone, the others stay, and the log goes on."""
    changes = [Change(upserted=tuple(_tools(3))), Change(deleted=("a", "b")), Change(upserted=tuple(_tools(1)))]
    log = ChangeLog(folder, "base")
    for change in changes:
        log.append(change)
    log.close()
    whole = log_file(folder, "base").read_bytes()
    last = len(whole) - 12 - len(changes[-1].content())
    kept = [change.content() for change in changes[:-1]]

    def recovered(damaged: bytes) -> bool:
        log_file(folder, "base").write_bytes(damaged)
        try:
            torn = ChangeLog(folder, "base")
        except SnapshotCorruptError:
            return False
        only_others = list(torn.contents) == kept
        torn.append(changes[-1])
        torn.close()
        return only_others and log_file(folder, "base").read_bytes() == whole

    size = len(whole) - last
    cuts = sum(recovered(whole[:end]) for end in range(last, len(whole)))
    flips = sum(
        recovered(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])  # a digit or a letter becomes another one
        for at in range(last, len(whole))
    )
    return Figure(text=f"{cuts} of {size} cuts, {flips} of {size} changed bytes", held=cuts == flips == size)


def _tools(count: int) -> list[Any]:
    from ontology.tool import Tool

    return [Tool.from_json(row(number)) for number in range(count)]


_WRITER = """
import sys
from pathlib import Path
from scripts.reliability.changing import Changing, row
changing = Changing(Path(sys.argv[1]))
for number in range(int(sys.argv[2]), 10**9):
    changing.upsert(row(number))
    sys.stdout.write(f"{row(number)['id']}\\n")
    sys.stdout.flush()
"""


def _kills(folder: Path) -> Figure:
    """Kill a process that changes a catalogue at a random moment; what it acknowledged must be there after a restart."""
    store = folder / "store"
    built(store)
    acknowledged: set[str] = set()
    chosen = random.Random()
    lost = 0
    for trial in range(1, _KILLS + 1):
        command = [sys.executable, "-c", _WRITER, str(store), str(1_000 * trial)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            if process.stdout is None:
                raise RuntimeError("the process has no output")
            acknowledged.add(process.stdout.readline().strip())
            time.sleep(chosen.random())
            process.send_signal(signal.SIGKILL)
            acknowledged.update(line.strip() for line in process.stdout if line.endswith("\n"))
        changing = Changing(store)
        lost += not acknowledged <= set(changing.tools())
        if chosen.random() < 0.2:
            changing.changes.merge("")
        changing.changes.close()
    text = f"{_KILLS - lost} of {_KILLS} restarts had all of {len(acknowledged)} acknowledged changes"
    return Figure(text=text, held=not lost)


def _found_at_once(folder: Path) -> Figure:
    """Change tools of a large catalogue through the worker process, and ask for each as soon as it is acknowledged."""
    store = folder / "store"
    engines: list[SnapshotEngine] = []
    if _LARGE:
        current = published_id(Path(_LARGE))
        shutil.copytree((Path(_LARGE) / SNAPSHOTS / current).resolve(), store / SNAPSHOTS / current)
        (store / "CURRENT").write_text(f"{current}\n", encoding="utf-8")
    else:
        built(store, [row(number) for number in range(1_000)])
    opened = open_engine if _LARGE else Changing.opened
    changes = StoreChanges({"": store}, lambda _, engine: engines.append(engine), opened=opened, merge_after_s=0)
    base = changes.adopt("", opened(store))
    changes.upsert("", [_variant(base, 0)])  # the worker process starts
    sent: list[float] = []
    whole: list[float] = []
    found = 0
    numbers = itertools.count(1)
    while len(sent) < _CHANGES:
        tool = _variant(base, next(numbers))
        started = time.perf_counter()
        try:
            changes.upsert("", [tool])
        except CatalogError:  # of a tool whose own document has severe findings
            continue
        sent.append(time.perf_counter() - started)
        answer = engines[-1].retriever().retrieve(Request(query=f"{tool['name']} {tool['description']}"[:500], k=10))
        whole.append(time.perf_counter() - started)
        found += tool["id"] in {each.id for each in answer.tools}
        del engines[:-1]
    changes.close()
    text = (
        f"{found} of {_CHANGES} found by the first request after the acknowledgement; from submission to answer {_middle(whole):.2f} s in "
        f"the middle, {max(whole):.2f} s at most, of which the change {_middle(sent):.2f} and {max(sent):.2f} s; "
        f"{base.snapshot.tool_count:,} tools"
    )
    return Figure(text=text, held=found == _CHANGES and max(whole) <= 1.0)


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def _variant(base: SnapshotEngine, number: int) -> dict[str, Any]:
    """Another tool of the catalogue's kind."""
    tool: dict[str, Any] = json.loads(base.snapshot.tools.text(number * 97 % base.snapshot.tool_count))
    metadata = {key: value for key, value in tool["metadata"].items() if key not in ("context_parameters", "title")}
    words = f"qzx{number}"
    return {
        **tool,
        "id": f"{tool['id']} {words}",
        "name": f"{tool['name']} {words}",
        "description": f"{tool.get('description', '')} Variant {words}.",
        "metadata": metadata,
    }


def _same_answers(folder: Path) -> Figure:
    """Compare the answers of the shipped company's catalogue, of which some tools came as changes, with those after the merge."""
    build_snapshot([str(_COMPANY / "catalog")], folder / "all", encoder=ENCODER)
    whole = Changing.opened(folder / "all").snapshot
    tools = [json.loads(as_read(tool).canonical_json()) for tool in whole.tools]
    lines = (_COMPANY / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    requests = [json.loads(line)["query"] for line in lines][:_REQUESTS]
    parts, least = [], len(requests)
    for size in (1, 10, 100):
        held = tools[:: len(tools) // size][:size]
        built(folder / str(size), [tool for tool in tools if tool not in held])
        changing = Changing(folder / str(size))
        changing.upsert(*held)
        before = [changing.found(request, k=10) for request in requests]
        changing.changes.merge("")
        after = [changing.found(request, k=10) for request in requests]
        ordered = sum(map(list.__eq__, before, after))
        same = sum(set(one) == set(other) for one, other in zip(before, after, strict=True))
        least = min(least, same)
        parts.append(f"{size} changed: {same} of {len(requests)} the same ten, {ordered} in the same order")
    return Figure(text=f"of {len(tools)} tools " + "; ".join(parts), held=least >= _SAME_SHARE * len(requests))


ROWS = [
    Row(
        key="changes-map",
        item="Random changes of a catalogue with restarts and merges agree with a map",
        bar="0 divergences in 20,000 steps",
        measure=_random_changes,
        fast=False,
    ),
    Row(
        key="changes-torn",
        item="A log of changes that is cut or changed at any byte of its last record keeps all others and goes on",
        bar="every cut and every changed byte",
        measure=_torn_tails,
    ),
    Row(
        key="changes-kill",
        item="kill -9 of the process that changes a catalogue: what was acknowledged is there after the restart",
        bar="50 of 50",
        measure=_kills,
        fast=False,
    ),
    Row(
        key="changes-found",
        item="A changed tool of a large catalogue is found by the first request after its acknowledgement",
        bar="30 of 30, each within 1 s from the submission of the change to the answer",
        measure=_found_at_once,
        fast=False,
    ),
    Row(
        key="changes-same",
        item="Before the merge a changed catalogue answers as after it",
        bar="the same ten tools in at least 95 of 100 requests, beside those of the build of all tools",
        measure=_same_answers,
        fast=False,
    ),
]
