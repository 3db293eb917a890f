"""``egotools solve``: by a model behind HTTP, killed and resumed, replayed, many tasks, bad input."""

import io
import json
import re
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from planners.journal.recorded import end_of
from planners.journal.run_journal import read_run_journal
from tests.eval.planted import written
from tests.harness.commands import Run, started
from tests.harness.waiting import LIMIT_S, wait_until
from tests.planners.kgot.run_fakes import StepServer

QUESTION = "What is the amount of the sale?"
CALL = {"tool": "kgot/inspect_file", "arguments": {"file": "sales.csv"}}
ASKED = "result = [node['amount'] for _, node in G.nodes(data=True) if node['label'] == 'Zsale']"
ANSWERS: dict[str, list[Any]] = {
    "next_step": [
        {"query_type": "INSERT", "content": "read the text and the tables in a file: sales.csv"},
        {"query_type": "RETRIEVE", "content": ASKED},
    ],
    "tool_calls": [{"calls": [CALL]}],
    "write_graph": [{"nodes": [{"label": "Zsale", "key": {"amount": 8}, "properties": {}}], "edges": []}],
    "maths_needed": [{"needed": False}],
    "final_answer": [{"answer": "8"}],
}
ASKING = {
    **ANSWERS,
    "next_step": [
        {"query_type": "INSERT", "content": "ask a language model about general knowledge"},
        {"query_type": "RETRIEVE", "content": ASKED},
    ],
    "tool_calls": [{"calls": [{"tool": "kgot/ask_llm", "arguments": {"question": "What is the amount?"}}]}],
    "tool": ["It is 8."],
}


@pytest.fixture(autouse=True)
def _nobody(needs_sandbox: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))  # no terminal
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    (tmp_path / "sales.csv").write_text("region,amount\nNorth,8\nSouth,8\nWest,8\n", encoding="utf-8")


def options(server: StepServer, tmp_path: Path, *more: object) -> list[object]:
    model = ("--llm-url", f"{server.url}/v1", "--llm-model", "m", "--votes", 1)
    return ["solve", QUESTION, "--file", tmp_path / "sales.csv", *model, *more]


def test_a_model_solves_a_task_and_the_run_is_replayed_without_it(run: Run, tmp_path: Path) -> None:
    journal = ("--journal", tmp_path / "run.jsonl")
    with StepServer(**ANSWERS) as server:
        code, out, err = run(*options(server, tmp_path, *journal, "--llm-usd-per-1k", 1))
        asked = len(server.steps)
        again = run(*options(server, tmp_path, *journal, "--llm-usd-per-1k", 1))
        assert len(server.steps) == asked, "a finished run asks nobody"
    assert code == 0, err
    for told in ("step 1", "decision enhance", "kgot/inspect_file", "operations 1", "answer 8"):
        assert told in out
    assert re.search(r"took +2 steps; \d+ model calls, \d+ \+ \d+ tokens, 0\.\d+ USD; 1 tool call,", out)
    assert "not ready" not in again[2], "none of them was called"
    replayed = run("solve", "--replay", *journal)
    assert replayed[0] == again[0] == 0
    first, second, third = (re.sub(r"seconds .*|\(\d+ characters\)", "", each) for each in (out, again[1], replayed[1]))
    assert first == second == third
    code, told_json, _ = run("solve", "--replay", *journal, "--json")
    found = json.loads(told_json)
    assert (found["answer"], found["outcome"], found["iterations"]) == ("8", "solved", 2)
    assert found["graph"]["nodes"] == [{"id": "n1", "label": "Zsale", "properties": {"amount": 8}}]
    assert found["calls"][0]["ok"] and found["account"]["model"]["calls"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "step"),
    [(signal.SIGKILL, "write_graph"), (signal.SIGINT, "write_graph"), (signal.SIGINT, "tool")],
    ids=["kill", "Ctrl-C", "Ctrl-C while a tool asks"],
)
def test_a_command_that_was_stopped_goes_on_and_does_not_wait_for_its_model(
    run: Run, tmp_path: Path, sent: signal.Signals, step: str
) -> None:
    held, go_on = threading.Event(), threading.Event()
    answers = ASKING if step == "tool" else ANSWERS

    def answer(body: Mapping[str, Any], nth: int) -> Any:
        if nth == 0:
            held.set()
            go_on.wait(LIMIT_S)
        return answers[step][0]

    with StepServer(**{**answers, step: answer}) as server:
        given = options(server, tmp_path, "--journal", tmp_path / "run.jsonl")
        with started(*given) as process:
            wait_until(held.is_set, process=process)
            process.send_signal(sent)
            process.wait(timeout=LIMIT_S)
            assert server.steps.count(step) == 1, "it waited until its model was late, and asked again"
        go_on.set()
        assert process.returncode == (130 if sent == signal.SIGINT else -signal.SIGKILL)
        code, out, err = run(*given)
        assert code == 0, err
        assert "answer 8" in out
        assert (server.steps.count("tool_calls"), server.steps.count("next_step")) == (1, 2)
        first, second = server.prompts(step)
        assert first == second, "the same run asks the same, with the same marks"
    assert end_of(read_run_journal(tmp_path / "run.jsonl"))["answer"]["outcome"] == "solved"


