"""The benchmark of builds: what it changes, what it measures, and how it judges."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.bench_builds import MeasuredBuild, bars, build_once, change_one_description
from tests.conftest import ROOT

FIRST = MeasuredBuild(
    snapshot_id="a", tools=5_000, seconds={"read": 40.0, "encode": 50.0}, processor_s=100.0, peak_mb=500.0
)


def test_each_bar_has_its_figure() -> None:
    builds = {
        "first": FIRST,
        "unchanged": replace(FIRST, processor_s=1.0, peak_mb=100.0),
        "changed": replace(FIRST, snapshot_id="b", processor_s=6.0),
        "fresh": replace(FIRST, snapshot_id="b"),
    }
    assert [(bar.measured, bar.met) for bar in bars(builds)] == [
        ("50.0 and 50.0 s", True),
        ("1.0%", True),
        ("6.0%", False),
        ("900 MB, concluded from 500 MB with 5,000 tools", True),
        ("equal", True),
    ]
    builds["fresh"] = FIRST
    builds["first"] = replace(FIRST, tools=10_000, peak_mb=1_025.0)
    assert [bar.met for bar in bars(builds)][-2:] == [False, False]


def test_one_description_is_changed_and_built(tmp_path: Path) -> None:
    operations = {f"/{name}": {"get": {"operationId": name, "description": name}} for name in ("a", "b")}
    document = {"openapi": "3.0.0", "info": {"title": "T", "version": "1"}, "paths": operations}
    file = tmp_path / "documents" / "t.json"
    file.parent.mkdir()
    file.write_text(json.dumps(document), encoding="utf-8")
    first = build_once(file.parent, tmp_path / "store", encoder="hashing.v1")
    assert change_one_description(file.parent) == file
    changed = json.loads(file.read_text(encoding="utf-8"))["paths"]
    assert sum(changed[path] != operations[path] for path in operations) == 1
    second = build_once(file.parent, tmp_path / "store", encoder="hashing.v1")
    assert first.tools == second.tools == 2
    assert first.snapshot_id != second.snapshot_id
    assert {"read", "extract", "canonicalize", "link", "write", "encode"} <= first.seconds.keys()
    assert 0 < sum(first.seconds.values()) <= first.processor_s * 1.05
    assert first.peak_mb > 10


def test_without_documents_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if (ROOT.parent / "shared" / "specs").is_dir():
        pytest.skip("there are documents beside the checkout")
    monkeypatch.setenv("EGOTOOLS_REAL", str(tmp_path))
    command = [sys.executable, "-m", "scripts.bench_builds", "--out", str(tmp_path / "out")]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "No real documents are here" in run.stdout
