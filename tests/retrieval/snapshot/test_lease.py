"""Leases: what a process works on or serves is not removed by another one, wherever it runs; what a dead one left is."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ontology.errors import NotFoundError, SnapshotError
from retrieval.snapshot.collect import collect
from retrieval.snapshot.history import list_snapshots
from retrieval.snapshot.lease import held_lease, is_dead, serving_lease
from retrieval.snapshot.publish import current_snapshot, staging_folder
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.staging import remove_unfinished
from retrieval.snapshot.writer import SnapshotContent
from tests.conftest import ROOT
from tests.harness.waiting import wait_until
from tests.retrieval.conftest import published

_BUILDS = """
import sys, time
from pathlib import Path
from retrieval.snapshot.staging import staging_folder
with staging_folder(Path(sys.argv[1])) as folder:
    (folder / "tools.jsonl").write_text("work of hours")
    print(folder.name, flush=True)
    time.sleep(600)
"""
_NAMESPACE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]


def _has_namespaces() -> bool:
    return bool(shutil.which("unshare")) and not subprocess.run([*_NAMESPACE, "true"], capture_output=True).returncode


@pytest.fixture
def building(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A build in another process, and its staging folder."""
    command = [sys.executable, "-c", _BUILDS, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process, tmp_path / process.stdout.readline().strip()
        process.kill()


def test_a_build_that_works_is_left_alone_and_what_a_killed_one_left_is_removed(
    building: tuple[subprocess.Popen[str], Path],
) -> None:
    process, folder = building
    store = folder.parent
    remove_unfinished(store)
    with staging_folder(store):
        assert (folder / "tools.jsonl").exists()
    process.send_signal(signal.SIGSTOP)  # slow is not dead
    remove_unfinished(store)
    assert (folder / "tools.jsonl").exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    with staging_folder(store):
        pass
    assert not list(store.glob(".building-*"))


@pytest.mark.skipif(not _has_namespaces(), reason="this machine makes no process namespaces")
def test_a_build_of_another_container_does_not_end_this_one(building: tuple[subprocess.Popen[str], Path]) -> None:
    """In its namespace no process of this one exists, and its own ids are small."""
    _, folder = building
    code = f"from pathlib import Path; from retrieval.snapshot.publish import staging_folder\nwith staging_folder(Path({str(folder.parent)!r})): pass"
    subprocess.run([*_NAMESPACE, sys.executable, "-c", code], cwd=ROOT, check=True)
    assert (folder / "tools.jsonl").read_text(encoding="utf-8") == "work of hours"


def test_a_build_of_another_machine_is_alive_while_its_heart_beats(tmp_path: Path) -> None:
    """Its lock may not be seen here: the boot id tells that, and then only the heartbeat counts."""
    folder, lease = tmp_path / ".building-0123", tmp_path / ".building-0123.lease"
    folder.mkdir()
    lease.write_text(json.dumps({"boot_id": "another kernel", "host": "b", "pid": 7}), encoding="utf-8")
    remove_unfinished(tmp_path)
    assert folder.exists()
    hours_ago = time.time() - 7_200
    os.utime(lease, (hours_ago, hours_ago))
    remove_unfinished(tmp_path)
    assert not folder.exists()
    assert not lease.exists()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"boot_id": 5}'])
def test_a_lease_that_is_just_being_written_is_alive(tmp_path: Path, content: str) -> None:
    (tmp_path / "lease").write_text(content, encoding="utf-8")
    assert not is_dead(tmp_path / "lease", time.time())
    assert is_dead(tmp_path / "lease", time.time() + 7_200)


def test_what_is_no_lease_is_not_dead(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("pipe", "link", "missing"):
        assert not is_dead(tmp_path / name, time.time() + 10**6)


def test_a_folder_without_a_lease_is_removed_after_a_day(tmp_path: Path) -> None:
    """Releases before this one had no leases."""
    for name in ("old", "new"):
        (tmp_path / f".building-{name}").mkdir()
    days_ago = time.time() - 200_000
    os.utime(tmp_path / ".building-old", (days_ago, days_ago))
    remove_unfinished(tmp_path)
    assert [path.name for path in tmp_path.glob(".building-*")] == [".building-new"]


def test_the_heart_of_a_lease_beats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.snapshot.lease._HEARTBEAT_S", 0.01)
    path = tmp_path / "lease"
    with held_lease(path):
        os.utime(path, (0, 0))
        wait_until(lambda: path.stat().st_mtime > 1_000_000)
    assert not path.exists()


def test_a_store_can_be_read_by_others_as_the_mask_allows(tmp_path: Path, content: SnapshotContent) -> None:
    before = os.umask(0o022)
    try:
        folder = published(tmp_path / "open", content)
        os.umask(0o077)
        hidden = published(tmp_path / "hidden", content)
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o755
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o644}
    assert (tmp_path / "open" / "CURRENT").stat().st_mode & 0o777 == 0o644
    assert hidden.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_another_user_serves_the_store_and_gets_a_typed_error_where_it_may_not(content: SnapshotContent) -> None:
    store = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip())
    try:
        store.chmod(0o755)
        published(store, content)
        assert _opened_by_nobody(store) == 0
        (store / "snapshots").chmod(0o700)
        assert _opened_by_nobody(store) == SnapshotError.exit_code
    finally:
        shutil.rmtree(store)


