"""A cluster of one node on loopback: a build under killed workers, and a server that is killed, replaced and stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from egotools import Client
from tests.conftest import ROOT
from tests.eval.planted import written
from tests.harness.ray_node import RayNode, ray_node
from tests.harness.servers import free_port
from tests.harness.waiting import LIMIT_S, wait_until
from tests.planners.kgot.run_fakes import StepServer

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")]
_KILLS = 3


@pytest.fixture(scope="module")
def node() -> Iterator[RayNode]:
    with ray_node("127.0.0.2", processors=2) as started:
        yield started


def _command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "services.cli", *map(str, words)]


def _running_tasks() -> list[int]:
    """The workers that run a task of a build now."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (folder / "cmdline").read_bytes().startswith(b"ray::_run"):
                found.append(int(folder.name))
    return found


def _bytes(store: Path) -> dict[str, bytes]:
    snapshot = store / "snapshots" / (store / "CURRENT").read_text(encoding="utf-8").strip()
    return {str(path.relative_to(snapshot)): path.read_bytes() for path in snapshot.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def stores(node: RayNode, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, int]:
    """The same documents, built on the cluster while its workers are killed, and in one process; and how many were killed."""
    folder = tmp_path_factory.mktemp("stores")
    documents = [ROOT / "examples/enterprise/catalog" / name for name in ("hr.yaml", "support.jsonl")]
    clustered, serial = folder / "clustered", folder / "serial"
    build: list[str | Path] = ["build", *documents, "--encoder", "minilm-l6-int8.v1", "--json"]
    process = subprocess.Popen(
        _command(*build, "--on", "ray", "--out", clustered), env=node.environ, stdout=subprocess.DEVNULL
    )
    killed = 0
    while process.poll() is None:
        for pid in _running_tasks()[: _KILLS - killed]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
        time.sleep(0.2)
    assert process.returncode == 0
    subprocess.run(_command(*build, "--workers", "1", "--out", serial), check=True, stdout=subprocess.DEVNULL)
    return clustered, serial, killed


def test_a_build_with_killed_workers_has_the_bytes_of_the_serial_one(stores: tuple[Path, Path, int]) -> None:
    clustered, serial, killed = stores
    assert killed == _KILLS
    assert _bytes(clustered) == _bytes(serial)
    assert len(_bytes(serial)) > 10


def test_a_server_that_dies_is_replaced_on_its_address_and_another_command_replaces_it(
    node: RayNode, stores: tuple[Path, Path, int], tmp_path: Path
) -> None:
    ready = tmp_path / "ready.json"
    port = free_port()
    serve = _command(
        "serve", "--on", "ray", "--store", stores[0], "--ready-file", ready, "--insecure", "--port", str(port)
    )

    def served_by() -> int:
        return int(json.loads(ready.read_text(encoding="utf-8"))["nodes"][0]["pid"]) if ready.exists() else 0

    first = subprocess.Popen(serve, env=node.environ)
    second = None
    try:
        wait_until(served_by, process=first)
        address = json.loads(ready.read_text(encoding="utf-8"))["address"]
        assert address == f"ipv4:127.0.0.2:{port}"
        before = served_by()
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: served_by() != before, process=first)
        with Client(address) as client:
            assert client.retrieve("overdue tickets", k=3).tools
        first.kill()  # the servers outlive a command that is killed
        first.wait()
        kept = served_by()
        os.kill(kept, 0)
        second = subprocess.Popen([*serve, "--baselines"], env=node.environ)
        wait_until(lambda: served_by() != kept, process=second)
        second.send_signal(signal.SIGTERM)
        assert second.wait(LIMIT_S) == 0
        assert not ready.exists()
    finally:
        for process in (first, second):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()


def test_tasks_are_solved_on_the_cluster(node: RayNode, tmp_path: Path) -> None:
    rows = [{"id": f"t{n}", "question": f"How many are there of {n}?", "answer": "8"} for n in range(1, 4)]
    tasks = written(tmp_path / "tasks.jsonl", *rows)
    answers: dict[str, list[Any]] = {
        "next_step": [{"query_type": "RETRIEVE", "content": "result = len(G)"}],
        "maths_needed": [{"needed": False}],
        "final_answer": [{"answer": "8"}],
    }
    with StepServer(**answers) as server:
        given = ("solve", "--tasks", tasks, "--out", tmp_path / "out", "--workers", "2")
        model = ["--llm-url", f"{server.url}/v1", "--llm-model", "m", "--votes", "1"]
        command = _command(*given, *model, "--on", "ray", "--json")
        environ = {**node.environ, "OPENAI_API_KEY": "k"}
        ended = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=LIMIT_S)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert [row["outcome"] for row in found["rows"]] == ["solved"] * 3
    assert found["categories"]["correct"] == 3
