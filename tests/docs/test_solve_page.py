"""The page on solving tasks is true: its commands run in their order and print what is shown, its options, kinds and codes exist."""

import re
import shlex
from typing import Any

from planners.kgot.tools.tool_set import ToolSet
from tests.conftest import ROOT
from tests.harness.commands import Run

PAGE = (ROOT / "docs" / "solve.md").read_text(encoding="utf-8").partition("## Asking a graph")[0]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
(COMMANDS,) = (body.splitlines() for kind, body in BLOCKS if kind == "bash")
(PROGRAM,) = (body for kind, body in BLOCKS if kind == "python")


def test_the_command_that_needs_no_model_runs(run: Run) -> None:
    (command,) = COMMANDS
    program, *words = shlex.split(command)
    assert program == ".venv/bin/egotools"
    code, out, err = run(*words)
    assert code == 0 and "Recorded" in out, err


async def test_the_function_of_the_example_is_registered_and_called() -> None:
    names: dict[str, Any] = {}
    exec(PROGRAM, names)  # the program of the page
    tools: ToolSet = names["tools"]
    (id_,) = tools.ids
    assert (await tools.call(id_, {"part": "bolt"})).body == {"left": 7}
    assert [each.name for each in tools.tools()] == ["stock"]
