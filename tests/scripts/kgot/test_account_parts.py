"""Parts of the account: the order of tasks, faults, kept rows, code for public questions, and the page that is made of the figures."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from inference.chat import ChatModel, Message
from inference.scripted import ScriptedChat
from planners.calling.fence_marks import FenceMarks
from planners.graphs.property_graph import GraphState
from planners.kgot.kgot_controller import KgotRun
from scripts.account.kept_rows import KeptRows
from scripts.kgot import oracle_account
from scripts.kgot.account_tasks import AccountTask, account_tasks, round_robin
from scripts.kgot.answer_verdict import verdict_of
from scripts.kgot.element_facts import element_facts
from scripts.kgot.injected_faults import FAULTS, FaultyModel
from scripts.kgot.kgot_page import FIGURES, PAGE, _complete_and_found, page_blocks
from scripts.kgot.oracle_prompt import table_rows
from scripts.kgot.public_task_code import public_calls, public_code
from scripts.kgot.run_speed import _cpu_seconds
from scripts.kgot.task_world import TaskWorld
from scripts.kgot.tools_shown import ORACLE_TEXTS, _steps

_TABLE = "name, age, height (cm), weight (kg)\nAda, 3, 40, 9\nBo, 6, 55, 12\n"
_SWAPS = (
    "Ann, Ben, and Cy are playing a game. At the start of the game, they are each holding a ball: Ann has a red ball, Ben has a blue ball,"
    " and Cy has a green ball. \n\nAs the game progresses, pairs of players trade balls. First, Ann and Ben swap balls. Finally, Ben and Cy"
    " swap balls. At the end of the game, Ben has the"
)


def _computed(kind: str, question: str) -> Any:
    """Run the code for a question as the oracle has it run."""
    ((tool, arguments),) = public_calls(kind, question)
    if tool == "run_python":
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(arguments["code"], {})
        tables = json.loads(printed.getvalue())
    else:
        tables = {"Elements": element_facts()}
    rows = [{"label": label, **row} for label, found in tables.items() for row in found]

    def of(label: str, **wanted: object) -> list[dict[str, Any]]:
        return [row for row in rows if row["label"] == label and wanted.items() <= row.items()]

    known: dict[str, Any] = {"rows": rows, "of": of}
    exec(public_code(kind, question), known)
    return known["answer"]


@pytest.mark.parametrize(
    ("kind", "question", "answer"),
    [
        ("penguins_in_a_table", f"{_TABLE}What is the average height of the penguins?", 47.5),
        ("penguins_in_a_table", f"{_TABLE}We now add a penguin to the table:\nCid, 9, 60, 20\nWhich is the oldest penguin?", "Cid"),
        ("penguins_in_a_table", f"{_TABLE}We then delete the penguin named Ada from the table.\nHow many penguins are there in the table?", 1),
        ("tracking_shuffled_objects", f"{_SWAPS}\nComplete the last sentence; answer with the missing words only.", "green ball"),
        ("periodic_elements", "What element is located just below Carbon on the periodic table?", "silicon"),
        ("periodic_elements", "What element contains one more proton than Neon?", "sodium"),
    ],
)  # fmt: skip
def test_code_for_public_questions(kind: str, question: str, answer: object) -> None:
    assert _computed(kind, question) == answer


def test_prefixes_of_the_order_have_each_kind() -> None:
    tasks = [
        AccountTask(id=f"{kind}-{n}", kind=kind, level=0, question="?", answer="1") for kind in "abc" for n in range(9)
    ]
    ordered = round_robin(tasks, seed=7)
    assert ordered != tasks
    assert sorted(each.id for each in ordered) == sorted(each.id for each in tasks)
    assert all(set(Counter(each.kind for each in ordered[: 3 * n]).values()) == {n} for n in range(1, 9))


def test_without_the_public_folder_the_shipped_tasks_are_left(tmp_path: Path) -> None:
    tasks = account_tasks(tmp_path / "none.jsonl")
    assert len(tasks) == 24
    assert all(path.is_file() for task in tasks for path in task.files)


@pytest.mark.parametrize(
    ("given", "truth", "verdict"),
    [
        ("9", "9", "solved"),
        ("1,100 euros", "1100", "solved"),
        ("Grebe, Argo", "Argo, Grebe", "solved"),
        ("The red ball.", "red ball", "solved"),
        ("10", "9", "wrong"),
        ("", "9", "not attempted"),
        ("Not found in the graph.", "9", "not attempted"),
    ],
)
def test_verdicts(given: str, truth: str, verdict: str) -> None:
    assert verdict_of(given, truth) == verdict


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_spoils_an_answer_that_can_have_it(name: str) -> None:
    good = '{"calls": [{"tool": "a/b", "arguments": {"query": "MATCH (a:Answer) RETURN a"}}], "query": "MATCH (a:Answer) RETURN a"}'
    model = FaultyModel(ScriptedChat(lambda messages: good), rate=1.0, seed=1)
    found = {model.complete([Message(role="user", content=str(n))], schema={}).text for n in range(40)}
    assert good not in found
    assert model.made[name] > 0


def test_faults_follow_from_the_seed_and_a_repeated_question_is_drawn_anew() -> None:
    def texts(seed: int) -> list[str]:
        model = FaultyModel(ScriptedChat(lambda messages: '{"query": "RETURN 1"}'), rate=0.5, seed=seed)
        return [model.complete([Message(role="user", content="same")], schema={}).text for _ in range(20)]

    assert texts(1) == texts(1)
    assert len(set(texts(1))) > 1
    assert texts(1) != texts(2)


def test_faults_are_the_same_in_every_run_of_a_seed() -> None:
    """The marks of fences, which are new in every run, say nothing of which answers have a fault."""

    def texts() -> list[str]:
        marks = FenceMarks()
        model = FaultyModel(ScriptedChat(lambda messages: '{"query": "RETURN 1"}'), rate=0.5, seed=1)
        asked = [[Message(role="user", content=f"{marks.fenced(str(n))} {marks.mark('b')}")] for n in range(20)]
        return [model.complete(messages, schema={}).text for messages in asked]

    assert texts() == texts()


def test_the_faults_have_a_row_without_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(world: object, task: AccountTask, model: ChatModel, oracle: object, **kinds: object) -> KgotRun:
        model.complete([Message(role="user", content="The capital?")], schema={})
        return KgotRun(answer="9", outcome="solved", missing="", state=GraphState(), calls=(), iterations=1)

    monkeypatch.setattr(oracle_account, "_run_once", run)
    rows = KeptRows(tmp_path / "rows.jsonl", "rate", "layers", "task")
    (task,) = (each for each in account_tasks(tmp_path / "none") if each.id == "task-11")
    asyncio.run(oracle_account.measure_faults(cast("TaskWorld", None), [task], rows, store="memory", seed=7))
    bare = [each for each in oracle_account.fault_section(rows) if each["rate"] == 0]
    assert [(each["layers"], each["solved"], each["faults"]) for each in bare] == [
        (name, 1, 0) for name in oracle_account.LAYERS
    ]


def test_tables_in_markdown_and_with_commas_are_read() -> None:
    assert table_rows("| a | b |\n| --- | --- |\n| x | 1.5 |") == [{"a": "x", "b": 1.5}]
    assert table_rows("a,b\nS-01,007") == [{"a": "S-01", "b": "007"}]
    assert table_rows("Dear customer, hello.\nYours") == []


def test_the_page_has_the_tables_of_the_figures() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, text in page_blocks(json.loads(FIGURES.read_text(encoding="utf-8"))).items():
        assert f"<!-- {name} -->\n{text.strip()}\n<!-- end -->" in page, name


def test_own_time_counts_the_living_children() -> None:
    busy = "import time\nwhile time.process_time() < 0.5: pass\nprint(flush=True); input()"
    before = _cpu_seconds()
    with subprocess.Popen([sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert _cpu_seconds() - before >= 0.45
        child.communicate(b"\n")


def test_texts_of_the_oracle_count_once_and_have_no_interval() -> None:
    steps = [("rows", ["run_python"]), ("rows", ["shop/price"]), ("rows", ["run_python"]), ("sum", ["run_python"])]
    found = _steps([{"kind": "own", "steps": steps}, {"kind": "fruit", "steps": steps}], own=True)
    assert [(text, len(tools)) for text, tools in found] == [("rows", 2), ("sum", 1)]
    row = {"complete": 1, "n": 2, "found": 2, "needed": 3}
    assert _complete_and_found({**row, "requests": f"{ORACLE_TEXTS}, own tasks"}) == ("1 of 2", "2 of 3")
    assert "%" in _complete_and_found({**row, "requests": "tasks"})[0]
