"""The tasks of agents name tools that exist, and their check refuses what it must."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("mcp")

from research.agent_runs.agent_world import Task, filled, read_tasks, solved
from research.agent_runs.side_servers import SERVERS, seed_records
from tests.conftest import ROOT

TASK = Task(id="t", request="r", calls=(), answer=("27",), compared={"carId": ("status",)})
GOLD = {("carId", "PC-1"): {"carId": "PC-1", "status": "retired", "note": "x"}}


def test_every_tool_of_a_task_is_of_the_catalogue_or_of_the_two_servers() -> None:
    shipped = (ROOT / "examples/enterprise/benchmark/tools.jsonl").read_text(encoding="utf-8").splitlines()
    known = {json.loads(line)["id"] for line in shipped}
    known |= {f"{name}/{tool}" for name, kinds in SERVERS.items() for kind in kinds for tool in kind.tools}
    tasks = read_tasks()
    assert len({task.id for task in tasks}) == len(tasks) == 20
    assert len(known) == 352
    assert {call["tool"] for task in tasks for call in task.calls} <= known
    assert all(task.answer or task.compared for task in tasks)


def test_the_servers_have_20_tools_each_and_records_of_every_kind() -> None:
    for name, kinds in SERVERS.items():
        assert len({tool for kind in kinds for tool in kind.tools}) == 20
        assert {kind.id for kind in kinds} == {next(iter(record)) for record in seed_records(name).values()}


@pytest.mark.parametrize(
    ("said", "changed", "why"),
    [
        ("27 days", GOLD, ""),
        ("27 days", {("carId", "PC-1"): {"status": "retired", "note": "y"}}, ""),
        ("127 days", GOLD, "not said"),
        ("27", {}, "otherwise"),
        ("27", {**GOLD, ("carId", "PC-2"): {}}, "otherwise"),
        ("27", {("carId", "PC-1"): {"status": "active"}}, "other values"),
    ],
)
def test_a_run_is_judged_by_what_it_said_and_by_what_it_left(
    said: str, changed: dict[tuple[str, str], dict[str, str]], why: str
) -> None:
    failure = solved(TASK, said, changed, GOLD)
    assert why in failure and bool(why) == bool(failure)


def test_a_list_of_an_answer_makes_a_call_for_each_of_its_items() -> None:
    answers: list[list[Any]] = [[{"items": [{"id": 1}, {"id": 2}]}], [[{"id": 7}]]]
    assert filled({"of": "$1.items.*.id", "at": 3}, answers) == [{"of": 1, "at": 3}, {"of": 2, "at": 3}]
    assert filled({"of": "$2.0.id"}, answers) == [{"of": 7}]
