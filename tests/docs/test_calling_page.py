"""The page on calling is true: its program runs, its command prints what is shown, its options exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from egotools import Tool
from inference import HashingEncoder
from planners.calling.call_policy import read_policy
from services.jobs.build import build_snapshot
from services.server.server_process import server_process
from tests.conftest import ROOT
from tests.egotools.loopback import Reply, loopback
from tests.services.conftest import Run
from tests.services.conftest import run as run

PAGE = (ROOT / "docs" / "calling.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
SERVER = "https://people.larkfield.example"
(PROGRAM,) = (body for kind, body in BLOCKS if kind == "python")
(COMMANDS,) = (body for kind, body in BLOCKS if kind == "bash")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calling") / "store"
    build_snapshot([str(ROOT / "examples/enterprise/catalog/hr.yaml")], folder, encoder=HashingEncoder())
    return folder


@pytest.fixture(scope="module")
def served(store: Path) -> Iterator[str]:
    with server_process(store) as server:
        yield server["address"]


def test_the_program_prints_what_it_says(
    served: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with loopback(lambda arrived: Reply(status=201)) as server:
        exec(PROGRAM.replace("127.0.0.1:50051", served).replace(SERVER, server.url), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed == re.findall(r"^# ((?:POST|\d).*)$", PROGRAM, re.MULTILINE)
    assert server.only.method == "POST"


def test_the_command_prints_what_is_shown(run: Run, store: Path) -> None:
    words = shlex.split(COMMANDS.splitlines()[0])[1:]
    code, out, err = run(*[str(store) if word == "store" else word for word in words])
    assert (code, err) == (0, "")
    shown = next(body for kind, body in BLOCKS if kind == "text" and body.startswith("POST"))
    assert sorted(out.split("\n\n")[0].splitlines()) == sorted(shown.split("\n\n")[0].splitlines())
    assert out.split("\n\n")[1] == shown.split("\n\n")[1]


def test_the_policy_decides_as_it_says(tmp_path: Path) -> None:
    (rules,) = (body for kind, body in BLOCKS if kind == "yaml")
    (tmp_path / "policy.yaml").write_text(rules, encoding="utf-8")
    policy = read_policy(tmp_path / "policy.yaml")

    def decision(tool_id: str, effect: str) -> str:
        name, namespace = tool_id.rpartition("/")[2], tool_id.partition("/")[0]
        return policy.decision(
            Tool(id=tool_id, name=name, title="", description="", namespace=namespace, effect=effect)
        )

    assert decision("finance/pay", "change") == "deny"
    assert decision("finance/listPayments", "read") == "allow"
    assert decision("hr/approveLeave", "change") == "ask"
    assert decision("hr/hire", "change") == "allow"
    assert decision("sales/order", "change") == "ask"


def test_the_options_exist(run: Run) -> None:
    _, out, _ = run("call", "--help")
    options = {*re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)} - {"--filter"}
    assert sorted(option for option in options if option not in out) == []
    assert "--filter" in run("search", "--help")[1]
