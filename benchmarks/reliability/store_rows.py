"""A store under kills and damaged files."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.reliability.harness import Figure, Row
from inference import HashingEncoder
from ontology.errors import EgotoolsError, SnapshotError
from retrieval.engine import Engine
from retrieval.query.request import Request
from retrieval.snapshot.history import history
from retrieval.snapshot.publish import SNAPSHOTS, current_snapshot, publish, published_id, staging_folder
from retrieval.snapshot.reader import open_snapshot
from services.jobs.build import build_snapshot
from services.server.catalogs import CatalogStore

_SEED = 20_261_122
_KILLS, _DAMAGES = 100, 200
_NOUNS = ("order", "invoice", "supplier", "employee", "contract", "shipment", "ticket", "asset")


def _row(at: int) -> dict[str, object]:
    """The definition of a function."""
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
    document.write_text(json.dumps(list(map(_row, range(count)))), encoding="utf-8")
    return build_snapshot([str(document)], store, encoder=HashingEncoder(), cached=False, keep=0).snapshot_id


def _publish(store: Path, written: Path) -> None:
    """Publish a snapshot that is written already; its files are linked, as a tuning does."""
    with staging_folder(store) as folder:
        for path in sorted(written.iterdir()):
            os.link(path, folder / path.name)
        publish(store, folder, written.name)


def _litter(store: Path) -> list[str]:
    """What is in the store besides what belongs there."""
    known = {"CURRENT", "history.jsonl", SNAPSHOTS, "reports", ".lock", "cache.sqlite", "findings.json"}
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
    trials = whole = clean = killed = 0
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
        _publish(store, following)  # the start of the next one
        clean += not _litter(store)
    text = f"{whole} of {trials} stores served, {clean} without litter after the next publication ({killed} were killed in time)"
    return Figure(text=text, held=whole == clean == trials and killed == _KILLS)


def _serves(store: Path, ids: Sequence[str]) -> bool:
    """Whether the start of a server finds one of these ids, every hash checked, and the history ends with it."""
    catalog = CatalogStore(path=store)
    try:
        found = catalog.open().snapshot_id
        return found in ids and history(store)[-1].snapshot_id == found
    except EgotoolsError:
        return False


def _damaged_files(folder: Path) -> Figure:
    """Flip one byte of a random file of the next snapshot, or cut it; the engine that serves goes on."""
    chance = random.Random(_SEED)
    serving = folder / "serving"
    _built(folder, 40, serving)
    engine = Engine(open_snapshot(serving), HashingEncoder())
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
        again = Engine(open_snapshot(serving), HashingEncoder())
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


ROWS = (
    Row(
        "kill-publish",
        "A publication that is killed at a random moment leaves the last published snapshot serving, and no litter",
        f"{_KILLS} of {_KILLS} trials",
        _killed_publishing,
    ),
    Row(
        "damaged-files",
        "A flipped byte or a cut in a file of the next snapshot: refused by the name of the file, the old one serves",
        f"{_DAMAGES} of {_DAMAGES}",
        _damaged_files,
        fast=True,
    ),
)
