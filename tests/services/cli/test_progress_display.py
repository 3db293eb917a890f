"""Progress: in one line of a real terminal whatever the number of sources, in plain lines each 10 seconds without one."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest

from tests.conftest import ROOT

COLUMNS, ROWS, SOURCES = 80, 10, 40
LONG = "documents-of-a-department-with-quite-a-long-name"


def in_terminal(command: Sequence[str], *, stdout: IO[bytes] | None = None) -> tuple[int, str]:
    """Run the command with a pseudo-terminal of 80 columns and 10 rows: (exit code, what it shows).

    :param stdout: a file for standard output.
    """
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "services.cli", *command],
        cwd=ROOT,
        env={**environment, "TERM": "xterm-256color"},
        stdin=follower,
        stdout=follower if stdout is None else stdout,
        stderr=follower,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 1 << 16)
        except OSError:  # the command has ended
            break
        if not part:
            break
        shown += part
    os.close(leader)
    return process.wait(), shown.decode()


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of forty documents with long names, one tool each; the last one has no tool."""
    folder = tmp_path_factory.mktemp("catalogue") / LONG
    folder.mkdir()
    for number in range(SOURCES - 1):
        tool = {"name": f"get_thing_{number}", "description": f"Gets thing {number}.", "parameters": []}
        (folder / f"{LONG}-{number:02}.jsonl").write_text(json.dumps(tool) + "\n", encoding="utf-8")
    (folder / f"{LONG}-99.json").write_text("{", encoding="utf-8")
    return folder


def build(documents: Path, store: Path, *others: str) -> list[str]:
    return ["build", str(documents), "--out", str(store), "--encoder", "hashing.v1", "--workers", "1", *others]


def test_json_is_clean_beside_a_terminal(documents: Path, tmp_path: Path) -> None:
    with open(tmp_path / "out.json", "wb") as out:
        code, shown = in_terminal(build(documents, tmp_path / "store", "--json"), stdout=out)
    assert code == 0
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["tools"] == SOURCES - 1
    assert shown.count("✓") >= SOURCES
