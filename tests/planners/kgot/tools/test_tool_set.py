"""The registry of integrated tools: what is accepted, what is offered, how they are called, which are ready."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from egotools import PermissionDeniedError, ToolRequestError
from inference.chat import Budget
from inference.openai_client import OpenAIEndpoint
from inference.retry import RetryPolicy
from ontology.errors import BudgetExceededError, InvalidArgumentError, ModelError, UnsupportedError
from planners.calls.sandbox import Sandbox, SandboxLimits
from planners.calls.tool_access import CallLimits, ToolAccess, always, never
from planners.kgot.tools.task_files import TaskFiles
from planners.kgot.tools.tool_set import ToolModels, ToolSet, standard_tools
from tests.harness.http_server import Loopback
from tests.harness.waiting import LIMIT_S
from tests.planners.kgot.run_fakes import FakeFinder, completion

TEXT = {"type": "string"}


async def shout(text: str, times: int = 1) -> dict[str, Any]:
    return {"said": text.upper() * times}


def shouting(**parts: Any) -> ToolSet:
    tools = ToolSet()
    inputs = {"text": TEXT, "times": {"type": "integer"}}
    given = {"name": "shout", "description": "Say a text loudly.", "inputs": inputs, "required": ("text",)}
    tools.register(**{"function": shout, **given, **parts})
    return tools


def test_illegal_tools_are_refused() -> None:
    illegal = {"name": ("Shout!", "", "x" * 65), "description": ("x" * 1_025, " "), "required": (("texts",),)}
    for part, value in ((part, value) for part, values in illegal.items() for value in values):
        with pytest.raises(InvalidArgumentError):
            shouting(**{part: value})


async def test_a_call_answers_json_values_and_its_arguments_are_checked() -> None:
    answer = await shouting().call("kgot/shout", {"text": "é", "times": 2})
    assert (answer.ok, answer.body, answer.size) == (True, {"said": "ÉÉ"}, len('{"said":"ÉÉ"}'.encode()))
    for arguments, subject in (({}, "text"), ({"text": 3}, "text"), ({"text": "a", "more": 1}, "more")):
        with pytest.raises(ToolRequestError) as caught:
            await shouting().call("kgot/shout", arguments)
        assert caught.value.subject == subject


@pytest.mark.parametrize(
    "raised, said",
    [
        (ModelError("the model is away", subject="m"), "m: the model is away"),
        (KeyError("k"), "KeyError: 'k'"),
        (TimeoutError(), "waited too long"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "UnicodeDecodeError"),
    ],
)
async def test_what_goes_wrong_in_a_tool_is_an_answer(raised: Exception, said: str) -> None:
    async def fail(text: str) -> None:
        raise raised

    answer = await shouting(function=fail, inputs={"text": TEXT}).call("kgot/shout", {"text": "a"})
    assert not answer.ok
    assert said in answer.body["error"]


# Readiness.


@pytest.mark.parametrize(
    "raised, why", [(UnsupportedError("no model", remedy="Configure one"), "Configure one"), (OSError("gone"), "gone")]
)
async def test_what_is_ready_is_offered_behind_what_was_found_and_else_it_says_why(raised: Exception, why: str) -> None:
    async def check() -> None:
        raise raised

    tools = shouting(check=check)
    tools.register(shout, name="say", description="Say.", inputs={"text": TEXT})
    unusable = await tools.ready()
    assert list(unusable) == ["kgot/shout"] and why in unusable["kgot/shout"]
    answer = await tools.call("kgot/shout", {"text": "a"})
    assert (answer.ok, answer.status) == (False, "not ready") and why in answer.body["error"]
    shout_again, say = tools.tools()
    finder = FakeFinder(shout_again, replace(say, id="shop/a"), replace(say, description="of a catalogue"))
    found = await tools.finder(finder).find("say it")
    assert [(each.rank, each.tool.id) for each in found.tools] == [(1, "shop/a"), (2, "kgot/say")]
    assert found.tools[1].tool == say
    assert [each.tool for each in (await tools.finder().find("say it")).tools] == [say]


# Calls.


@pytest.mark.parametrize("said", ["change", "read", ""], ids=["as it is", "forged as reading", "not said"])
async def test_tools_that_change_something_need_consent_whatever_the_catalogue_says(said: str) -> None:
    tools = shouting(effect="change")
    tool = replace(tools.tools()[0], effect=said)
    async with ToolAccess().calling(never, CallLimits(), tools.invoker) as calling:
        with pytest.raises(PermissionDeniedError):
            await calling.invoke(tool, {"text": "a"})
    async with ToolAccess().calling(always, CallLimits(), tools.invoker) as calling:
        assert (await calling.invoke(tool, {"text": "a"})).ok


# Python and questions.


@pytest.fixture
def files(tmp_path: Path) -> TaskFiles:
    (tmp_path / "a.csv").write_text("1\n2\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("3\n", encoding="utf-8")
    return TaskFiles([tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path)


@pytest.mark.usefixtures("needs_sandbox")
async def test_code_reads_the_files_of_the_task(files: TaskFiles) -> None:
    files.add("in zip/c.csv", b"4\n")
    code = "import glob; print(sum(int(line) for name in glob.glob('*.csv') for line in open(name)))"
    answer = await standard_tools(files, Sandbox()).call("kgot/run_python", {"code": code})
    assert (answer.ok, answer.body) == (True, {"stdout": "10\n"})


@pytest.mark.usefixtures("needs_sandbox")
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
    limits = SandboxLimits(seconds=1.0 if status == "timeout" else LIMIT_S, output_bytes=5_000)  # a start takes time
    answer = await standard_tools(files, Sandbox(limits)).call("kgot/run_python", {"code": code})
    assert (answer.ok, answer.status) == (False, status)
    assert said in answer.body["error"] + answer.body["stderr"]


# Images.


async def test_a_model_looks_at_an_image_within_its_budget_and_at_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="the extra llm is not installed")
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\nrest")
    (tmp_path / "b.png").write_bytes(b"%!PS-Adobe-3.0")
    files = TaskFiles([tmp_path / "a.png", tmp_path / "b.png"], tmp_path)
    with Loopback(lambda asked: completion(" A bolt. ", tokens=(900, 4))) as server:
        url = f"{server.url}/v1"
        vision = OpenAIEndpoint("m", base_url=url, api_key="k", timeout_s=30.0, policy=RetryPolicy(max_retries=0))
        budget = Budget(max_tokens=10_000)
        tools = standard_tools(files, Sandbox(), models=ToolModels(vision=vision, budget=budget))
        answer = await tools.call("kgot/inspect_image", {"file": "a.png", "question": "What is it?"})
        assert (answer.body, budget.spent.tokens) == ({"file": "a.png", "answer": "A bolt."}, 904)
        text, image = server.only.json["messages"][0]["content"]
        assert text["text"].endswith("Question: What is it?")
        assert image["image_url"]["url"] == "data:image/png;base64,iVBORw0KGgpyZXN0"
        assert not (await tools.call("kgot/inspect_image", {"file": "b.png", "question": "?"})).ok
        with pytest.raises(ToolRequestError, match="no question"):
            await tools.call("kgot/inspect_image", {"file": "a.png", "question": " "})
        small = ToolModels(vision=vision, budget=Budget(max_tokens=100))
        with pytest.raises(BudgetExceededError):
            asked = {"file": "a.png", "question": "?"}
            await standard_tools(files, Sandbox(), models=small).call("kgot/inspect_image", asked)
        assert len(server.arrived) == 1
