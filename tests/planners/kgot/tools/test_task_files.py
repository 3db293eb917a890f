"""Which files tools see, and which names they have."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from egotools import ToolRequestError
from ontology.errors import InvalidArgumentError, StorageError, TooLargeError
from planners.kgot.tools.task_files import TaskFiles


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_bytes(b"a,b\n")
    (tmp_path / "link.csv").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.csv").write_bytes(b"c,d\n")
    return tmp_path


@pytest.mark.parametrize("name", ["link.csv", "pipe", "other", "nothing", "/dev/zero"])
def test_only_regular_files_belong_to_a_task(odd: Path, name: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        TaskFiles([odd / name])
    assert caught.value.subject == Path(name).name


def test_two_files_of_one_name_are_refused(odd: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="two files"):
        TaskFiles([odd / "a.csv", odd / "other" / "a.csv"])


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "", "b.csv", "a.csv/", "A.CSV"])
def test_nothing_else_can_be_reached(odd: Path, name: str) -> None:
    with pytest.raises(ToolRequestError) as caught:
        TaskFiles([odd / "a.csv"]).find(name)
    assert "a.csv" in caught.value.remedy


def test_a_file_that_became_a_link_is_not_followed(odd: Path) -> None:
    files = TaskFiles([odd / "a.csv"])
    (odd / "a.csv").unlink()
    (odd / "a.csv").symlink_to("/etc/passwd")
    with pytest.raises(InvalidArgumentError):
        files.read("a.csv", 100)


def test_large_files_are_not_read(odd: Path) -> None:
    with (odd / "large").open("wb") as file:
        file.truncate(2 * 2**30)
    with pytest.raises(TooLargeError):
        TaskFiles([odd / "large"]).read("large", 20 * 2**20)


@pytest.mark.parametrize(
    "given, name",
    [
        ("b.csv", "b.csv"),
        ("deep/in/c.csv", "c.csv"),
        ("a.csv", "a-2.csv"),
        ("x\\y.csv", "y.csv"),
        ("line\nbreak.txt", "line_break.txt"),
        ("é" * 300 + ".pdf", "é" * 98 + ".pdf"),
        ("..", "file"),
        ("/", "file"),
        ("noending", "noending"),
        (".hidden", ".hidden"),
    ],
)
def test_unpacked_files_get_plain_names(odd: Path, given: str, name: str) -> None:
    folder = odd / "unpacked"
    folder.mkdir()
    files = TaskFiles([odd / "a.csv"], folder)
    assert files.add(given, b"x") == name
    assert files.read(name, 10) == b"x"
    assert all(path.parent == folder for known, path in files.all().items() if known == name)


def test_a_run_that_goes_on_has_what_it_unpacked(odd: Path) -> None:
    folder = odd / "unpacked"
    folder.mkdir()
    first = TaskFiles([odd / "a.csv"], folder)
    names = [first.add("a.csv", b"1"), first.add("b.csv", b"2")]
    with (folder / "names.jsonl").open("a", encoding="utf-8") as index:
        index.write('{"name": "torn')
    again = TaskFiles([odd / "a.csv"], folder)
    assert [again.read(name, 10) for name in names] == [b"1", b"2"]
    assert again.names == first.names


def test_an_index_leads_nowhere_else(odd: Path) -> None:
    (odd / "names.jsonl").write_text('{"name": "p", "path": "/etc/passwd"}\n["x"]\n', encoding="utf-8")
    assert TaskFiles([], odd).names == ()


def test_without_a_folder_nothing_is_unpacked(odd: Path) -> None:
    with pytest.raises(StorageError):
        TaskFiles([odd / "a.csv"]).add("b", b"")


def test_a_folder_that_cannot_be_written_is_named(odd: Path) -> None:
    with pytest.raises(StorageError, match="cannot be written"):
        TaskFiles([], odd / "missing").add("b", b"")
