"""The tools that run Python and ask a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from inference.scripted import ScriptedChat
from planners.calls.sandbox import Sandbox, SandboxLimits
from planners.kgot.tools.standard_tools import ToolModels, standard_tools
from planners.kgot.tools.task_files import TaskFiles

pytestmark = pytest.mark.usefixtures("needs_sandbox")


@pytest.fixture
def files(tmp_path: Path) -> TaskFiles:
    (tmp_path / "a.csv").write_text("1\n2\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("3\n", encoding="utf-8")
    return TaskFiles([tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path)


async def test_code_reads_the_files_of_the_task(files: TaskFiles) -> None:
    files.add("in zip/c.csv", b"4\n")
    code = "import glob; print(sum(int(line) for name in glob.glob('*.csv') for line in open(name)))"
    answer = await standard_tools(files, Sandbox()).call("kgot/run_python", {"code": code})
    assert (answer.ok, answer.body) == (True, {"stdout": "10\n"})


@pytest.mark.parametrize(
    "code, status, said",
    [
        ("print(1); 1 / 0", "error", "ZeroDivisionError"),
        ("while True: pass", "timeout", "longer than 1 s"),
        ("while True: print('x' * 1000)", "output", "more than 5,000 bytes"),
        ("import os; os.abort()", "killed", "ended"),
    ],
)
async def test_code_that_fails_says_how(files: TaskFiles, code: str, status: str, said: str) -> None:
    tools = standard_tools(files, Sandbox(SandboxLimits(seconds=1.0, output_bytes=5_000)))
    answer = await tools.call("kgot/run_python", {"code": code})
    assert (answer.ok, answer.status) == (False, status)
    assert said in answer.body["error"] + answer.body["stderr"]


async def test_a_question_is_asked_of_the_model(files: TaskFiles) -> None:
    tools = standard_tools(files, Sandbox(), models=ToolModels(chat=ScriptedChat(["Rome"])))
    unready = await tools.ready()
    assert not {"kgot/ask_llm", "kgot/run_python"} & set(unready) and "kgot/search" in unready
    assert (await tools.call("kgot/ask_llm", {"question": "Capital of Italy?"})).body == {"answer": "Rome"}
