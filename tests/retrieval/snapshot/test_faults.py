"""A disk that fails, and a process that is killed, at every step of publishing, going back and collecting."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ontology.errors import EgotoolsError, SnapshotError, StorageError
from retrieval.snapshot.history import collect, history, rollback
from retrieval.snapshot.publish import publish, staging_folder
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.writer import SnapshotContent, write_snapshot
from tests.retrieval.conftest import published
from tests.retrieval.snapshot.faults import acting_at, die, failing, killed_at


@dataclass(frozen=True, slots=True)
class _Case:
    """A store in which ``before`` is published, and what is written and not yet published."""

    store: Path
    older: str
    before: str
    written: Path
    next: str

    def publish(self) -> None:
        with staging_folder(self.store) as folder:
            for path in sorted(self.written.iterdir()):
                os.link(path, folder / path.name)
            publish(self.store, folder, self.next)

    def rollback(self) -> None:
        rollback(self.store)

    def collect(self) -> None:
        collect(self.store, 1)

    def copy(self, store: Path) -> _Case:
        """The same in another folder; files that nobody writes in place are linked."""
        shutil.copytree(self.store, store, copy_function=os.link)
        for name in ("history.jsonl", "CURRENT"):
            (store / name).unlink()
            shutil.copy(self.store / name, store / name)
        return _Case(store, self.older, self.before, self.written, self.next)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory, content: SnapshotContent) -> _Case:
    folder = tmp_path_factory.mktemp("faults")
    store = folder / "store"
    older = published(store, replace(content, created_by="egotools older")).name
    before = published(store, content).name
    (folder / "written").mkdir()
    following = write_snapshot(folder / "written", replace(content, created_by="egotools next"))
    return _Case(store, older, before, folder / "written", following)


WORK: dict[str, tuple[Callable[[_Case], None], Callable[[_Case], str]]] = {
    "publish": (_Case.publish, lambda case: case.next),
    "rollback": (_Case.rollback, lambda case: case.older),
    "collect": (_Case.collect, lambda case: case.before),
}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("name", WORK)
def test_a_disk_that_fails_at_any_step_is_a_typed_error_and_changes_nothing(
    tmp_path: Path, case: _Case, name: str, code: int
) -> None:
    """Each write, fsync, rename, and opening, of files and folders, once; reads of folders too."""
    work, after = WORK[name]
    refused = 0
    steps_of_work = _count(case.copy(tmp_path / "counted"), work)
    for step in _chosen(steps_of_work):
        own = case.copy(tmp_path / str(step))
        told = history(own.store)
        try:
            with acting_at(step, failing(code)):
                work(own)
        except EgotoolsError as error:
            refused += 1
            assert isinstance(error, StorageError | SnapshotError)
            assert error.subject
            expected = case.before
            assert history(own.store) == told
        else:  # nothing failed, or only what is no harm: to remove a leftover, or a lease
            expected = after(case)
        assert open_snapshot(own.store).id == expected
        shutil.rmtree(own.store)
    assert refused > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", WORK)
def test_a_process_that_is_killed_at_any_step_leaves_a_whole_snapshot_and_no_litter(
    tmp_path: Path, case: _Case, name: str
) -> None:
    work, after = WORK[name]
    seen = set()
    steps_of_work = _count(case.copy(tmp_path / "counted"), work)
    for step in _chosen(steps_of_work):
        own = case.copy(tmp_path / str(step))
        assert killed_at(step, lambda: work(own)) == (step <= steps_of_work)  # noqa: B023
        found = open_snapshot(own.store).id
        assert found in (case.before, after(case))
        seen.add(found)
        assert [entry.snapshot_id for entry in history(own.store)][-1] == found
        collect(own.store, 5)
        rest = {
            path.name
            for path in own.store.iterdir()
            if path.name.startswith(".") and path.stat().st_size and path.name != ".lock"
        }
        assert all(name.startswith(".CURRENT.") for name in rest), rest  # removed by the next publication
        assert not list((own.store / "snapshots").glob(".*"))
        shutil.rmtree(own.store)
    assert seen == {case.before, after(case)}


def _count(case: _Case, work: Callable[[_Case], None]) -> int:
    """How many steps the work takes."""
    with acting_at(0, die) as steps:
        work(case)
    return steps.count


def _chosen(count: int) -> list[int]:
    """The first and the last steps, one past the end, and a few of those between, which do the same for each file."""
    return sorted({*range(1, min(count, 8)), *range(8, count, 40), *range(max(1, count - 26), count + 2)})


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["stray", "missing", "altered", "folder", "link"])
def test_publishing_over_a_damaged_snapshot_never_makes_it_worse(
    tmp_path: Path, content: SnapshotContent, damage: str
) -> None:
    """A stray file is the case in which the old one still served: at every step before which the process dies, each file of the
    manifest that was right is there and right.
    """
    original, written = tmp_path / "original", tmp_path / "written"
    folder = published(original, content)
    shutil.copytree(folder, written)
    _damage(folder, damage)
    right = {path.name for path in folder.iterdir() if _is_same(path, written / path.name)}

    def mend(store: Path) -> None:
        with staging_folder(store) as staged:
            for path in written.iterdir():
                os.link(path, staged / path.name)
            publish(store, staged, folder.name)

    shutil.copytree(original, tmp_path / "counted", symlinks=True)
    with acting_at(0, die) as steps:
        mend(tmp_path / "counted")
    for step in (*range(max(1, steps.count - 30), steps.count, 2), steps.count + 1):
        store = tmp_path / str(step)
        shutil.copytree(original, store, symlinks=True)
        died = killed_at(step, lambda: mend(store))  # noqa: B023
        target = store / "snapshots" / folder.name
        assert right <= {path.name for path in target.iterdir() if _is_same(path, written / path.name)}
        shutil.rmtree(tmp_path / "last", ignore_errors=True)
        store.rename(tmp_path / "last")
    assert not died
    assert open_snapshot(tmp_path / "last").id == folder.name


def _damage(folder: Path, damage: str) -> None:
    if damage == "stray":
        (folder / "stray").write_text("x", encoding="utf-8")
        (folder / "stray folder").mkdir()
    elif damage == "altered":
        (folder / "tools.jsonl").write_text("x", encoding="utf-8")
    else:
        (folder / "tools.jsonl").unlink()
        if damage == "folder":
            (folder / "tools.jsonl").mkdir()
        elif damage == "link":
            (folder / "tools.jsonl").symlink_to("/etc/hostname")


def _is_same(path: Path, other: Path) -> bool:
    return path.is_file() and other.is_file() and path.read_bytes() == other.read_bytes()
