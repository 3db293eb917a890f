"""Publications while a catalogue changes: whatever takes the place of a snapshot takes over its changes, weights and learned part."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrieval.snapshot.publish as publish_module
import services.jobs.changing_catalogue as catalogue_module
from eval.learning import Influence, Session
from eval.learning.make_learned import encode_sessions, make_learned
from ontology import CatalogError, EgotoolsError, NotReadyError, SnapshotError
from retrieval.delta.change_log import ChangeLog
from retrieval.index.learned_use import LearnedUse
from retrieval.ranking.weights import SHIPPED, RankingWeights, ranking_section
from retrieval.snapshot.publish import publish_again, published_id
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.relearn import publish_learned
from retrieval.snapshot.reweight import publish_reweighted
from scripts.reliability.changing import ENCODER, Changing, built, row
from services.jobs.build import build_snapshot
from services.jobs.merge_changes import MergeProcess, merge_changes
from services.server.catalog_store import CatalogStore
from services.server.catalogs import Catalogs
from tests.conftest import ROOT
from tests.waiting import wait_until

NEW, LATER = row(20), row(21)
OWN = ranking_section(RankingWeights(**{**SHIPPED, "bm25_text": 2.0}))


def tuned(store: Path) -> str:
    return publish_reweighted(open_snapshot(store), store, OWN, replaces=published_id(store))


def learned_part(snapshot: Snapshot) -> LearnedUse:
    """What two reporters said of tool 0 with tool 1, and of tool 2 alone."""
    pairs = ([row(0)["id"], row(1)["id"]], [row(2)["id"]])
    past = [
        Session(id=f"{place}-{who}", tools=tuple(tools), time=1e9, reporter=f"r{who}", query="the zebra parade")
        for place, tools in enumerate(pairs)
        for who in range(4)
    ]
    weighted = Influence().weigh(past)
    vectors_PD = encode_sessions([each.session for each in weighted], snapshot, ENCODER)
    return make_learned(weighted, vectors_PD, snapshot, min_reporters=2)


def learned(store: Path) -> str:
    snapshot = open_snapshot(store)
    return publish_learned(snapshot, store, learned_part(snapshot), replaces=published_id(store))


@pytest.mark.parametrize("publication", [tuned, learned])
def test_tune_and_learn_keep_the_changes(store: Path, publication: Callable[[Path], str]) -> None:
    changing = Changing(store)
    changing.upsert(NEW)
    wanted, before = changing.tools(), published_id(store)
    after = publication(store)  # another process, while the server has the log open
    with pytest.raises(NotReadyError, match="another snapshot"):
        changing.upsert(LATER)  # it would be lost: the server does not yet serve what is published
    again = Changing.again(changing)
    assert published_id(store) == again.engine.snapshot_id.partition("+")[0] == after != before
    assert again.tools() == wanted
    assert again.upsert(LATER).added == 1
    assert LATER["id"] in Changing.again(again).tools()


def test_a_merge_keeps_the_weights_and_what_was_learned(store: Path) -> None:
    learned(store)
    tuned(store)
    changing = Changing(store)
    changing.upsert({**NEW, "id": "a/first", "name": "first"})  # every other tool gets another number
    changing.delete(row(2)["id"])
    before = {path.name for path in (store / "snapshots").iterdir()}
    merged = changing.changes.merge("")
    snapshot = open_snapshot(store)
    assert snapshot.manifest.ranking == OWN
    assert snapshot.learned is not None and snapshot.manifest.learned is not None
    used = {snapshot.tool_id(int(tool)) for tool in snapshot.learned.tools}
    assert used == {row(0)["id"], row(1)["id"]}
    pairs = snapshot.learned.used_with
    assert {snapshot.tool_id(int(tool)) for tool in pairs.heads} == used
    assert np.isfinite(snapshot.learned.lengths).all()
    assert {path.name for path in (store / "snapshots").iterdir()} == {*before, merged}
    assert Changing.again(changing).tools() == changing.tools()


def test_what_a_merge_cannot_carry_stays_in_the_log(tmp_path: Path) -> None:
    observed = tmp_path / "observed.jsonl"
    observed.write_text('{"value": "INV-00123", "parameter": "invoice_id"}\n', encoding="utf-8")
    store = tmp_path / "store"
    built(store)
    tools = store.with_suffix(".d") / "tools.jsonl"
    build_snapshot([str(tools)], store, encoder=ENCODER, observed=observed)
    changing = Changing(store)
    changing.upsert(NEW)
    with pytest.raises(CatalogError, match="observed values"):
        changing.changes.merge("")
    assert NEW["id"] in Changing.again(changing).tools()


def test_the_merge_of_a_catalogue_that_was_left_publishes_nothing(store: Path) -> None:
    """The store publishes another snapshot during the merge, and is rolled back to the first one."""
    changing, first = Changing(store), published_id(store)
    changing.upsert(NEW)
    left = changing.changes._catalogue("")

    def during(store: Path, base_id: str, count: int) -> str:
        built(store, [row(number) for number in range(5)])
        changing.engine = changing.changes.adopt("", changing.opened(store))
        publish_again(store, first, action="rollback")
        changing.engine = changing.changes.adopt("", changing.opened(store))
        changing.upsert(LATER)
        return merge_changes(store, base_id, count, encoder=ENCODER)

    with pytest.raises(SnapshotError):
        left.merge(during, changing.opened)
    assert published_id(store) == first
    again = Changing.again(changing)
    assert {NEW["id"], LATER["id"]} <= {*again.tools()}


def test_a_merge_that_ends_after_the_server_publishes_nothing(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changing, first = Changing(store), published_id(store)
    changing.upsert(NEW)
    merger = changing.changes._merger
    others: list[Changing] = []

    def during(store: Path, base_id: str, count: int) -> str:
        changing.changes.close()
        others.append(Changing(store))
        others[0].upsert(LATER)
        return merger(store, base_id, count)

    monkeypatch.setattr(changing.changes, "_merger", during)
    with pytest.raises(SnapshotError):
        changing.changes.merge("")
    assert published_id(store) == first
    assert {NEW["id"], LATER["id"]} <= {*Changing.again(others[0]).tools()}


def test_another_process_that_opens_the_store_during_a_publication_loses_nothing(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changing, first = Changing(store), published_id(store)
    changing.upsert(NEW)
    merger, name_current = changing.changes._merger, publish_module._name_current
    opens: list[threading.Thread] = []

    def during(store: Path, base_id: str, count: int) -> str:
        changing.upsert(LATER)
        return merger(store, base_id, count)

    def slow(*given: Any) -> Any:
        opens.append(threading.Thread(target=lambda: ChangeLog(store, first).close()))
        opens[0].start()
        opens[0].join(0.1)  # it waits for the lock; without one it has ended
        return name_current(*given)

    monkeypatch.setattr(changing.changes, "_merger", during)
    monkeypatch.setattr(publish_module, "_name_current", slow)
    changing.changes.merge("")
    opens[0].join()
    assert {NEW["id"], LATER["id"]} <= {*Changing.again(changing).tools()}


def test_a_merge_does_not_hide_a_build(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changing = Changing(store)
    changing.upsert(NEW)
    builds: list[str] = []

    def overtaken(*given: Any, **named: Any) -> Any:
        builds.append(built(store, [row(1), row(2)]))
        return publish_again(*given, **named)

    monkeypatch.setattr(catalogue_module, "publish_again", overtaken)
    with pytest.raises(SnapshotError, match="another snapshot was published"):
        changing.changes.merge("")
    assert [published_id(store)] == builds
    assert NEW["id"] in changing.tools()


def test_merges_collect_old_snapshots(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue_module, "DEFAULT_KEEP", 2)
    changing = Changing(store)
    for number in range(3):
        changing.upsert(row(20 + number))
        changing.changes.merge("")
    assert len(list((store / "snapshots").iterdir())) == 2


def test_a_catalogue_that_cannot_be_made_leaves_the_one_before(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changing = Changing(store)
    changing.upsert(NEW)

    def dead(*_: object) -> Any:
        raise NotReadyError("the process that reads tools has died", subject="tools")

    with monkeypatch.context() as patch:
        patch.setattr(type(changing.changes._reader), "make", dead)
        with pytest.raises(NotReadyError, match="has died"):
            changing.changes.adopt("", changing.opened(store))
    assert changing.upsert(LATER).added == 1
    assert {NEW["id"], LATER["id"]} <= {*Changing.again(changing).tools()}


def test_a_state_is_newer_than_the_states_before_it(store: Path) -> None:
    changing = Changing(store)
    states = [published_id(store), *(changing.upsert(row(number)).snapshot_id for number in (20, 21, 22))]
    again = Changing.again(changing)
    published = CatalogStore(path=store).published()
    catalogs = Catalogs()
    catalogs.swap("", again.engine, published.history, published.states)
    assert published.state_id == states[-1] == again.engine.snapshot_id
    for state in states:
        catalogs.require_snapshot("", states[-1], state)
    with pytest.raises(EgotoolsError, match="does not know"):
        catalogs.require_snapshot("", states[-1], f"{states[0]}+00000000")
    earlier = Catalogs()
    earlier.swap("", Changing.opened(store), published.history, published.states)
    with pytest.raises(EgotoolsError, match="does not know"):
        earlier.require_snapshot("", states[0], states[1])


_MERGES = """
import sys
from pathlib import Path
from services.jobs.merge_changes import MergeProcess
MergeProcess()(Path(sys.argv[1]), sys.argv[2], 1)
"""


@pytest.mark.slow
def test_a_merge_process_ends_with_close(store: Path) -> None:
    changing, merger = Changing(store), MergeProcess()
    changing.upsert(NEW)
    failed: list[SnapshotError] = []

    def merge() -> None:
        try:
            merger(store, published_id(store), 1)
        except SnapshotError as error:
            failed.append(error)

    thread = threading.Thread(target=merge)
    thread.start()
    wait_until(lambda: merger._running)
    merger.close()
    thread.join()
    assert failed and not merger._running
    with pytest.raises(SnapshotError, match="the server stops"):
        merger(store, published_id(store), 1)


@pytest.mark.slow
def test_a_merge_process_ends_with_a_killed_server(store: Path) -> None:
    changing = Changing(store)
    changing.upsert(NEW)
    server = subprocess.Popen([sys.executable, "-c", _MERGES, str(store), published_id(store)], cwd=ROOT)
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    wait_until(lambda: children.read_text("utf-8").split())
    child = int(children.read_text("utf-8").split()[0])
    os.kill(child, signal.SIGSTOP)  # so that it is still there when the server dies
    server.kill()
    server.wait()
    os.kill(child, signal.SIGCONT)
    state = Path(f"/proc/{child}/stat")
    wait_until(lambda: not state.exists() or state.read_text("utf-8").rsplit(")")[-1].split()[0] == "Z")
    assert len(list((store / "snapshots").iterdir())) == 1
