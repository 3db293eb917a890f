from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inference import HashingEncoder
from inference.scripted import ScriptedChat
from ontology import BudgetExceededError
from research.datagen_llm import main, spread
from research.llm_cost import CostLedger, CountedChat
from research.validator_accuracy import CATALOG
from services.jobs.build import build_snapshot
from tests.harness.chat import Body, ChatServer, Reply, chat_server


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reworded") / "store"
    build_snapshot(
        [str(CATALOG / "events.json"), str(CATALOG / "legal.json")], folder, encoder=HashingEncoder(), workers=1
    )
    return folder


def polite(request: Body, _number: int) -> Reply:
    """A model that first says an order that nobody gave, and then each request with thanks."""
    message = json.loads(request["messages"][1]["content"])["message"]
    return Reply(text=json.dumps({"rewordings": ["Then do it", f"{message.rstrip('.?!')} - thanks a lot"]}))


def run(server: ChatServer, store: Path, out: Path, **more: Any) -> dict[str, Any]:
    main(url=server.base_url, model="test", store=store, out=out, limit=6, timeout_s=60, **more)
    report: dict[str, Any] = json.loads((out / "report.json").read_text(encoding="utf-8"))
    return report


def sheet(out: Path, arm: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / f"sheet-{arm}.jsonl").read_text(encoding="utf-8").splitlines()]


def test_both_arms_are_measured_counted_and_told_and_a_rerun_asks_nothing(store: Path, tmp_path: Path) -> None:
    with chat_server(polite) as server:
        report = run(server, store, tmp_path)
        asked = server.hits
        assert set(report["arms"]) == {"masked", "plain"}
        assert sum(part["calls"] for part in report["spent"].values()) == asked
        again = run(server, store, tmp_path)
        assert server.hits == asked
    for arm, figures in report["arms"].items():
        rows = sheet(tmp_path, arm)
        kept = [row for row in rows if row["paraphrase"]]
        assert figures["requests"] == len(rows) > 3
        assert figures["kept"] == len(kept) > 0
        assert figures["paraphrases"] == len(kept) + sum(len(row["drops"]) for row in rows)
        assert figures["dropped"] and figures["stopped"] == ""
        for row in kept:
            assert row["paraphrase"] != row["worded"] and row["tools"]
            assert all(value in row["paraphrase"] for value in row["values"])
            assert {verdict["check"] for verdict in row["verdicts"]} == {"class", "sequence", "error"}
            assert all(verdict["passed"] for verdict in row["verdicts"])
        assert {**figures, "wall_s": 0} == {**again["arms"][arm], "wall_s": 0}
    assert "## Masked" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_used_up_minutes_stop_each_arm_and_say_so(store: Path, tmp_path: Path) -> None:
    with chat_server(polite) as server:
        report = run(server, store, tmp_path, minutes=0, arms="plain")
        assert server.hits == 0
    assert "minutes are used up" in report["arms"]["plain"]["stopped"]
    assert report["arms"]["plain"]["requests"] == 0


def test_the_costs_add_up_over_runs(tmp_path: Path) -> None:
    path = tmp_path / "spent.json"
    for _ in range(2):
        ledger = CostLedger(path, minutes=1)
        ledger.part = "a"
        CountedChat(ScriptedChat(["one two"]), ledger).complete([])
    assert CostLedger(path, minutes=1).spent["a"]["calls"] == 2
    assert CostLedger(path, minutes=1).spent["a"]["completion_tokens"] == 4
    with pytest.raises(BudgetExceededError):
        CostLedger(path, minutes=0).check()


def test_items_are_spread_over_the_whole() -> None:
    assert spread(range(10), 3) == [0, 3, 6]
    assert spread(range(2), 3) == [0, 1]
