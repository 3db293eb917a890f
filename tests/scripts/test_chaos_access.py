"""The rows of access, with small counts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from scripts.reliability.chaos_access import ROWS, foreign_tools, refusals_and_rotations, times_of_misses


@pytest.mark.slow
def test_small_counts_hold(tmp_path: Path) -> None:
    figure = asyncio.run(refusals_and_rotations(tmp_path / "tls", tries=1, rotations=1))
    assert figure.held, figure.text
    figure = asyncio.run(foreign_tools(tmp_path / "tenants", queries=20, tenants=3))
    assert figure.held, figure.text
    assert "GetTool" in asyncio.run(times_of_misses(tmp_path / "timing", pairs=2)).text


def test_every_row_has_a_key() -> None:
    assert [row.key for row in ROWS] == ["tls", "tenants", "hidden-timing"]
