"""``egotools solve``: by a model behind HTTP and by rules, killed and resumed, replayed, many tasks, bad input."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from planners.runs.run_journal import read_run_journal
from services.cli import solve_demo
from tests.conftest import ROOT
from tests.harness.commands import Run, started
from tests.harness.waiting import LIMIT_S, wait_until
from tests.planners.kgot.recorded_events import event_lines
from tests.planners.kgot.run_fakes import StepServer
from tests.planners.runs import warehouse_tools

QUESTION = "What is the amount of the sale?"
CALL = {"tool": "kgot/inspect_file", "arguments": {"file": "sales.csv"}}
ANSWERS: dict[str, list[Any]] = {
    "next_step": [
        {"query_type": "INSERT", "content": "read the text and the tables in a file: sales.csv"},
        {"query_type": "RETRIEVE", "content": "MATCH (s:Zsale) RETURN s.amount AS amount"},
    ],
    "tool_calls": [{"calls": [CALL]}],
    "write_graph": [{"statements": ["CREATE (:Zsale {amount: 8})"]}],
    "maths_needed": [{"needed": False}],
    "final_answer": [{"answer": "8"}],
}
ASKING = {
    **ANSWERS,
    "tool_calls": [{"calls": [{**CALL, "arguments": {"file": "sales.csv", "question": "What is the amount?"}}]}],
    "tool": ["It is 8."],
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that keeps the store of the integrated tools."""
    return tmp_path_factory.mktemp("integrated")


@pytest.fixture(autouse=True)
def _nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))  # no terminal
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    (tmp_path / "sales.csv").write_text("region,amount\nNorth,8\nSouth,8\nWest,8\n", encoding="utf-8")


def options(server: StepServer, cache: Path, tmp_path: Path, *more: object) -> list[object]:
    model = ("--llm-url", f"{server.url}/v1", "--llm-model", "m", "--votes", 1)
    return ["solve", QUESTION, "--file", tmp_path / "sales.csv", *model, "--tools-cache", cache, *more]


def test_a_model_solves_a_task_and_the_run_is_replayed_without_it(run: Run, cache: Path, tmp_path: Path) -> None:
    journal = ("--journal", tmp_path / "run.jsonl")
    with StepServer(**ANSWERS) as server:
        code, out, err = run(*options(server, cache, tmp_path, *journal, "--llm-usd-per-1k", 1, "--explain"))
        asked = len(server.steps)
        again = run(*options(server, cache, tmp_path, *journal, "--llm-usd-per-1k", 1))
        assert len(server.steps) == asked, "a finished run asks nobody"
    assert code == 0, err
    for told in ("step 1", "enhance (1 insert)", "kgot/inspect_file", "1 Statement", "answer 8"):
        assert told in out
    (line,) = [line for line in err.splitlines() if "not ready" in line]
    assert "kgot/search (Give --search-url)" in line and "Configure" not in line
    assert re.search(r"took +2 steps; \d+ model calls, \d+ \+ \d+ tokens, 0\.\d+ USD; 1 tool call,", out)
    assert "not ready" not in again[2], "none of them was called"
    replayed = run("solve", "--replay", *journal)
    assert replayed[0] == again[0] == 0
    first, second, third = (re.sub(r"in \d+\.\d s", "in S s", each) for each in (out, again[1], replayed[1]))
    assert first == second == third
    code, told_json, _ = run("solve", "--replay", *journal, "--json")
    found = json.loads(told_json)
    assert (found["answer"], found["outcome"], found["iterations"]) == ("8", "solved", 2)
    assert found["graph"]["nodes"] == [{"id": "n1", "label": "Zsale", "properties": {"amount": 8}}]
    assert found["calls"][0]["ok"] and found["account"]["by_step"]["write_graph"]["calls"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "step"),
    [(signal.SIGKILL, "write_graph"), (signal.SIGINT, "write_graph"), (signal.SIGINT, "tool")],
    ids=["kill", "Ctrl-C", "Ctrl-C while a tool asks"],
)
def test_a_command_that_was_stopped_goes_on_and_does_not_wait_for_its_model(
    run: Run, cache: Path, tmp_path: Path, sent: signal.Signals, step: str
) -> None:
    held, go_on = threading.Event(), threading.Event()
    answers = ASKING if step == "tool" else ANSWERS

    def answer(body: Mapping[str, Any], nth: int) -> Any:
        if nth == 0:
            held.set()
            go_on.wait(LIMIT_S)
        return answers[step][0]

    with StepServer(**{**answers, step: answer}) as server:
        given = options(server, cache, tmp_path, "--journal", tmp_path / "run.jsonl")
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
    assert b'"Ended","missing":"","outcome":"solved"' in event_lines(read_run_journal(tmp_path / "run.jsonl"))


