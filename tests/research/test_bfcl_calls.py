"""The calls of BFCL's tasks: a package of the same shape is called through the planners' invokers, and its turns are planned."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from inference import HashingEncoder
from ontology.errors import NotFoundError
from ontology.files import write_rows
from research.bfcl_calls import called, calls_report, plans_report
from research.bfcl_plans import planned_turns
from research.bfcl_tasks import GoldTask, find_package, read_tasks, tool_rows
from research.bfcl_turns import CLASS_FILES, TASKS
from services.jobs.build import build_snapshot
from tests.harness.servers import client_of

_TICKETS = """
class TicketAPI:
    def _load_scenario(self, config, long_context=False):
        self.titles = list(config.get("titles", []))
        self.closed = []

    def create_ticket(self, title: str, note: str = "") -> dict:
        self.titles.append(title)
        return {"ticket_id": len(self.titles)}

    def get_ticket(self, ticket_id: int) -> dict:
        return {"title": self.titles[int(ticket_id) - 1]}

    def close_ticket(self, ticket_id: int) -> dict:
        self.closed.append(ticket_id)
        return {"status": "closed"}
"""
_EXECUTION = """
import importlib

def execute_multi_turn_func_call(calls, config, classes, model, id):
    module = importlib.import_module("bfcl_eval.eval_checker.multi_turn_eval.func_source_code.ticket_api")
    tickets = module.TicketAPI()
    tickets._load_scenario(config["TicketAPI"])
    return [str(eval(f"tickets.{call}", {"tickets": tickets})) for call in calls], {"TicketAPI": tickets}
"""
_TURNS = {
    "Open a ticket about the rain.": ["create_ticket('rain')"],
    "Close it.": ["close_ticket(ticket_id=2)"],
    "Thanks.": [],
    "Show the ticket with the id 1.": ["get_ticket(ticket_id=1)"],
    "And the other one.": ["get_ticket(ticket_id='2')"],
}


def _document(name: str, needed: str, kind: str, **answered: str) -> dict[str, object]:
    return {
        "name": name,
        "description": f"It is a system. Tool description: {name.replace('_', ' ').capitalize()}.",
        "parameters": {"properties": {needed: {"type": kind}}, "required": [needed]},
        "response": {"properties": {field: {"type": type_} for field, type_ in answered.items()}},
    }


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a package that looks like bfcl-eval."""
    code = tmp_path / "bfcl_eval/eval_checker/multi_turn_eval"
    (code / "func_source_code").mkdir(parents=True)
    (tmp_path / "bfcl_eval/__init__.py").touch()
    (code / "func_source_code/ticket_api.py").write_text(_TICKETS)
    (code / "multi_turn_utils.py").write_text(_EXECUTION)
    data = tmp_path / "bfcl_eval/data"
    (data / "multi_turn_func_doc").mkdir(parents=True)
    (data / "possible_answer").mkdir()
    for file in CLASS_FILES.values():
        write_rows(data / f"multi_turn_func_doc/{file}.json", [])
    tickets = [
        _document("create_ticket", "title", "string", ticket_id="integer"),
        _document("get_ticket", "ticket_id", "integer", title="string"),
        _document("close_ticket", "ticket_id", "integer", status="string"),
    ]
    write_rows(data / "multi_turn_func_doc/ticket_api.json", tickets)
    said = [[{"role": "user", "content": text}] for text in _TURNS]
    config = {"TicketAPI": {"titles": ["snow"]}}
    task = {"id": "t", "question": said, "involved_classes": ["TicketAPI"], "initial_config": config}
    write_rows(data / TASKS, [task])
    write_rows(data / "possible_answer" / TASKS, [{"id": "t", "ground_truth": list(_TURNS.values())}])
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("bfcl_eval")]:
        del sys.modules[name]


async def test_the_calls_and_the_plans_of_a_task(package: Path) -> None:
    data = find_package(package)
    (task,) = read_tasks(data)
    write_rows(package / "tools.jsonl", list(tool_rows(data)))
    build_snapshot([str(package / "tools.jsonl")], package / "store", encoder=HashingEncoder())
    async with client_of(package / "store") as client:
        tools = {id_: await client.get_tool(id_) async for id_ in client.tool_ids()}
        found = await called(task, tools)
        known, bound = [await planned_turns(client, task, tools, all_known=each) for each in (True, False)]
    assert (found.equal, found.untouched, found.calls, found.same_answers) == (True, True, 4, 3)
    assert found.asked == [("TicketAPI.create_ticket", True), ("TicketAPI.close_ticket", True)]
    assert found.unasked == [("TicketAPI.get_ticket", False)]
    (refused,) = found.refused
    assert refused.startswith("t: get_ticket(ticket_id='2')") and "not an integer" in refused
    assert "equal in the end: 1 of 1" in calls_report([found])
    # the type of the last gold call is wrong: the plan gives the number that the schema wants
    assert [turn.same_calls for turn in known] == [True, True, True, False]
    assert [turn.changes for turn in known] == [True, True, False, False]
    assert bound[1].same_calls, "the ticket's id is in the answer of an earlier turn"
    assert all(turn.same_state for turn in (*known, *bound))
    assert "| all gold values of the turn, all turns | 4 |" in plans_report(known, all_known=True)


def test_without_the_package_it_is_said_how_to_install_it() -> None:
    with pytest.raises(NotFoundError, match="pip install --no-deps"):
        find_package(Path("nowhere"))


def test_positions_become_names(package: Path) -> None:
    task: GoldTask = next(read_tasks(find_package(package)))
    assert dict(task.turns[0].calls[0].arguments) == {"title": "rain"}
    assert json.dumps(task.config) == '{"TicketAPI": {"titles": ["snow"]}}'
