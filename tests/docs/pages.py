"""The pages as tests read them: their blocks, and their commands, which run in this process."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.harness.commands import Run
from tests.harness.waiting import LIMIT_S, wait_until

PROGRAM = ".venv/bin/egotools"


def page(name: str, *, after: str = "", before: str = "\0") -> str:
    """The text of a page, or of what stands between two headings."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert after in text and (before == "\0" or before in text), f"{name} has another heading"
    return (text.partition(after)[2] if after else text).partition(before)[0]


def blocks(text: str, kind: str) -> list[str]:
    """The bodies of its blocks of a language."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def words(command: str) -> list[str]:
    """The arguments of a command of egotools."""
    program, *found = shlex.split(command, comments=True)
    assert program == PROGRAM, command
    return found


def printed(run: Run, command: str) -> str:
    """What a command prints, which must succeed; another program than egotools is run by a shell."""
    if not command.startswith(PROGRAM):
        subprocess.run(["sh", "-ec", command], check=True)
        return ""
    code, out, err = run(*words(command))
    assert code == 0, f"{command}\n{out}\n{err}"
    return str(out)


@contextmanager
def served(arguments: list[str], folder: Path, *more: str) -> Iterator[dict[str, Any]]:
    """Run a server of a page in a process, at a free port in the place of its own, until the block ends; yields what it says when it is ready."""
    ready, at = folder / "ready.json", arguments.index("--port") + 1
    given = [*arguments[:at], "0", *arguments[at + 1 :], "--ready-file", str(ready), *more]
    process = subprocess.Popen(
        [sys.executable, "-m", "services.cli", *given],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        wait_until(ready.exists, process=process)
        yield json.loads(ready.read_text(encoding="utf-8"))
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) in (0, 130)
