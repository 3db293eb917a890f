"""The journal: what is written is read, whatever byte a crash stopped at; damage elsewhere is refused."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontology.errors import InvalidArgumentError, StorageError
from planners.journal.run_journal import open_run_journal, read_run_journal

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def written(path: Path, rows: list[dict[str, Any]]) -> bytes:
    with open_run_journal(path) as journal:
        for row in rows:
            journal.append("note", **row)
    return path.read_bytes()


def notes(path: Path) -> list[Any]:
    return [dict(record.data) for record in read_run_journal(path).records]


@settings(max_examples=25)
@given(values=st.lists(JSON, max_size=4))
def test_what_is_appended_is_read(tmp_path_factory: pytest.TempPathFactory, values: list[Any]) -> None:
    path = tmp_path_factory.mktemp("journal") / "run.jsonl"
    content = written(path, [{"value": value} for value in values])
    assert [row["value"] for row in notes(path)] == values
    assert [json.loads(line)["n"] for line in content.splitlines()] == list(range(len(values)))


def test_a_line_cut_off_at_any_byte_is_dropped_and_the_next_process_goes_on(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"value": "ä"}, {"value": {"text": "line\n"}}, {"value": 3}]
    content = written(tmp_path / "whole", rows)
    ends = [at + 1 for at, byte in enumerate(content) if byte == 10]
    path = tmp_path / "run"
    near = {end + offset for end in [0, *ends] for offset in range(-2, 3)}
    for length in sorted({*near, *range(0, len(content), 9)} & set(range(len(content) + 1))):
        path.write_bytes(content[:length])
        whole = sum(end <= length for end in ends)
        assert notes(path) == rows[:whole]
        written(path, [{"value": "next"}])
        assert notes(path) == [*rows[:whole], {"value": "next"}]


@pytest.mark.parametrize("line", [0, 1])
def test_damage_before_the_end_is_an_error_with_its_line(tmp_path: Path, line: int) -> None:
    path = tmp_path / "run"
    lines = written(path, [{"value": n} for n in range(3)]).splitlines(keepends=True)
    lines[line] = lines[line].replace(f'"value":{line}'.encode(), b'"value":7')
    path.write_bytes(b"".join(lines))
    with pytest.raises(InvalidArgumentError, match="damaged") as caught:
        read_run_journal(path)
    assert caught.value.subject == f"{path}:{line + 1}"


@pytest.mark.parametrize("content", [b"my notes", b"my notes\nand more\n", b'{"n":1}\n', b"\0"])
def test_another_file_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(InvalidArgumentError), open_run_journal(path):
        pass
    assert path.read_bytes() == content


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        read_run_journal(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        read_run_journal(tmp_path / "pipe")


def test_one_process_writes(tmp_path: Path) -> None:
    with open_run_journal(tmp_path / "run") as journal:
        with pytest.raises(StorageError, match="another process"), open_run_journal(tmp_path / "run"):
            pass
        journal.append("note", value=1)
    with pytest.raises(StorageError, match="not open"):
        journal.append("note", value=2)
    assert notes(tmp_path / "run") == [{"value": 1}]


def test_a_full_disk_is_said_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*unused: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with open_run_journal(tmp_path / "run") as journal:
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", full)
            with pytest.raises(StorageError) as first:
                journal.append("note", value=1)
        with pytest.raises(StorageError) as second:
            journal.append("note", value=2)
    assert "No space left" in str(first.value) and str(second.value) == str(first.value)
    assert notes(tmp_path / "run") == []
