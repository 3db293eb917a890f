"""The demo is short, asks both ways, and its plan gives the answer that the data has; it needs no extra."""

from __future__ import annotations

import json
import sys

import pytest

from examples.company.shipped_documents import SHIPPED_NEEDS, SHIPPED_REQUESTS
from tests.harness.commands import Run


@pytest.fixture(autouse=True)
def _without_the_extra_web(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("starlette", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.slow
def test_the_demo_asks_a_request_of_each_class_whole_and_by_its_needs_and_calls_a_plan(run: Run) -> None:
    code, out, err = run("demo")
    assert code == 0, err
    assert len(out.splitlines()) <= 60
    requests = [json.loads(line) for line in SHIPPED_REQUESTS.read_text(encoding="utf-8").splitlines()]
    rows = map(json.loads, SHIPPED_NEEDS.read_text(encoding="utf-8").splitlines())
    needs = {row["id"]: "; ".join(row["needs"]) for row in rows}
    first = {request["class"]: request for request in reversed(requests)}.values()
    assert len(first) == 6
    assert all(request["query"] in out and needs[request["id"]] in out for request in first)
    assert out.count("\n  whole request  ") == out.count("\n  by needs       ") == 6
    assert out.count(f" of {len(requests)}") == 2
    assert "finance/searchSupplierInvoices" in out and "answer  2: 5105600123, 5105600144" in out  # company-01
    assert "search --need" in out
