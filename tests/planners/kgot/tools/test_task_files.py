"""Which files tools see, and which names they have."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from egotools import ToolRequestError
from ontology.errors import InvalidArgumentError
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
