"""The command in a process of its own, and ways to stop it at a place that does not depend on the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from eval.system import Ranked
from eval.systems.local import LocalSystem
from eval.systems.remote import RemoteSystem
from tests.conftest import ROOT

FILE_LIMIT = 12_000
"""Bytes that a file may have after :data:`FULL` or :data:`KILLED_AMID_A_FILE`."""
_LIMIT = f"import resource, signal; resource.setrlimit(resource.RLIMIT_FSIZE, ({FILE_LIMIT}, {FILE_LIMIT}))"
FULL = _LIMIT
"""The disk refuses more than :data:`FILE_LIMIT` bytes of a file."""
KILLED_AMID_A_FILE = (
    f"{_LIMIT}; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); signal.signal(signal.SIGXFSZ, signal.SIG_DFL)"
)
"""The system kills the process that writes more than :data:`FILE_LIMIT` bytes of a file, amid the line."""


def started(
    *arguments: object, before: str = "pass", stderr: int = subprocess.PIPE, **environ: str
) -> subprocess.Popen[str]:
    """Start the command.

    :param before: statements that the process runs first, on one line.
    """
    script = f"{before}; import sys; sys.argv[0] = 'egotools'; from services.cli.app import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=ROOT,
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
    for kind in (LocalSystem, RemoteSystem):
        _count(kind, system, answers + 1, sent, pid or os.getpid())  # one more: the first is asked twice, to warm up


def _count(kind: type[LocalSystem | RemoteSystem], system: str, answers: int, sent: int, pid: int) -> None:
    ask = kind.ask
    asked = 0

    def counted(
        self: LocalSystem | RemoteSystem, query: str, *, k: int, timeout_s: float, needs: Sequence[str] = ()
    ) -> Ranked:
        nonlocal asked
        if self.name == system:
            asked += 1
            if asked > answers:
                os.kill(pid, sent)
        return ask(self, query, k=k, timeout_s=timeout_s, needs=needs)  # type: ignore[arg-type]

    kind.ask = counted  # type: ignore[method-assign]
