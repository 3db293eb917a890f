"""The command in this process; and in one of its own, with ways to stop it at a place that does not depend on the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

if TYPE_CHECKING:
    from eval.systems import LocalSystem, RemoteSystem


Run: TypeAlias = Callable[..., tuple[int, str, str]]
"""Runs the command with these arguments: (exit code, standard output, standard error)."""
_ROOT = Path(__file__).resolve().parents[2]

FILE_LIMIT = 12_000
"""Bytes that a file may have after :data:`FULL` or :data:`KILLED_AMID_A_FILE`."""
_LIMIT = f"import resource, signal; resource.setrlimit(resource.RLIMIT_FSIZE, ({FILE_LIMIT}, {FILE_LIMIT}))"
FULL = _LIMIT
"""The disk refuses more than :data:`FILE_LIMIT` bytes of a file."""
KILLED_AMID_A_FILE = (
    f"{_LIMIT}; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); signal.signal(signal.SIGXFSZ, signal.SIG_DFL)"
)
"""The system kills the process that writes more than :data:`FILE_LIMIT` bytes of a file, amid the line."""


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

    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line, object_hook=kept) for line in lines if line.strip()]


def started(
    *arguments: object, before: str = "pass", stderr: int = subprocess.PIPE, **environ: str
) -> subprocess.Popen[str]:
    """Start the command.

    :param before: statements that the process runs first, on one line.
    """
    script = f"{before}; import sys; sys.argv[0] = 'egotools'; from services.cli.app import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=_ROOT,
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


def signal_at(system: str, answers: int, sent: int, pid: int = 0) -> str:
    """Statements for :func:`started`: a signal is sent when a system that is measured has answered so many requests.

    :param pid: the process that gets it; the measuring one where left out.
    """
    return f"from {__name__} import send_signal_at; send_signal_at({system!r}, {answers}, {int(sent)}, {pid})"


def send_signal_at(system: str, answers: int, sent: int, pid: int) -> None:
    """Make the systems of this process do what :func:`signal_at` says."""
    from eval.systems import LocalSystem, RemoteSystem

    for kind in (LocalSystem, RemoteSystem):
        _count(kind, system, answers + 1, sent, pid or os.getpid())  # one more: the first is asked twice, to warm up


def _count(kind: type[LocalSystem | RemoteSystem], system: str, answers: int, sent: int, pid: int) -> None:
    ask = kind.ask
    asked = 0

    def counted(self: Any, *given: Any, **named: Any) -> Any:
        nonlocal asked
        if self.name == system:
            asked += 1
            if asked > answers:
                os.kill(pid, sent)
        return ask(self, *given, **named)

    kind.ask = counted  # type: ignore[method-assign]
