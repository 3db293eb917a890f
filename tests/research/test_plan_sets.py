"""The study of plans: the goals of a request, the scores of some tools, and the turns of BFCL's tasks as requests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.gold_slots import gold_slots
from research.bfcl_turns import catalogue, requests
from research.plan_sets import labelled, scores


def test_the_goal_is_the_last_tool_of_an_order_else_each(tmp_path: Path) -> None:
    rows = [
        {"query": "a", "tools": ["x", "y"], "ordered": True, "done": ["z"]},
        {"query": "b", "tools": ["x", ["y", "v"]], "split": "dev"},
        {"query": "c", "tools": ["x", "y"], "shape": "chain", "split": "test"},
    ]
    path = tmp_path / "queries.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    found = list(labelled(path))
    assert [one.goals for one in found] == [("y",), ("x", "y"), ("y",)]
    assert found[0].done == ("z",)
    assert [one.text for one in labelled(path, "dev")] == ["a", "b"]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (["x", "v"], (1.0, 1.0, 1.0)),
        (["x"], (1.0, 0.5, 0.0)),
        (["x", "y", "other", "more"], (0.5, 1.0, 0.0)),
        ([], (0.0, 0.0, 0.0)),
    ],
)
def test_a_slot_is_filled_by_any_of_its_tools(found: list[str], expected: tuple[float, float, float]) -> None:
    assert scores(found, gold_slots(["x", ["y", "v"]])) == expected


def test_each_turn_with_calls_is_a_request_whose_goal_is_called_last(tmp_path: Path) -> None:
    def write(name: str, *rows: object) -> None:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def function(name: str, **returned: object) -> dict[str, object]:
        parameters = {"properties": {"id": {"type": "integer"}, "note": {"type": "string"}}, "required": ["id"]}
        return {
            "name": name,
            "description": f"It is a system. Tool description: Do {name}",
            "parameters": parameters,
            "response": {"properties": returned},
        }

    write(
        "multi_turn_func_doc/ticket_api.json",
        function("get_ticket", status={"type": "string"}),
        function("close_ticket"),
    )
    turns = [[{"role": "user", "content": text}] for text in ("close it", "thanks", "again")]
    write("BFCL_v4_multi_turn_base.json", {"id": "t", "question": turns, "involved_classes": ["TicketAPI"]})
    calls = [["close_ticket(id=1)", "get_ticket(id=1)", "close_ticket(id=2)"], [], ["close_ticket(id=3)"]]
    write("possible_answer/BFCL_v4_multi_turn_base.json", {"id": "t", "ground_truth": calls})
    first, _ = catalogue(tmp_path, "TicketAPI")
    assert (first["id"], first["description"]) == ("TicketAPI.get_ticket", "Do get_ticket")
    assert [each["required"] for each in first["parameters"]] == [True, False]
    assert [each["name"] for each in first["returns"]] == ["status"]
    one, last = requests(tmp_path)
    assert one["tools"] == ["TicketAPI.get_ticket", "TicketAPI.close_ticket"] and one["done"] == []
    assert last["tools"] == ["TicketAPI.close_ticket"]
    assert last["done"] == ["TicketAPI.get_ticket", "TicketAPI.close_ticket"]
