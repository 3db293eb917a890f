"""The benchmark's bars: each is met by good figures and missed by bad ones; and the whole runs on a small catalogue."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.bench import bars, markdown
from tests.conftest import ROOT


def _row(tools: int, *, scale: float) -> dict[str, Any]:
    stages = {
        "encode": 4.0,
        "entry": 0.5 * scale,
        "ego": 0.2 * scale,
        "rank": 9.0,
        "explain": 0.5 * scale,
        "total": 20.0,
    }
    return {
        "tools": tools,
        "nodes": 3 * tools,
        "edges": 9 * tools,
        "build_s": 30.0,
        "seconds": {"extract": 5.0, "write": 1.0, "encode": 10.0},
        "load_s": 0.5,
        "resident_bytes": 5_000 * tools,
        "models_bytes": 1,
        "snapshot_bytes": 1,
        "recall": 0.99,
        "median_ms": {"paper": dict(stages), "default": dict(stages)},
        "p95_ms": {"paper": dict(stages), "default": dict(stages)},
    }


GOOD = [_row(1_000, scale=1.0), _row(44_000, scale=2.0)]


def test_good_figures_meet_every_bar() -> None:
    assert all(met for met, _ in bars(GOOD))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ((0, "seconds", "extract"), 20.0, "pipeline"),
        ((1, "recall"), 0.97, "recall"),
        ((0, "median_ms", "paper", "entry"), 3.0, "1,000 tools"),
        ((1, "median_ms", "default", "ego"), 5.0, "44,000 tools"),
        ((1, "median_ms", "paper", "ego"), 80.0, "cost grew"),
        ((1, "resident_bytes"), 44_000 * 9_000, "memory"),
        ((1, "load_s"), 2.5, "load"),
    ],
)
def test_each_bar_can_be_missed(path: tuple[Any, ...], value: float, words: str) -> None:
    rows: Any = copy.deepcopy(GOOD)
    place = rows
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    missed = [text for met, text in bars(rows) if not met]
    assert any(words in text for text in missed), missed


def test_the_tables_name_every_size() -> None:
    assert markdown(GOOD).count("44,000") == 3


def test_the_benchmark_runs_on_a_small_catalogue(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scripts.bench", "--sizes", "30", "--out", str(tmp_path)]
    done = subprocess.run(
        [
            *command,
            "--catalog",
            str(ROOT / "examples/enterprise/catalog/hr.yaml"),
            str(ROOT / "examples/enterprise/catalog/sales.yaml"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert done.returncode in (0, 1), done.stderr
    (row,) = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert row["tools"] == 30
    assert 0.9 <= row["recall"] <= 1.0
    assert "met" in done.stdout