def test_without_a_model_rules_answer_what_they_can_read_and_say_what_they_cannot(
    run: Run, cache: Path, tmp_path: Path
) -> None:
    code, out, err = run("solve", "What is 17.5 % of 2,340?", "--tools-cache", cache)
    assert code == 0 and "answer 409.5" in out and "0 model calls" in out, err
    code, out, err = run("solve", "Why is the sky blue?", "--tools-cache", cache)
    assert code == 7
    assert "cannot be answered by rules" in err and "outcome" in out
    assert "step 1" in out and "step 2" not in out and "tools" not in out, "no tool could help"
    assert "Name a model (--llm-url, --llm-model), or ask in words" in err and "another model" not in err
    assert "not ready" not in err
    (store,) = (each for each in cache.iterdir() if each.is_dir())
    code, _, err = run("solve", "Why is the sky blue?", "--tools-cache", cache, "--store", store)
    assert code == 7 and "only the tools of a domain can be called" in err and "--domain" in err and "--llm-url" in err


def test_budget_and_deadline_have_their_own_exit_codes(run: Run, cache: Path, tmp_path: Path) -> None:
    with StepServer(**ANSWERS) as server:
        code, _, err = run(*options(server, cache, tmp_path, "--llm-max-tokens", 10))
        assert code == 11 and "--journal" not in err
        code, _, err = run(*options(server, cache, tmp_path, "--max-seconds", 0.001))
        assert code == 12


def test_a_model_that_is_down_ends_the_run_with_its_fault(run: Run, cache: Path, tmp_path: Path) -> None:
    with StepServer() as server:  # it answers each step with an error
        code, out, err = run(*options(server, cache, tmp_path))
        assert server.steps.count("next_step") == 2
    assert code == 10 and "left out" in out and "next_step: the endpoint answered HTTP 400" in out, err
    assert "outcome model" in out and "HTTP 400" in err and QUESTION.rstrip("?") not in err


def test_rules_that_write_beside_a_model_save_its_prompts(run: Run, cache: Path, tmp_path: Path) -> None:
    answers = {name: given for name, given in ANSWERS.items() if name != "write_graph"}
    query = {"query_type": "RETRIEVE", "content": "MATCH (s:Sale) RETURN s.amount"}
    answers["next_step"] = [answers["next_step"][0], query]
    with StepServer(**answers) as server:
        code, out, err = run(*options(server, cache, tmp_path, "--write", "rules", "--journal", tmp_path / "run"))
    assert code == 0, err
    assert "answer 8" in out
    (saved,) = re.findall(r"about ([\d,]+) prompt tokens saved by --write rules", out)
    replayed = ("solve", "--replay", "--journal", tmp_path / "run")
    assert run(*replayed)[1] == out
    assert f"{json.loads(run(*replayed, '--json')[1])['account']['spared_tokens']:,}" == saved != "0"


def test_the_demo_replays_a_recorded_run_where_there_is_one(
    run: Run, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solve_demo, "_build", lambda folder: folder)
    monkeypatch.setattr(solve_demo, "keyless_tasks", lambda folder, store: None)
    monkeypatch.setattr(solve_demo, "RECORDED_RUN", tmp_path / "run.jsonl")
    assert run("solve", "--demo") == (0, "", "")
    with StepServer(**ANSWERS) as server:
        assert run(*options(server, cache, tmp_path, "--journal", tmp_path / "run.jsonl"))[0] == 0
    code, out, err = run("solve", "--demo")
    assert code == 0, err
    assert re.search(r"Recorded: this run was made on \d{4}-\d\d-\d\d with m\. It is replayed", out)
    assert QUESTION in out and "answer 8" in out


