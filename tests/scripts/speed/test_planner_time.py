"""What the planner takes beside its tools, measured over a small mailbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.speed.planner_time import lines_of, measured


@pytest.mark.slow
async def test_each_request_of_the_paper_is_a_row_whose_parts_are_all_of_its_time(tmp_path: Path) -> None:
    rows = await measured(tmp_path, messages=60, seed=11)
    assert len(rows) == 8
    for each in rows:
        assert each.rows > 0
        assert min(each.tools_s, each.executor_s) > 0 and each.reading_s >= 0
    head, ruler, *table, sums = lines_of(rows)
    assert len(table) == 8 and {line.count("|") for line in (head, ruler, *table, sums)} == {7}
    assert f"| all | {sum(each.rows for each in rows):,} |" in sums
