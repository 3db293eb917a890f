"""What tests of the command share."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from services.cli import app as cli
from services.cli.console import stderr, stdout

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in this process: (exit code, standard output, standard error)."""
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
