"""The page on MCP is true: its configuration starts a server, its programs run, its options exist."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
(PROGRAM,) = (body for kind, body in BLOCKS if kind == "python")
(CONFIGURATION,) = (body for kind, body in BLOCKS if kind == "json")
OWN = ["search_tools", "get_tool", "call_tool", "plan_tools"]


@pytest.fixture(scope="module")
def command(hr_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command as the page names it: of this checkout."""
    script = tmp_path_factory.mktemp("bin") / "egotools"
    script.write_text(f'#!/bin/sh\ncd {ROOT}\nexec {sys.executable} -m services.cli "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return script


def of_here(text: str, command: Path, store: Path) -> str:
    return text.replace("/home/you/egotools/.venv/bin/egotools", str(command)).replace(
        "/home/you/egotools/store", str(store)
    )


async def test_the_configuration_starts_a_server(command: Path, hr_store: Path) -> None:
    (server,) = json.loads(of_here(CONFIGURATION, command, hr_store))["mcpServers"].values()
    async with Client(stdio_client(StdioServerParameters(**server))) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == OWN


async def test_a_credential_stands_in_the_configuration(command: Path, hr_store: Path) -> None:
    (server,) = json.loads(of_here(CONFIGURATION, command, hr_store))["mcpServers"].values()
    (said,) = re.findall(r'`("--credential", [^`]+)` in `args` it is `("env": [^`]+)`', PAGE)
    server["args"] += json.loads(f"[{said[0]}]")
    alone = subprocess.run([server["command"], *server["args"]], capture_output=True, text=True, input="", check=False)
    assert alone.returncode == 2 and said[1] in alone.stderr  # the error says what the page says
    server["env"] = json.loads(f"{{{said[1]}}}")["env"]
    async with Client(stdio_client(StdioServerParameters(**server))) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == OWN


def test_the_program_finds_tools(command: Path, hr_store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    exec(compile(of_here(PROGRAM, command, hr_store), "mcp.md", "exec"), {"__name__": "__main__"})
    listed, *found = capfd.readouterr().out.splitlines()
    assert listed == str(OWN)
    assert len(found) == 5
    assert all(re.match(r"hr/\w+ (read|idempotent|change) ", line) for line in found)
