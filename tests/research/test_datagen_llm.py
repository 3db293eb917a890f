from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from inference.scripted import ScriptedChat
from ontology import BudgetExceededError
from research.datagen_llm import main, spread
from research.llm_cost import CostLedger, CountedChat
from research.validator_accuracy import CATALOG
from tests.ingest.extract.llm_server import Body, ChatServer, Reply, chat_server

PIECE = [str(CATALOG / name) for name in ("events.json", "legal.json")]
FEW: dict[str, Any] = {"catalog": PIECE, "hidden": 2, "edges": 4, "paths": 6, "sample": 2, "timeout_s": 60}


def obliging(request: Body, _number: int) -> Reply:
    """An answer inside the schema that is asked for; a request says Friday for whatever it is asked."""
    schema = request["response_format"]["json_schema"]["schema"]
    answer = _sample(schema)
    if "query" in answer:
        names = schema["properties"]["values"]["items"]["properties"]["parameter"].get("enum", [])
        rows = [{"tool": n, "parameter": name, "value": "Friday"} for n in range(1, 6) for name in names]
        answer = {"values": rows, "query": "Could you see to that by Friday please"}
    return Reply(text=json.dumps(answer))


def _sample(schema: Mapping[str, Any]) -> Any:
    match schema["type"]:
        case "object":
            return {name: _sample(one) for name, one in schema["properties"].items()}
        case "array":
            return []
        case "boolean":
            return True
        case "number" | "integer":
            return 1
        case _:
            return schema.get("enum", ["so it is"])[0]


def run(server: ChatServer, out: Path, **more: Any) -> dict[str, Any]:
    main(llm_url=server.base_url, llm_model="test", out=out, **FEW, **more)
    report: dict[str, Any] = json.loads((out / "report.json").read_text(encoding="utf-8"))
    return report


def test_every_part_is_run_counted_and_told_and_a_rerun_asks_nothing(tmp_path: Path) -> None:
    with chat_server(obliging) as server:
        report = run(server, tmp_path)
        asked = server.hits
        assert report["outputs"]["hidden"] == 2
        assert report["outputs"]["llm.v1"]["named"] == 0
        assert report["sequence"]["edges"] == 4
        assert report["sequence"]["table"]["rules yes, model yes"] == 2
        assert report["requests"]["asked"] == 6
        assert report["requests"]["generated"]["single-intent"] == 1
        generated = sum(report["requests"]["generated"].values())
        assert report["validators"]["llm.v1 error"] == {
            "validated": generated,
            "passed": generated,
            "unusable": 0,
            "stopped": "",
        }
        assert set(report["instruments"]) == {"class", "sequence", "error"}
        assert sum(part["calls"] for part in report["spent"].values()) == asked
        assert "## Requests" in (tmp_path / "report.md").read_text(encoding="utf-8")
        assert run(server, tmp_path) == report
        assert server.hits == asked


def test_used_up_minutes_stop_each_part_and_say_so(tmp_path: Path) -> None:
    with chat_server(obliging) as server:
        report = run(server, tmp_path, minutes=0)
        assert server.hits == 0
    assert "minutes are used up" in report["outputs"]["stopped"]
    assert "minutes are used up" in report["requests"]["stopped"]
    assert report["requests"]["asked"] == 0


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
