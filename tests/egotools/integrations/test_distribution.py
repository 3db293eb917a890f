"""What an agent's environment installs: a small wheel of the package alone, that needs grpcio, protobuf and httpx."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.egotools.integrations.conftest import World
from tests.harness.servers import running_server

CLIENT = ROOT / "clients" / "python"
FRAMEWORKS = {"langchain", "llamaindex", "openai-agents", "pydantic-ai", "haystack"}
NEEDED = "grpc google httpx httpcore h11 anyio sniffio certifi idna typing_extensions".split()

PROGRAM = """
import sys

class OnlyTheClient:
    known = {*sys.stdlib_module_names, "egotools", *sys.argv[2].split()}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in self.known:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in [name for name in sys.modules if name.partition(".")[0] not in OnlyTheClient.known]:
    del sys.modules[name]
sys.meta_path.insert(0, OnlyTheClient())

import asyncio
import pkgutil
import egotools, egotools.calling
from egotools import AsyncClient, Client
from egotools.integrations import ToolSource

assert egotools.__file__.startswith(sys.argv[3]), egotools.__file__
for module in pkgutil.iter_modules(egotools.calling.__path__, "egotools.calling."):
    __import__(module.name)
with Client(sys.argv[1]) as client:
    found = client.retrieve("find a customer by name", k=3, schema_format="openai").tools
    source = ToolSource(client, servers={found[0].namespace: "http://127.0.0.1:9"})
    assert "can be called now" in source.call("search_tools", {"query": "find a customer by name"})
    try:
        source.call(found[0].call_name, {"no": "such"})
    except egotools.ClientError as error:
        assert "argument" in str(error), error
    else:
        raise AssertionError("a wrong argument was sent")

async def ask():
    async with AsyncClient(sys.argv[1]) as client:
        return (await client.retrieve("find a customer by name", k=3)).tools

print(*[tool.id for tool in asyncio.run(ask())] == [tool.id for tool in found] and ["the same"])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("client")
    shutil.copytree(CLIENT, folder / "clients" / "python", ignore=shutil.ignore_patterns("build"))
    shutil.copytree(ROOT / "egotools", folder / "egotools", ignore=shutil.ignore_patterns("__pycache__"))
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-build-isolation"]
    source = str(folder / "clients" / "python")
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder), source], check=True)
    (made,) = folder.glob("egotools_client-*.whl")
    return made


@pytest.fixture
def address(world: World) -> Iterator[str]:
    with running_server(world.store) as server:
        yield server.address


def test_it_holds_the_package_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "egotools").rglob("*.py")}
    assert sources <= names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"egotools", "egotools_client"}
    assert wheel.stat().st_size < 1_000_000


def test_it_needs_three_packages_and_its_extras_are_those_of_the_service() -> None:
    own = tomllib.loads((CLIENT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    service = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [each.partition(">")[0] for each in own["dependencies"]] == ["grpcio", "protobuf", "httpx"]
    assert set(own["dependencies"]) <= set(service["dependencies"]) and own["version"] == service["version"]
    extras = own["optional-dependencies"]
    assert set(extras) == {"mcp", "aws", *FRAMEWORKS}
    assert extras == {extra: service["optional-dependencies"][extra] for extra in extras}


def test_the_client_and_the_tools_of_a_conversation_need_nothing_else(
    wheel: Path, address: str, tmp_path: Path
) -> None:
    unpacked = tmp_path / "wheel"
    zipfile.ZipFile(wheel).extractall(unpacked)
    (tmp_path / "egotools").mkdir()  # beside a clone, which has no __init__.py
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "program.py", address, " ".join(NEEDED), str(unpacked)]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(unpacked)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.strip()) == (0, "the same"), done.stderr


@pytest.mark.slow
def test_an_empty_environment_runs_the_client(wheel: Path, address: str, tmp_path: Path) -> None:
    uv = [sys.executable, "-m", "uv", "--quiet"]
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([*uv, "venv", "--python", sys.executable, str(tmp_path / "venv")], check=True)
    pinned = ["-c", str(ROOT / "requirements" / "default.txt")]
    subprocess.run([*uv, "pip", "install", "--python", str(python), *pinned, str(wheel)], check=True)
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    command = [str(python), "program.py", address, " ".join(NEEDED), str(tmp_path / "venv")]
    done = subprocess.run(command, cwd=tmp_path, env={"PATH": ""}, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "the same"), done.stderr
