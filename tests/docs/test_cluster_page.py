"""What the page about operating says of clusters: its quickstart runs, on a cluster that the test starts and ends itself."""

import contextlib
import io
import re
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from services.cluster.ray_cluster import RECONNECT
from tests.conftest import ROOT
from tests.docs.pages import blocks, page, words
from tests.harness.ray_node import ray_node
from tests.harness.servers import free_port
from tests.harness.waiting import LIMIT_S, wait_until

PAGE = page("docs/operate.md", after="## A cluster of Ray")
_COMMANDS = [line for block in blocks(PAGE, "bash") for line in block.splitlines()]
(_PROGRAM,) = blocks(PAGE, "python")


def _words(line: str, folder: Path, port: str) -> list[str]:
    own = {"store": str(folder / "store"), "fleet.json": str(folder / "fleet.json"), "50051": port}
    return [sys.executable, "-m", "services.cli", *(own.get(word, word) for word in words(line))]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")
def test_the_quickstart_runs(tmp_path: Path) -> None:
    start, build, serve, stop = _COMMANDS
    assert start.startswith(f"{RECONNECT}=")
    assert stop == ".venv/bin/ray stop"
    port = str(free_port())
    with ray_node("127.0.0.2", processors=2) as node:
        subprocess.run(_words(build, tmp_path, port), cwd=ROOT, env=node.environ, check=True, capture_output=True)
        serving = subprocess.Popen(_words(serve, tmp_path, port), cwd=ROOT, env=node.environ, text=True)
        try:
            wait_until((tmp_path / "fleet.json").exists, process=serving)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(_PROGRAM.replace("fleet.json", str(tmp_path / "fleet.json")), {})
            assert re.fullmatch(r"1 \S+\n2 \S+\n3 \S+\n", printed.getvalue())
            serving.send_signal(signal.SIGTERM)
            assert serving.wait(LIMIT_S) == 0
        finally:
            if serving.poll() is None:
                serving.kill()
                serving.wait()