def test_the_shipped_recorded_run_replays_and_says_whether_its_answer_is_right(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solve_demo, "_build", lambda folder: folder)
    monkeypatch.setattr(solve_demo, "keyless_tasks", lambda folder, store: None)
    code, out, err = run("solve", "--demo")
    assert code == 0, err
    assert "with qwen2.5-coder-1.5b-instruct-q4_k_m. It is replayed" in out
    assert "answer (forced) Account Owner of Hydra Systems" in out
    assert "The answer is wrong; expected: Sales" in out


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with tools of Python, one of which changes something."""
    store = tmp_path_factory.mktemp("warehouse") / "store"
    made = subprocess.run(
        [sys.executable, "-m", "services.cli", "build", f"python:{warehouse_tools.__name__}", "--out", str(store)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return store


@pytest.mark.slow
@pytest.mark.parametrize("yes", [False, True], ids=["nobody", "yes"])
def test_what_may_change_something_needs_consent(
    run: Run, cache: Path, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, yes: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    name = warehouse_tools.__name__
    move = {"tool": f"{name}/move_stock", "arguments": {"material": "steel", "target": "Ulm"}}
    asked = {"query_type": "INSERT", "content": "move stock of a material to a target"}
    answers = {**ANSWERS, "next_step": [asked], "tool_calls": [{"calls": [move]}]}
    with StepServer(**answers, forced_query=[{"query": "MATCH (s:Zsale) RETURN s.amount"}]) as server:
        given = options(server, cache, tmp_path, "--store", warehouse, "--python", name, "--max-iterations", 1)
        code, out, err = run(*given, *(["--yes"] if yes else []))
    assert f"{name}/move_stock" in out, err
    assert warehouse_tools.MARKS.exists() is yes
    assert ("denied" in out) is not yes
    assert code == (0 if yes else 7)


def tasks_file(folder: Path) -> Path:
    rows = [
        {"id": "share", "question": "What is 17.5 % of 2,340?", "answer": "409.5", "level": 1},
        {"id": "sky", "question": "Why is the sky blue?", "answer": "scattering", "level": 2},
        {"id": "sum", "question": "What is 17 % of 200?", "answer": "35", "level": 1},
    ]
    path = folder / "tasks.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_many_tasks_are_solved_and_reported_and_finished_ones_stay(run: Run, cache: Path, tmp_path: Path) -> None:
    given = (
        "solve",
        "--tasks",
        tasks_file(tmp_path),
        "--out",
        tmp_path / "out",
        "--workers",
        2,
        "--tools-cache",
        cache,
    )
    code, out, err = run(*given)
    assert code == 0, err
    assert "3 tasks: 1 correct, 1 other error, 1 close call" in out or "3 tasks: 1 correct" in out
    assert "share solved: 409.5" in err
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.json", "report.md", "results", "journals"} <= written
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "journals").glob("*.jsonl")}
    code, out, _ = run(*given, "--json")
    assert code == 0 and json.loads(out)["categories"]["correct"] == 1
    assert "3 of 3 were finished before. To run one again, delete " in run(*given)[2]
    assert {path: path.stat().st_mtime_ns for path in before} == before


BAD: list[tuple[list[str], int, str]] = [
    ([], 2, "there is no task"),
    (["  "], 2, "there is no task"),
    (["q", "--replay"], 2, "it needs --journal"),
    (["q", "--retrieve", "x"], 2, "'x' is not known"),
    (["q", "--noise", "x"], 2, "'x' is not known"),
    (["q", "--retrieve", "direct"], 2, "without a model"),
    (["q", "--write", "x"], 2, "writes nothing"),
    (["q", "--today", "x"], 2, "is no day"),
    (["q", "--graph", "mysql"], 2, "no graph store"),
    (["q", "--llm-model", "m"], 2, "--llm-model: it needs --llm-url"),
    (["q", "--llm-url", "http://127.0.0.1:1/v1"], 2, "--llm-url: it needs --llm-model"),
    (["q", "--workers", "2"], 2, "--workers: it needs --tasks"),
    (["q", "--out", "OUT"], 2, "--out: it needs --tasks"),
    (["q", "--on", "ray"], 2, "--on: it needs --tasks"),
    (["--tasks", "TASKS"], 2, "it needs a folder"),
    (["--tasks", "TASKS", "--out", "OUT", "--graph", "ladybug:x"], 2, "a store of its own"),
    (["--tasks", "TASKS", "--out", "OUT", "--on", "mars"], 2, "no place"),
    (["q", "--file", "GONE"], 2, "cannot be read"),
    (["--replay", "--journal", "GONE"], 2, "cannot be read"),
]


@pytest.mark.parametrize(("given", "code", "problem"), BAD, ids=[" ".join(given) or "nothing" for given, _, _ in BAD])
def test_bad_input_is_named(run: Run, cache: Path, tmp_path: Path, given: list[str], code: int, problem: str) -> None:
    paths = {"TASKS": tasks_file(tmp_path), "OUT": tmp_path / "out", "GONE": tmp_path / "gone"}
    found, _, err = run("solve", *(paths.get(word, word) for word in given), "--tools-cache", cache)
    assert found == code and problem in err and "not ready" not in err


def test_a_journal_of_another_command_is_refused(run: Run, cache: Path, tmp_path: Path) -> None:
    journal = tmp_path / "run"
    assert run("solve", "What is 2 % of 50?", "--tools-cache", cache, "--journal", journal)[0] == 0
    code, _, err = run("solve", "What is 3 % of 50?", "--tools-cache", cache, "--journal", journal)
    assert code == 2 and "which differs in the question. " in err
    more = ("--max-iterations", 3, "--today", "2020-01-01", "--tools-cache", cache, "--journal", journal)
    code, _, err = run("solve", "What is 2 % of 50?", *more)
    assert code == 2 and "which differs in --max-iterations, --today. " in err
    code, _, err = run("solve", "--tools-cache", cache, "--journal", journal)
    assert code == 2 and "add --replay" in err