def test_budget_and_deadline_have_their_own_exit_codes(run: Run, tmp_path: Path) -> None:
    with StepServer(**ANSWERS) as server:
        code, _, err = run(*options(server, tmp_path, "--llm-max-tokens", 10))
        assert code == 11 and "--journal" not in err
        code, _, err = run(*options(server, tmp_path, "--max-seconds", 0.001))
        assert code == 12


def test_the_shipped_recorded_run_replays_and_says_whether_its_answer_is_right(run: Run) -> None:
    code, out, err = run("solve", "--demo")
    assert code == 0, err
    assert re.search(r"Recorded: this run was made on \d{4}-\d\d-\d\d with", out)
    assert "with qwen2.5-coder-1.5b-instruct-q4_k_m. It is replayed" in out
    assert "answer (forced) Account Owner of Hydra Systems" in out
    assert "The answer is wrong; expected: Sales" in out


def tasks_file(folder: Path) -> Path:
    rows = [
        {"id": "right", "question": QUESTION, "files": ["sales.csv"], "answer": "8", "level": 1},
        {"id": "wrong", "question": QUESTION, "files": ["sales.csv"], "answer": "9", "level": 2},
    ]
    return written(folder / "tasks.jsonl", *rows)


def test_many_tasks_are_solved_and_reported_and_finished_ones_stay(run: Run, tmp_path: Path) -> None:
    always = {**ANSWERS, "next_step": lambda body, nth: ANSWERS["next_step"][_has_graph(body)]}
    with StepServer(**always) as server:
        model = ("--llm-url", f"{server.url}/v1", "--llm-model", "m", "--votes", 1)
        given = ("solve", "--tasks", tasks_file(tmp_path), "--out", tmp_path / "out", *model, "--workers", 2)
        code, out, err = run(*given)
        assert code == 0, err
        assert "2 tasks: 1 correct" in out and "right solved: 8" in err
        written = {path.name for path in (tmp_path / "out").iterdir()}
        assert {"report.json", "results", "journals"} <= written
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "journals").glob("*.jsonl")}
        code, out, err = run(*given)
        assert code == 0 and "2 of 2 were finished before. To run one again, delete " in err
    assert {path: path.stat().st_mtime_ns for path in before} == before


def _has_graph(body: Mapping[str, Any]) -> bool:
    return "Zsale" in json.dumps(body)


def test_a_journal_of_another_run_is_refused(run: Run, tmp_path: Path) -> None:
    with StepServer(**ANSWERS) as server:
        given = options(server, tmp_path, "--journal", tmp_path / "run")
        assert run(*given)[0] == 0
        code, _, err = run("solve", "What else?", *given[2:])
        assert code == 2 and "which differs in the question. " in err
        code, _, err = run(*given, "--max-iterations", 3)
        assert code == 2 and "which differs in --max-iterations. " in err
        code, _, err = run("solve", *given[2:])
        assert code == 2 and "add --replay" in err
