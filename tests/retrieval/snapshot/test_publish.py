"""Publishing: whatever goes wrong, CURRENT names a whole snapshot."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ontology.errors import NotFoundError, SnapshotCorruptError, SnapshotError
from retrieval.snapshot.history import history
from retrieval.snapshot.publish import current_snapshot, publish_again
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.writer import SnapshotContent
from tests.retrieval.conftest import published


def test_every_file_is_guarded_by_its_hash(tmp_path: Path, store: Path) -> None:
    source = current_snapshot(store)
    names = sorted(path.name for path in source.iterdir())
    assert len(names) > 20
    for name in names:
        for damage in ("flip", "truncate", "remove"):
            folder = tmp_path / f"{name}-{damage}"
            shutil.copytree(source, folder)
            path = folder / name
            data = bytearray(path.read_bytes())
            if damage == "remove":
                path.unlink()
            elif damage == "truncate":
                path.write_bytes(bytes(data[:-2]))
            else:
                data[len(data) // 2] ^= 1
                path.write_bytes(bytes(data))
            with pytest.raises((SnapshotError, NotFoundError)) as caught:
                open_snapshot(folder)
            if name != "manifest.json":
                assert name in caught.value.subject
            shutil.rmtree(folder)


@pytest.mark.parametrize("text", ["", "../../etc", "nothing-here", "\x00"])
def test_a_pointer_to_nowhere_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "CURRENT").write_text(text, encoding="utf-8")
    with pytest.raises((NotFoundError, SnapshotError, ValueError)) as caught:
        current_snapshot(tmp_path)
    assert not isinstance(caught.value, ValueError) or text == "\x00"


def test_an_empty_store_says_how_to_build(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="egotools build"):
        open_snapshot(tmp_path)


@pytest.mark.parametrize("damage", ["flip", "remove", "link", "more"])
def test_a_damaged_snapshot_is_not_published_again(tmp_path: Path, content: SnapshotContent, damage: str) -> None:
    first = published(tmp_path, content)
    second = published(tmp_path, replace(content, created_by="egotools other"))
    path = first / ("more" if damage == "more" else "tools.jsonl")
    whole = path.read_bytes() if path.exists() else b""
    if damage in ("remove", "link"):
        path.rename(tmp_path / "aside")
    if damage == "link":
        path.symlink_to(tmp_path / "aside")
    elif damage != "remove":
        path.write_bytes(whole[:-2] + b" \n")
    with pytest.raises(SnapshotCorruptError) as refused:
        publish_again(tmp_path, first.name)
    assert path.name in refused.value.subject
    assert current_snapshot(tmp_path) == second
    assert [entry.snapshot_id for entry in history(tmp_path)] == [first.name, second.name]
