"""The page on solving tasks is true: its commands run in their order and print what is shown, its options, kinds and codes exist."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from planners.kgot.tools.tool_set import ToolSet
from services.jobs.integrated_store import integrated_store
from tests.conftest import ROOT
from tests.services.conftest import Run
from tests.services.conftest import run as run

PAGE = (ROOT / "docs" / "solve.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
(COMMANDS,) = (body.splitlines() for kind, body in BLOCKS if kind == "bash")
(SHOWN,) = (body for kind, body in BLOCKS if kind == "text")
PROGRAM, USE = (body for kind, body in BLOCKS if kind == "python")
(ROW,) = (body for kind, body in BLOCKS if kind == "json")


@pytest.mark.slow
def test_the_commands_run_in_their_order_and_print_what_is_shown(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(ROOT / "planners" / "kgot" / "tasks" / "files", tmp_path / "planners" / "kgot" / "tasks" / "files")
    (tmp_path / "out").mkdir()
    printed = []
    for command in COMMANDS:
        program, *words = shlex.split(command)
        if program == "echo":
            text, arrow, path = words
            assert arrow == ">" and text == ROW.strip()
            (tmp_path / path).write_text(text, encoding="utf-8")
            continue
        assert program == ".venv/bin/egotools"
        code, out, err = run(*words)
        assert code == 0, f"{command}\n{out}\n{err}"
        printed.append(out)
    assert printed[0] == printed[1] and "answer 409.5" in printed[0]
    assert printed[2].endswith(SHOWN)
    assert "1 tasks: 1 correct" in printed[3]
    assert json.loads((tmp_path / "out" / "batch" / "report.json").read_text(encoding="utf-8"))["tasks"] == 1
    assert integrated_store().is_relative_to(tmp_path / "cache")


@pytest.mark.slow
def test_each_form_of_question_is_read_by_rules_and_others_are_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    table = PAGE[PAGE.index("| question | file |") : PAGE.index("Any other question is refused")]
    rows = re.findall(r"^\| ([^|]+\?) \| (?:`(.+)`)? ?\|$", table, re.MULTILINE)
    answers = [_answer(run, question, file) for question, file in rows]
    assert answers == ["409.5", "150", "1100", "9", "629.73", "486.2444444444", "S-029", "Argo, Egret, Grebe, Jackdaw"]
    code, _, err = run("solve", "Why is the sky blue?")
    assert code == 7 and "names nothing" in err


def _answer(run: Run, question: str, file: str) -> str:
    given = ["--file", ROOT / "planners" / "kgot" / "tasks" / "files" / file] if file else []
    code, out, err = run("solve", question, *given, "--json")
    assert code == 0, err
    return str(json.loads(out)["answer"])


@pytest.mark.slow
def test_the_program_solves_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(ROOT)
    exec(USE, {})  # the program of the page
    assert capsys.readouterr().out == "9 solved\n"


async def test_the_function_of_the_example_is_registered_and_called() -> None:
    names: dict[str, Any] = {}
    exec(PROGRAM, names)  # the program of the page
    tools: ToolSet = names["tools"]
    (id_,) = tools.ids
    assert (await tools.call(id_, {"part": "bolt"})).body == {"left": 7}
    assert [each["name"] for each in tools.documents()] == ["stock"]
