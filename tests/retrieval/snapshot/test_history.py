"""The history of a store: every publication, in order, however a process ends; and the way back."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import NotFoundError, SnapshotCorruptError
from retrieval.snapshot.history import history, list_snapshots, rollback
from retrieval.snapshot.publish import current_snapshot
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.writer import SnapshotContent
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


def test_going_back_twice_goes_back_two_publications(three: tuple[Path, list[str]]) -> None:
    store, (a, b, c) = three
    assert rollback(store, actor="ops").snapshot_id == b
    assert open_snapshot(store).id == b
    assert rollback(store).snapshot_id == a
    with pytest.raises(NotFoundError, match="no earlier"):
        rollback(store)
    assert _told(store)[3:] == [(4, "rollback", c, b), (5, "rollback", b, a)]
    assert history(store)[3].actor == "ops"
    assert rollback(store, c).previous_id == a  # any snapshot by name, forward too


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
