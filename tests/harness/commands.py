"""The command in this process, and in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Run: TypeAlias = Callable[..., tuple[int, str, str]]
"""Runs the command with these arguments: (exit code, standard output, standard error)."""
_ROOT = Path(__file__).resolve().parents[2]


def in_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command here: a process of its own imports for a second."""
    from services.cli import app as cli
    from services.cli.console import stderr, stdout

    for console in (stdout, stderr):
        monkeypatch.setattr(console, "width", 240)

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["egotools", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def every_command() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command but the groups: its words, and what Typer makes of it."""
    import typer

    from services.cli.app import app

    todo: list[tuple[tuple[str, ...], Any]] = [((), typer.main.get_command(app))]
    for path, command in todo:
        if hasattr(command, "list_commands"):
            todo += [((*path, name), command.get_command(None, name)) for name in command.list_commands(None)]
        else:
            yield path, command


def json_lines(path: Path, *, without: Collection[str] = ()) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines.

    :param without: keys to leave out, at any depth.
    """

    def kept(found: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in found.items() if key not in without}

    return [json.loads(line, object_hook=kept) for line in path.read_text(encoding="utf-8").split("\n") if line]


def started(*arguments: object, stderr: int = subprocess.PIPE, **environ: str) -> subprocess.Popen[str]:
    """Start the command."""
    script = "import sys; sys.argv[0] = 'egotools'; from services.cli.app import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=_ROOT,
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )
