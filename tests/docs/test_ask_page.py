"""The page on asking graphs is true: its commands run in their order and print what is shown, its options and codes exist."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from inference import HashingEncoder
from tests.conftest import ROOT
from tests.harness.commands import Run
from tests.planners.graphseek.agent.http_run import calls
from tests.planners.graphseek.conftest import company_store as company_store
from tests.planners.kgot.run_fakes import StepServer

PAGE = (ROOT / "docs" / "solve.md").read_text(encoding="utf-8").partition("## Asking a graph")[2]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COMPANY, OWN = (body.splitlines() for kind, body in BLOCKS if kind == "bash")
(OPERATOR,) = (body for kind, body in BLOCKS if kind == "python")
FIRST, LAST = (body for kind, body in BLOCKS if kind == "text")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, cache: Path, company_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store stands for the one that the command builds of the same documents, with another encoder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("EGOTOOLS_STORE", str(company_store))


def _printed(run: Run, command: str) -> str:
    program, *words = shlex.split(command)
    if program != ".venv/bin/egotools":
        subprocess.run(["sh", "-ec", command], check=True)
        return ""
    code, out, err = run(*words)
    assert code == 0, f"{command}\n{out}\n{err}"
    return out


@pytest.mark.slow
def test_questions_of_the_company_print_what_is_shown(run: Run) -> None:
    first, second, third, fourth = (_printed(run, each) for each in COMPANY)
    assert first.startswith(FIRST) and first.endswith(LAST)
    assert "MATCH" in second and "Search employees" in second
    assert "and 2 more rows" in third
    told = json.loads(fourth)
    assert told["outcome"] == "answered"
    assert all(name in told["answer"] for name in ("Safety", "inventory"))


@pytest.mark.slow
def test_each_question_of_the_table_is_read_and_others_are_refused(run: Run) -> None:
    table = PAGE[PAGE.index("| question of the tool graph |") : PAGE.index("## Journals")]
    questions = re.findall(r"^\| ([^|]+\?) \|", table, re.MULTILINE)
    assert len(questions) >= 5
    outcomes = [
        json.loads(_printed(run, shlex.join([".venv/bin/egotools", "ask", each, "--json"]))) for each in questions
    ]
    assert [each["outcome"] for each in outcomes] == ["answered"] * len(questions)
    code, _, err = run("ask", "Why is the sky blue?")
    assert code == 2 and "could not be read" in err


def test_a_graph_of_your_own_is_described_asked_and_replayed(run: Run) -> None:
    *_, asked, again = (_printed(run, each) for each in OWN)
    assert "North" in asked and "South" in asked and asked == again


def test_the_operator_of_the_page_is_taken(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setattr("inference.load_encoder", lambda *_, **__: HashingEncoder())
    for command in OWN[:4]:
        _printed(run, command)
    *_, command = (body for kind, body in BLOCKS if kind == "sh")
    file = Path("out/operators/shops_of_item.py")
    file.parent.mkdir()
    file.write_text(OPERATOR, encoding="utf-8")
    told = {"answer": "At South.", "of": ["t1"]}
    with StepServer(turn=[calls(("shops_of_item", {"item_name": "pump"})), told]) as server:
        out = _printed(run, f".venv/bin/{command}".replace("http://127.0.0.1:8000", server.url))
    assert "operator shops_of_item" in out and "South" in out and "North" not in out
