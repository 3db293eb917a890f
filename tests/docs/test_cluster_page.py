"""What the page about operating says of clusters: its quickstart runs, on a cluster that the test starts and ends itself."""

import contextlib
import io
import re
import shlex
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from services.cluster.ray_cluster import RECONNECT
from tests.conftest import ROOT
from tests.harness.ray_node import ray_node
from tests.harness.servers import free_port

PAGE = (ROOT / "docs" / "operate.md").read_text(encoding="utf-8").partition("## A cluster of Ray")[2]
_COMMANDS = [
    line for block in re.findall(r"^```bash\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE) for line in block.splitlines()
]
(_PROGRAM,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
_WAIT_S = 90.0


def _words(line: str, folder: Path, port: str) -> list[str]:
    own = {"store": str(folder / "store"), "fleet.json": str(folder / "fleet.json"), "50051": port}
    words = [own.get(word, word) for word in shlex.split(line)]
    assert words[0] == ".venv/bin/egotools"
    return [sys.executable, "-m", "services.cli", *words[1:]]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")
def test_the_quickstart_runs(tmp_path: Path) -> None:
    start, build, serve, stop = _COMMANDS
    assert start.startswith(f"{RECONNECT}=")
    assert stop == ".venv/bin/ray stop"
    port = str(free_port())
    with ray_node("127.0.0.2", processors=2) as node:
        subprocess.run(_words(build, tmp_path, port), cwd=ROOT, env=node.environ, check=True, capture_output=True)
        serving = subprocess.Popen(_words(serve, tmp_path, port), cwd=ROOT, env=node.environ)
        try:
            deadline = time.monotonic() + _WAIT_S
            while not (tmp_path / "fleet.json").exists():
                assert serving.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.1)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(_PROGRAM.replace("fleet.json", str(tmp_path / "fleet.json")), {})
            assert re.fullmatch(r"1 \S+\n2 \S+\n3 \S+\n", printed.getvalue())
            serving.send_signal(signal.SIGTERM)
            assert serving.wait(_WAIT_S) == 0
        finally:
            if serving.poll() is None:
                serving.kill()
                serving.wait()
