"""A store under kills, failing disks and damaged files, and builds under killed workers."""

from __future__ import annotations

import contextlib
import errno
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from inference import HashingEncoder
from ingest.extract.rules_extractor import RulesExtractor
from ontology import Tool, load_ontology
from ontology.errors import EgotoolsError, SnapshotError, StorageError
from retrieval.engine import SnapshotEngine
from retrieval.query.request import Request
from retrieval.snapshot.collect import collect
from retrieval.snapshot.history import history, rollback
from retrieval.snapshot.publish import SNAPSHOTS, current_snapshot, publish, published_id, staging_folder
from retrieval.snapshot.reader import open_snapshot
from scripts.reliability.row import Figure, Row
from services.jobs.build import build_snapshot
from services.server.catalogs import CatalogStore
from tests.harness.faults import acting_at, failing

__all__ = ["ROWS"]

_ROOT = Path(__file__).resolve().parents[2]
_SEED = 20_261_122
_KILLS, _DAMAGES = 100, 200
_TOOLS, _WORKER_KILLS = 4_000, 20
_NOUNS = ("order", "invoice", "supplier", "employee", "contract", "shipment", "ticket", "asset")


def _rows(count: int, *, poisoned: int = 0) -> list[object]:
    """Function definitions, of which some are none, evenly spread."""
    every = count // poisoned if poisoned else count + 1
    return [7 if at % every == every - 1 else _row(at) for at in range(count)]


