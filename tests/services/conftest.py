"""What tests of the command share."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from datagen.report import charts
from eval.report import plots
from planners.kgot.batch import batch_plots
from services.cli import app as cli
from services.cli.console import stderr, stdout

Run = Callable[..., tuple[int, str, str]]


def _undrawn(_figure: object, description: str) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + description.encode()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in this process: (exit code, standard output, standard error).

    Figures are made and not drawn, which takes a second each: tests of pictures and the command in a process of its own draw them.
    """
    for module in (plots, charts, batch_plots):
        monkeypatch.setattr(module, "to_png", _undrawn)
    for console in (stdout, stderr):
        monkeypatch.setattr(console, "_width", 240)

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
