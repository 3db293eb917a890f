"""Ladybug files are built aside."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from planners.stores.ladybug_files import building_ladybug


def test_ladybug_files_are_built_aside_in_folders_of_their_own_and_those_of_dead_processes_are_removed(
    tmp_path: Path,
) -> None:
    for process in (999_999_999, os.getpid()):  # no system gives such a number
        (tmp_path / f".other.{process}-abcd_123.part").mkdir()
    path = tmp_path / "graph.db"
    with building_ladybug(path) as one, building_ladybug(path) as other:
        assert one.parent != other.parent and stat.S_IMODE(one.parent.stat().st_mode) == 0o700
        one.write_text("one", encoding="utf-8")
        other.write_text("other", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "one", "the outer block ends last"
    assert {each.name for each in tmp_path.iterdir()} == {"graph.db", f".other.{os.getpid()}-abcd_123.part"}
