"""The figures of docs/asked.md are measured as they are described."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from research import asked_figures

TOOLS = [
    {"id": f"shop/{name}", "name": name, "description": description, "metadata": {"namespace": "shop"}}
    for name, description in {
        "find_customer": "Find a customer by name.",
        "refund_order": "Refund an order.",
        "list_parcels": "List the parcels of an order.",
    }.items()
]


def _asked(*rows: tuple[str, str, list[str], list[str]]) -> list[dict[str, Any]]:
    return [{"id": id_, "query": query, "tools": tools, "done": done} for id_, query, tools, done in rows]


def _run(what: str, tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    for name, written in (("tools", TOOLS), ("queries", rows)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in written), encoding="utf-8")
    asked_figures.main(what, tmp_path / "tools.jsonl", tmp_path / "queries.jsonl", most=0)


def test_a_prefix_and_what_it_costs_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _run("prefix", tmp_path, _asked(("a.0", "refund order 4711", ["shop/refund_order"], [])))
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "larkfield_ before each name",
        "larkfield_ before each name and id",
    ]
    assert all("1 requests, @5 100.0 (+0.0" in line for line in lines), "gold ids are renamed with the tools"


def test_the_turns_before_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = _asked(
        ("a.0", "find customer Acme", ["shop/find_customer"], []),
        ("a.1", "and the parcels?", ["shop/list_parcels"], ["shop/find_customer"]),
        ("b.0", "refund order 4711", ["shop/refund_order"], []),
    )
    _run("history", tmp_path, rows)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and all(": 1 requests" in line for line in lines), "only a turn after another is asked"
    assert re.search(r"@5 100\.0 \(\+0\.0 \[\+0\.0, \+0\.0\]\)", lines[0])
