"""The history of a store, however a process ends, the way back, and what is collected: nothing that is worked on or served."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import NotFoundError, SnapshotCorruptError, SnapshotError
from retrieval.snapshot.history import collect, history, list_snapshots, rollback
from retrieval.snapshot.publish import current_snapshot, serving_lease, staging_folder
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.writer import SnapshotContent
from tests.conftest import ROOT
from tests.retrieval.conftest import published


@pytest.fixture
def three(tmp_path: Path, content: SnapshotContent) -> tuple[Path, list[str]]:
    """A store with three publications, and their ids."""
    ids = [published(tmp_path, replace(content, created_by=f"egotools {name}")).name for name in "abc"]
    return tmp_path, ids


def _told(store: Path) -> list[tuple[int, str, str, str]]:
    return [(each.sequence, each.action, each.previous_id, each.snapshot_id) for each in history(store)]


def test_every_publication_is_told_with_who_and_when(three: tuple[Path, list[str]]) -> None:
    store, (a, b, c) = three
    assert _told(store) == [(1, "publish", "", a), (2, "publish", a, b), (3, "publish", b, c)]
    for entry in history(store):
        assert "@" in entry.actor
        assert timedelta() <= datetime.now(UTC) - entry.time < timedelta(hours=1)


@pytest.mark.parametrize("cut", [1, 20, "newline", "flip"])
def test_a_torn_last_line_is_cut(three: tuple[Path, list[str]], content: SnapshotContent, cut: Any) -> None:
    store, (a, b, c) = three
    log = store / "history.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    last = {"newline": lines[2][:-1], "flip": lines[2].replace(b"publish", b"publisH")}.get(cut) or lines[2][:cut]
    log.write_bytes(b"".join([*lines[:2], last]))
    assert _told(store) == [(1, "publish", "", a)]  # what CURRENT does not confirm is not told
    d = published(store, replace(content, created_by="egotools d")).name
    assert _told(store)[-1][1:] == ("publish", c, d)
    assert len(log.read_bytes().splitlines()) == 3
    assert b


def test_a_damaged_line_amid_others_is_refused_and_named(
    three: tuple[Path, list[str]], content: SnapshotContent
) -> None:
    store, (_, _, c) = three
    log = store / "history.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(lines[0] + lines[1].replace(b"publish", b"pub\xff") + lines[2])
    for act in (history, rollback, lambda store: published(store, replace(content, created_by="egotools d"))):
        with pytest.raises(SnapshotCorruptError, match="damaged") as refused:
            act(store)
        assert refused.value.subject.endswith("history.jsonl:2")
    assert current_snapshot(store).name == c


def test_the_snapshots_of_a_store_newest_publication_first(three: tuple[Path, list[str]]) -> None:
    store, (a, b, c) = three
    rollback(store, a)
    (store / "snapshots" / "unpublished").mkdir()
    found = list_snapshots(store)
    assert [each.snapshot_id for each in found] == [a, c, b, "unpublished"]
    assert [each.current for each in found] == [True, False, False, False]
    assert {each.tool_count for each in found[:3]} == {6}
    assert all(each.bytes > 10_000 and each.published and not each.problem for each in found[:3])
    assert found[3].published is None
    assert found[3].problem


# -- leases ------------------------------------------------------------------------------------------------------------


_BUILDS = """
import sys, time
from pathlib import Path
from retrieval.snapshot.publish import staging_folder
with staging_folder(Path(sys.argv[1])) as folder:
    (folder / "tools.jsonl").write_text("work of hours")
    print(folder.name, flush=True)
    time.sleep(600)
"""


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
    with staging_folder(store):
        assert (folder / "tools.jsonl").exists()
    process.send_signal(signal.SIGSTOP)  # slow is not dead
    collect(store, 0)
    assert (folder / "tools.jsonl").exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    with staging_folder(store):
        pass
    assert not list(store.glob(".building-*"))


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
    code = "import sys, time; from pathlib import Path; from retrieval.snapshot.publish import serving_lease\nheld = serving_lease(Path(sys.argv[1])); print('held', flush=True); time.sleep(600)"
    command = [sys.executable, "-c", code, str(store / "snapshots" / ids[0])]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        server.stdout.readline()
        assert collect(store, 1).in_use == (ids[0],)
        server.kill()
        server.wait()
    assert collect(store, 1).removed == (ids[0],)


def test_a_snapshot_that_is_gone_cannot_be_leased(six: tuple[Path, list[str]]) -> None:
    store, _ = six
    with pytest.raises(NotFoundError):
        serving_lease(store / "snapshots" / "gone")
    assert current_snapshot(store)
