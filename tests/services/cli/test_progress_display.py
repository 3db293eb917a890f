"""Progress: in one line of a real terminal whatever the number of sources, in plain lines each 10 seconds without one."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from services.cli.console import stderr
from services.cli.progress_display import BarDisplay, PlainDisplay, fit
from tests.conftest import ROOT
from tests.harness.commands import Run

COLUMNS, ROWS, SOURCES = 80, 10, 40
LONG = "documents-of-a-department-with-quite-a-long-name"
CONTROL = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")
BAR = "━"


@dataclass
class Screen:
    """A terminal of 80 columns: the lines so far, and the cursor. Only what the command is known to send is understood."""

    lines: list[str] = field(default_factory=lambda: [""])
    column: int = 0
    highest_move: int = 0
    bar_lines: int = 0

    def feed(self, text: str) -> None:
        """Process what the command writes."""
        place = 0
        while place < len(text):
            if found := CONTROL.match(text, place):
                self._control(found[2], found[3])
                place = found.end()
            else:
                self._letter(text[place])
                place += 1
            self.bar_lines = max(self.bar_lines, sum(BAR in line for line in self.lines))

    def _control(self, numbers: str, letter: str) -> None:
        if letter == "A":
            self.highest_move = max(self.highest_move, int(numbers or 1))
        elif letter == "K":
            self.lines[-1] = ""

    def _letter(self, letter: str) -> None:
        if letter == "\n":
            self.lines.append("")
        elif letter == "\r":
            self.column = 0
        else:
            line = self.lines[-1].ljust(self.column)
            self.lines[-1] = line[: self.column] + letter + line[self.column + 1 :]
            self.column += 1


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


@pytest.mark.slow
def test_forty_sources_leave_a_line_each_and_one_bar_moves(documents: Path, tmp_path: Path) -> None:
    code, shown = in_terminal(build(documents, tmp_path / "store"))
    assert code == 0
    progress = shown[: shown.index("Documents")]
    screen = Screen()
    screen.feed(progress)
    finished = [line for line in screen.lines if line.startswith("✓") and LONG[-10:] in line]
    assert len(finished) == SOURCES
    assert all(re.search(r"-\d\d\.jsonl?  \d tools, (?:1 rejected, )?\d+\.\d s$", line) for line in finished), finished
    assert sum("1 rejected" in line for line in finished) == 1
    assert max(map(cell_len, screen.lines)) <= COLUMNS
    assert screen.highest_move == 0, "the moving part is one line, so it is never higher than the terminal"
    assert screen.bar_lines == 1, "one bar at a time"
    assert not any(BAR in line for line in screen.lines), "no bar is left behind"
    for part in progress.split("✓")[1:]:  # after each finished line the bar is drawn again
        assert BAR in part.partition("\n")[2]


@pytest.mark.slow
def test_json_is_clean_beside_a_terminal(documents: Path, tmp_path: Path) -> None:
    with open(tmp_path / "out.json", "wb") as out:
        code, shown = in_terminal(build(documents, tmp_path / "store", "--json"), stdout=out)
    assert code == 0
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["tools"] == SOURCES - 1
    assert shown.count("✓") >= SOURCES


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_without_a_terminal_a_source_is_a_plain_line_on_the_error_channel(
    documents: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    command = [sys.executable, "-m", "services.cli", *build(documents, tmp_path / "store", *options)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "\x1b" not in done.stderr + done.stdout
    lines = [line for line in done.stderr.splitlines() if ": 1 tools" in line or "1 rejected" in line]
    assert len(lines) == (0 if options else SOURCES), "with --json the error channel is for programs too"
    assert ("Published" in done.stdout) == (not options)
    assert not options or json.loads(done.stdout)["documents"]


class Clock:
    """Seconds that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_plain_lines_come_every_ten_seconds_and_at_the_end_of_a_stage() -> None:
    clock = Clock()
    lines: list[str] = []

    def write(line: Text) -> None:
        lines.append(line.plain)

    display = PlainDisplay(write, clock)
    for second in range(26):
        clock.now = second
        display("extract", second, 100)
    assert lines == ["extract: 10/100, 10.0 s …", "extract: 20/100, 20.0 s …"]
    display("write", 0, 0)
    assert lines[2:] == ["extract: 25/100, 25.0 s"]
    clock.now = 34
    display.tick()
    assert len(lines) == 3, "9 seconds"
    clock.now = 47
    display.tick()
    display.tick()
    assert lines[3:] == ["write: 22.0 s …"], "also of a stage that reports nothing"
    display("publish", 0, 0)
    clock.now = 47.5
    display.finish("orders.yaml", "3 tools, 0.5 s")
    display("link", 0, 0)
    clock.now = 47.9
    display("end", 0, 0)
    assert lines[4:] == ["write: 22.0 s", "orders.yaml: 3 tools, 0.5 s"], "a stage of less than a second leaves no line"


@pytest.mark.parametrize(
    ("text", "cells", "shown"),
    [
        ("orders.yaml", 11, "orders.yaml"),
        ("catalogue/orders.yaml", 12, "…orders.yaml"),
        ("日本語の文書.yaml", 10, "…文書.yaml"),
        ("a\n\x1b[31mb", 20, "a \ufffd[31mb"),
        ("orders", 0, ""),
    ],
)
def test_a_name_is_cut_to_the_cells_there_are_and_cannot_steer_the_terminal(text: str, cells: int, shown: str) -> None:
    assert fit(text, cells) == shown
    assert cell_len(shown) <= cells


def test_datagen_shows_its_stages(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = ROOT / "examples" / "enterprise" / "catalog" / "projects.csv"
    assert run(*build(table, tmp_path / "store"))[0] == 0
    monkeypatch.setattr(stderr, "_force_terminal", True)
    monkeypatch.setattr(stderr, "is_interactive", True)
    code, out, err = run("datagen", tmp_path / "store", "--out", tmp_path / "requests", "--per-class", 1, "--json")
    assert code == 0
    assert json.loads(out)
    assert "paths" in err and "requests" in err


def test_a_stage_that_an_error_ends_is_not_shown_as_over() -> None:
    clock = Clock()
    screen = io.StringIO()
    lines: list[Text] = []
    for display in (
        PlainDisplay(lines.append, clock),
        BarDisplay(Console(file=screen, force_terminal=True, width=COLUMNS, color_system=None), clock),
    ):
        clock.now = 0
        with pytest.raises(KeyboardInterrupt), display:
            display("extract", 1, 9)
            clock.now = 5
            raise KeyboardInterrupt
    assert lines == []
    assert "extract" in screen.getvalue() and "✓" not in screen.getvalue()
