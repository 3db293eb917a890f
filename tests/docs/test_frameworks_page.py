"""The page on frameworks is true: its programs run as they stand, its versions are those that ran, its table is that of the extras."""

import asyncio
import os
import re
import shlex
import subprocess
import sys
import types
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pytest
from pydantic.warnings import PydanticDeprecationWarning

from tests.conftest import ROOT
from tests.docs.pages import blocks, page
from tests.egotools.integrations import http_models
from tests.harness.chat import ScriptedChat, scripted_chat
from tests.harness.company import running as running_company
from tests.harness.servers import running_server

PAGE = page("docs/frameworks.md")
PROGRAMS = {
    title.splitlines()[0]: program
    for title in re.split(r"^## ", PAGE, flags=re.MULTILINE)
    for program in blocks(title, "python")
}
COMMANDS = [line for body in blocks(PAGE, "bash") for line in body.splitlines()]
TURNS = (
    ("search_tools", {"query": "search employees by name"}),
    ("hr__searchEmployees", {"query": "Nowak"}),
    "Somebody has.",
)


@dataclass(frozen=True, slots=True)
class Running:
    """What the quickstart starts."""

    server: str
    company: str
    chat: ScriptedChat

    def placed(self, text: str) -> str:
        return text.replace("127.0.0.1:50051", self.server).replace("http://127.0.0.1:8010", self.company)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("frameworks")
    build, serve, *_ = map(shlex.split, COMMANDS)
    assert build[:2] == [".venv/bin/egotools", "build"]
    assert build[-1] == serve[serve.index("--store") + 1] == "store-hr"  # not that of the other pages
    words = [*build[:-1], str(folder / build[-1])]
    subprocess.run([sys.executable, "-m", "services.cli", *words[1:]], cwd=ROOT, check=True, capture_output=True)
    with (
        running_server(folder / "store-hr") as server,
        running_company(folder / "company") as company,
        scripted_chat() as chat,
    ):
        yield Running(server.address, company.url, chat)


@pytest.fixture
def ready(running: Running, monkeypatch: pytest.MonkeyPatch) -> Running:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("OPENAI_BASE_URL", running.chat.url)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", running.chat.url.removesuffix("/v1"))
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    # The packages of chat models that belong to two frameworks are not installed here: models of the same names speak the same protocol.
    for package, model in (("langchain_openai", "ChatOpenAI"), ("llama_index.llms.openai", "OpenAI")):
        module = types.ModuleType(package)
        setattr(module, model, getattr(http_models, model))
        monkeypatch.setitem(sys.modules, package, module)
    running.chat.say(*TURNS)
    return running


def _close_event_loop() -> None:
    """Some frameworks leave the loop of their synchronous calls to the end of the program."""
    with warnings.catch_warnings(), suppress(RuntimeError):
        warnings.simplefilter("ignore", DeprecationWarning)
        asyncio.get_event_loop_policy().get_event_loop().close()
    asyncio.set_event_loop(None)


@pytest.mark.slow
@pytest.mark.parametrize("title", PROGRAMS)
def test_a_program_runs_as_it_stands(title: str, ready: Running, capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", PydanticDeprecationWarning
        )  # LlamaIndex's workflows read every attribute of a model
        exec(compile(ready.placed(PROGRAMS[title]), f"frameworks.md, {title}", "exec"), {})
        _close_event_loop()
    printed = capsys.readouterr().out
    assert printed == "Somebody has.\n"
    assert "Nowak" in ready.chat.told()


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS[-2:])
def test_a_loop_runs_as_it_stands(command: str, ready: Running) -> None:
    program, *words = shlex.split(ready.placed(command))
    assert program == ".venv/bin/python"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("Somebody has.\n", "")
