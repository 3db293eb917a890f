"""The page on solving tasks is true: its commands run in their order and print what is shown, its options, kinds and codes exist."""

from __future__ import annotations

import inspect
import re
import shlex
from typing import Any

import pytest

from ontology import errors
from planners.kgot.batch.batch_report import CATEGORIES
from planners.kgot.tools import langchain_tools
from planners.kgot.tools.tool_set import ToolSet
from planners.runs import journal_lines
from tests.conftest import ROOT
from tests.services.conftest import Run
from tests.services.conftest import run as run

PAGE = (ROOT / "docs" / "solve.md").read_text(encoding="utf-8")
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
    assert [each["name"] for each in tools.documents()] == ["stock"]


def test_the_names_of_langchain_exist() -> None:
    section = PAGE[PAGE.index("With the extra `langchain`") : PAGE.index("## Journal")]
    assert set(langchain_tools.__all__) == set(re.findall(r"`(\w+)\(", section))


def test_options_kinds_categories_and_codes_exist(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    _, told, _ = run("solve", "--help")
    missing = [option for option in set(re.findall(r"`(--[a-z-]+)", PAGE)) if option not in told]
    assert missing == []
    kinds = PAGE[PAGE.index("| kind |") : PAGE.index("The journal does not stay")]
    known = inspect.getdoc(journal_lines.RunRecord) or ""
    assert [kind for kind in re.findall(r"`(\w+)`", kinds) if f"``{kind}``" not in known] == []
    categories = PAGE[PAGE.index("| category |") : PAGE.index("The paper names these")]
    assert [name for name in CATEGORIES if name not in categories] == []
    codes = {int(code) for row in re.findall(r"^\| ([\d, ]+) \|", PAGE, re.MULTILINE) for code in row.split(",")}
    assert codes - {0, 130} <= {getattr(errors, name).exit_code for name in errors.__all__ if name.endswith("Error")}
