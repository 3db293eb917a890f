"""Row ``metrics`` of docs/reliability.md, with few calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.reliability.load_metrics import compare
from services.server.observe.prometheus_metrics import Metrics


def test_the_server_counts_what_its_callers_saw(tmp_path: Path) -> None:
    seen = compare(tmp_path, 150)
    assert seen.different == [] and seen.calls.total() == 150
    assert {code for code, _, _ in seen.calls} >= {"OK", "INVALID_ARGUMENT", "NOT_FOUND", "UNIMPLEMENTED"}


def test_a_server_that_loses_a_count_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finished, count = Metrics.finished, iter(range(1_000))
    monkeypatch.setattr(Metrics, "finished", lambda self, *call: finished(self, *call) if next(count) != 7 else None)
    assert len(compare(tmp_path, 60).different) == 1