def _opened_by_nobody(store: Path) -> int:
    """The exit code of a child that becomes the user nobody and opens the store: 0, or that of the typed error."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 99
    try:
        os.setgid(65_534)
        os.setuid(65_534)
        open_snapshot(store)
        code = 0
    except SnapshotError as error:
        code = error.exit_code
    finally:
        os._exit(code)


@pytest.fixture
def six(tmp_path: Path, content: SnapshotContent) -> tuple[Path, list[str]]:
    """A store with six publications, and their ids."""
    return tmp_path, [published(tmp_path, replace(content, created_by=f"egotools {at}")).name for at in range(6)]


def _ids(store: Path) -> set[str]:
    return {each.snapshot_id for each in list_snapshots(store)}


def test_the_newest_snapshots_are_kept(six: tuple[Path, list[str]]) -> None:
    store, ids = six
    (store / "reports").mkdir()
    for each in (ids[0], ids[5]):
        (store / "reports" / f"{each}.json").write_text("{}", encoding="utf-8")
    assert collect(store, 0).removed == ()
    done = collect(store, 4)
    assert done.removed == tuple(ids[:2])
    assert done.bytes > 10_000
    assert _ids(store) == set(ids[2:])
    assert [path.name for path in (store / "reports").iterdir()] == [f"{ids[5]}.json"]
    assert open_snapshot(store).id == ids[5]
    assert collect(store, 4).removed == ()


def test_neither_the_published_snapshot_nor_a_served_one_is_ever_removed(six: tuple[Path, list[str]]) -> None:
    from retrieval.snapshot.history import rollback

    store, ids = six
    rollback(store, ids[0])
    served = open_snapshot(store / "snapshots" / ids[1])  # a lease without asking for one
    with serving_lease(store / "snapshots" / ids[2]):
        done = collect(store, 1)
        assert done.in_use == (ids[1], ids[2])
        assert _ids(store) == {ids[0], ids[1], ids[2]}
    assert served.tool_count == 6
    served.release()
    assert set(collect(store, 1).removed) == {ids[1], ids[2]}
    assert _ids(store) == {ids[0]}


def test_a_server_of_another_process_holds_its_snapshot(six: tuple[Path, list[str]]) -> None:
    store, ids = six
    code = "import sys, time; from pathlib import Path; from retrieval.snapshot.lease import serving_lease\nheld = serving_lease(Path(sys.argv[1])); print('held', flush=True); time.sleep(600)"
    command = [sys.executable, "-c", code, str(store / "snapshots" / ids[0])]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        server.stdout.readline()
        assert collect(store, 1).in_use == (ids[0],)
        server.kill()
        server.wait()
    assert collect(store, 1).removed == (ids[0],)


def test_what_a_killed_collection_left_is_removed_by_the_next(six: tuple[Path, list[str]]) -> None:
    store, ids = six
    (store / "snapshots" / ids[0]).rename(store / "snapshots" / f".collected-{ids[0]}-01234567")
    assert ids[0] not in _ids(store)
    assert collect(store, 5).removed == ()
    assert not list((store / "snapshots").glob(".*"))


def test_what_is_no_snapshot_neither_counts_nor_stops_a_collection(six: tuple[Path, list[str]]) -> None:
    store, ids = six
    (store / "snapshots" / "notes.txt").write_text("mine", encoding="utf-8")
    (store / "snapshots" / "link").symlink_to(store)
    assert collect(store, 1).removed == tuple(ids[:5])
    assert (store / "snapshots" / "notes.txt").exists()


def test_a_snapshot_that_is_gone_cannot_be_leased(six: tuple[Path, list[str]]) -> None:
    store, _ = six
    with pytest.raises(NotFoundError):
        serving_lease(store / "snapshots" / "gone")
    assert current_snapshot(store)