def _row(at: int) -> dict[str, object]:
    noun, other = _NOUNS[at % 8], _NOUNS[(at // 8) % 8]
    parameters = {
        "type": "object",
        "properties": {f"{noun}_id": {"type": "string", "description": f"Id of the {noun}."}},
    }
    text = f"Returns the {noun} number {at}. Sends the {other} of the {noun} to its owner."
    return {"name": f"get_{noun}_{at}", "description": text, "parameters": parameters}


def _built(folder: Path, count: int, store: Path) -> str:
    """Build and publish a catalogue; return the snapshot's id."""
    document = folder / f"tools-{count}.json"
    document.write_text(json.dumps(_rows(count)), encoding="utf-8")
    return build_snapshot([str(document)], store, encoder=HashingEncoder(), cached=False, keep=0).snapshot_id


def _publish(store: Path, written: Path) -> None:
    """Publish a snapshot that is written already; its files are linked, as a tuning does."""
    with staging_folder(store) as folder:
        for path in sorted(written.iterdir()):
            os.link(path, folder / path.name)
        publish(store, folder, written.name)


def _litter(store: Path) -> list[str]:
    """What is in the store besides what belongs there."""
    known = {"CURRENT", "history.jsonl", SNAPSHOTS, "reports", ".lock", "cache.sqlite"}
    aside = [path.name for path in (store / SNAPSHOTS).iterdir() if path.name.startswith(".")]
    return sorted({path.name for path in store.iterdir()} - known) + aside


def _killed_publishing(folder: Path) -> Figure:
    """Kill a publication at a random moment, open the store as a server does at its start, publish again."""
    chance = random.Random(_SEED)
    store = folder / "store"
    ids = [_built(folder, count, store) for count in (40, 41)]
    written = [shutil.copytree(store / SNAPSHOTS / each, folder / "written" / each) for each in ids]
    shutil.rmtree(store / SNAPSHOTS / ids[0])
    started = time.monotonic()
    _publish(store, written[0])
    usual_s = time.monotonic() - started
    trials = whole = started_clean = clean = killed = 0
    while killed < _KILLS and trials < 10 * _KILLS:
        trials += 1
        following = written[trials % 2]
        shutil.rmtree(store / SNAPSHOTS / following.name)  # it is not the published one, and is to be moved in again
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                _publish(store, following)
            os._exit(0)
        time.sleep(chance.uniform(0, usual_s))
        os.kill(child, signal.SIGKILL)
        killed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
        whole += _serves(store, ids)
        started_clean += not _litter(store)
        _publish(store, following)  # the start of the next one
        clean += not _litter(store)
    text = f"{whole} of {trials} stores served, {started_clean} of them without litter after that start, {clean} without litter after the next publication ({killed} were killed in time)"
    return Figure(text=text, held=whole == started_clean == clean == trials and killed == _KILLS)


def _serves(store: Path, ids: Sequence[str]) -> bool:
    """Whether the start of a server finds one of these ids, every hash checked, and the history ends with it."""
    catalog = CatalogStore(path=store)
    try:
        catalog.tidy()
        found = catalog.open().snapshot_id
        return found in ids and history(store)[-1].snapshot_id == found
    except EgotoolsError:
        return False


def _full_disk(folder: Path) -> Figure:
    """Fail every step of publishing, rolling back and collecting, with ENOSPC and with EIO, each in a store of its own."""
    store = folder / "store"
    ids = [_built(folder, count, store) for count in (3, 4, 5)]
    written = shutil.copytree(store / SNAPSHOTS / ids[2], folder / "written" / ids[2])
    rollback(store)
    shutil.rmtree(store / SNAPSHOTS / ids[2])
    works: dict[str, Callable[[Path], object]] = {
        "publish": partial(_publish, written=written),
        "rollback": rollback,
        "collect": partial(collect, keep=1),
    }
    steps = refused = wrong = 0
    for name, work in works.items():
        for code in (errno.ENOSPC, errno.EIO):
            for found, typed in _failed_steps(store, folder / f"{name}-{code}", work, code):
                steps += 1
                refused += typed
                wrong += typed and found != ids[1]
                wrong += not typed and found not in (ids[1], {"publish": ids[2], "rollback": ids[0]}.get(name))
    text = f"{steps} steps failed: {refused} typed refusals, the rest harmless; CURRENT wrong {wrong} times"
    return Figure(text=text, held=wrong == 0 and refused > 100)


def _failed_steps(store: Path, place: Path, work: Callable[[Path], object], code: int) -> Iterator[tuple[str, bool]]:
    """Yield for each step that failed what is published then, and whether the work was refused by a typed error."""
    step = 0
    while True:
        step += 1
        shutil.copytree(store, place)
        typed = False
        try:
            with acting_at(step, failing(code)) as steps:
                work(place)
        except (StorageError, SnapshotError):
            typed = True
        if not typed and steps.count < step:
            return
        yield open_snapshot(place).id, typed
        shutil.rmtree(place)


def _damaged_files(folder: Path) -> Figure:
    """Flip one byte of a random file of the next snapshot, or cut it; the engine that serves goes on."""
    chance = random.Random(_SEED)
    serving = folder / "serving"
    _built(folder, 40, serving)
    engine = SnapshotEngine(open_snapshot(serving), HashingEncoder())
    ask = Request(query="send the invoice of an order to its owner")
    expected = engine.retriever("default").retrieve(ask).tools
    before = published_id(serving)
    good = folder / "good"
    _built(folder, 41, good)
    source = current_snapshot(good)
    names = sorted(path.name for path in source.iterdir() if path.stat().st_size)
    refused = named = served = opened = 0
    for trial in range(_DAMAGES):
        name = names[trial % len(names)]
        damaged = shutil.copytree(source, serving / SNAPSHOTS / source.name)
        _damage(damaged / name, chance)
        try:
            open_snapshot(damaged)
        except SnapshotError as error:
            refused += 1
            named += name in error.subject
        served += engine.retriever("default").retrieve(ask).tools == expected
        again = SnapshotEngine(open_snapshot(serving), HashingEncoder())
        opened += again.snapshot_id == before and again.retriever("default").retrieve(ask).tools == expected
        shutil.rmtree(damaged)
    text = (
        f"{refused} of {_DAMAGES} refused, {named} by the name of the file; {served} answers of the engine that serves and {opened} of "
        "one that opens the store anew are those of the old snapshot"
    )
    return Figure(text=text, held=refused == named == served == opened == _DAMAGES)


def _damage(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data))
    if chance.random() < 0.5 and data[at : at + 1] != b"\n":
        data[at] ^= 1 << chance.randrange(8)
        path.write_bytes(bytes(data))
    else:
        path.write_bytes(bytes(data[: min(at, len(data) - 2)]))


def _same_bytes(folder: Path) -> Figure:
    """Build the same documents with other hash seeds and numbers of workers; compare every byte."""
    document = folder / "tools.json"
    document.write_text(json.dumps(_rows(1_000)), encoding="utf-8")
    ways = [("0", 1), ("1", 2), ("random", 1), ("random", 3)]
    contents = []
    for place, (seed, workers) in enumerate(ways):
        store = folder / str(place)
        command = [sys.executable, "-m", "services.cli", "build", str(document), "--out", str(store), "--json"]
        subprocess.run(
            [*command, "--encoder", "hashing.v1", "--workers", str(workers)],
            cwd=_ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        contents.append({path.name: path.read_bytes() for path in current_snapshot(store).iterdir()})
    equal = sum(content == contents[0] for content in contents)
    text = f"{equal} of {len(ways)} builds of 1,000 tools byte-identical ({len(contents[0])} files; 1, 2 and 3 workers)"
    return Figure(text=text, held=equal == len(ways))


def _killed_workers(folder: Path) -> Figure:
    """Kill a process that extracts, again and again; then read a catalogue of which 1 % is no tool."""
    ontology = load_ontology()
    tools = [
        Tool(id=str(row["name"]), name=str(row["name"]), description=str(row["description"]))
        for row in map(_row, range(_TOOLS))
    ]
    alone = list(RulesExtractor(ontology).extract(tools))
    found = []
    killed = 0
    for extraction in RulesExtractor(ontology, workers=2).extract(tools):
        found.append(extraction)
        workers = [process.pid for process in multiprocessing.active_children() if process.pid]
        if len(found) % (_TOOLS // _WORKER_KILLS) == 1 and workers:
            os.kill(workers[0], signal.SIGKILL)
            killed += 1
    ids = [each.tool_id for each in found]
    lost, doubled = _TOOLS - len(set(ids)), len(ids) - len(set(ids))
    document = folder / "tools.json"
    document.write_text(json.dumps(_rows(_TOOLS, poisoned=_TOOLS // 100)), encoding="utf-8")
    report = build_snapshot([str(document)], folder / "store", encoder=HashingEncoder(), cached=False)
    rejected = _TOOLS - report.tools
    text = (
        f"{killed} kills in {_TOOLS:,} tools: {lost} lost, {doubled} doubled, {'equal to' if found == alone else 'NOT'} the "
        f"serial run; {rejected} of {_TOOLS // 100} poisoned records rejected"
    )
    return Figure(text=text, held=found == alone and killed == _WORKER_KILLS and rejected == _TOOLS // 100)


ROWS = [
    Row(
        key="kill-publish",
        item="A publication that is killed at a random moment leaves the last published snapshot serving, and no litter",
        bar="100 of 100 trials",
        measure=_killed_publishing,
        fast=False,
    ),
    Row(
        key="full-disk",
        item="ENOSPC and EIO at each write, fsync, rename and folder fsync of publishing, rolling back and collecting",
        bar="a typed error, CURRENT unchanged, at every step",
        measure=_full_disk,
        fast=False,
    ),
    Row(
        key="damaged-files",
        item="A flipped byte or a cut in a file of the next snapshot: refused by the name of the file, the old one serves",
        bar="200 of 200",
        measure=_damaged_files,
    ),
    Row(
        key="same-bytes",
        item="The same documents give the same snapshot, whatever PYTHONHASHSEED and the number of workers",
        bar="every byte equal",
        measure=_same_bytes,
        fast=False,
    ),
    Row(
        key="killed-workers",
        item="20 kills of workers of a build of 4,000 documents, 1 % of them poisoned",
        bar="0 lost, 0 doubled, equal to the serial run; the poisoned are rejected",
        measure=_killed_workers,
        fast=False,
    ),
]
