"""Rows of a measurement: they are there after a kill."""

from __future__ import annotations

from pathlib import Path

from scripts.account.kept_rows import KeptRows


def test_rows_are_kept_and_half_a_line_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    KeptRows(path, "task").add(task="a", solved=True)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"task": "b", "sol')
    again = KeptRows(path, "task")
    assert [dict(row) for row in again] == [{"task": "a", "solved": True}]
    assert again.has(task="a")
    assert not again.has(task="b")
