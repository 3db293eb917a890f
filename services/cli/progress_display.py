"""The progress of a job on the error channel: one bar on a terminal, plain lines elsewhere.

On a terminal the only line that moves is the bar of the active stage, so it is visible at any height. A stage that is over leaves one
line above it. Elsewhere (a pipe, a log) the active stage is printed every 10 seconds, and once when it is over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, SpinnerColumn, Task, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Column
from rich.text import Text

from services.cli.console import stderr

__all__ = ["BarDisplay", "PlainDisplay", "ProgressDisplay", "fit", "shown_progress"]

_EVERY_S = 10.0
_SHORT_S = 1.0  # a shorter stage leaves no line; chosen, not tuned
_TICK_S = 1.0
_BAR_CELLS = 16
_WIDEST_NAME = 60
_SMALLEST_NAME = 8


class ProgressDisplay(Protocol):
    """Shows a job; it is also the job's :data:`ontology.reporting.Progress`."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is. Another stage than before ends the one before."""

    def finish(self, name: str, result: str) -> None:
        """End the active stage with one line: a name, which is cut where the line is too narrow, and its result."""


@contextmanager
def shown_progress(*, as_json: bool = False, console: Console = stderr) -> Iterator[ProgressDisplay]:
    """Show progress while the block runs. Where both channels are for programs (``as_json`` without a terminal), show nothing.

    :param as_json: whether the command prints JSON, and its errors too.
    """
    if console.is_interactive:
        with BarDisplay(console) as bars:
            yield bars
    elif as_json:
        yield _Silent()
    else:
        with PlainDisplay(lambda line: console.print(line, soft_wrap=True)) as lines:
            yield lines


def fit(text: str, cells: int) -> str:
    """Return the text as one printable line of at most ``cells`` terminal cells; the end stays, as it tells paths apart."""
    line = "".join(letter if letter.isprintable() else "\ufffd" for letter in " ".join(text.split()))
    if cell_len(line) <= cells:
        return line
    return "…" + set_cell_size(line[::-1], max(cells - 1, 0))[::-1].lstrip() if cells > 0 else ""


@dataclass(frozen=True, slots=True)
class _Stage:
    """The active stage; ``started`` and ``shown`` are times of the clock, in seconds."""

    name: str
    done: int
    total: int
    started: float
    shown: float

    def result(self, now: float) -> str:
        """How much of it is done, and since when."""
        counts = f"{self.done:,}/{self.total:,}, " if self.total else ""
        return f"{counts}{now - self.started:.1f} s"


class _Silent:
    """Shows nothing."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show nothing."""

    def finish(self, name: str, result: str) -> None:
        """Show nothing."""


class PlainDisplay:
    """Plain lines: every 10 seconds of the active stage, and when a stage is over. A context manager.

    :param write: prints one line.
    :param clock: seconds since any moment.
    """

    def __init__(self, write: Callable[[Text], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._active: _Stage | None = None
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._ticker = threading.Thread(target=self._tick_until_stopped, name="progress", daemon=True)

    def __enter__(self) -> PlainDisplay:
        self._ticker.start()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._stopped.set()
        self._ticker.join()
        if error is None:  # else the active stage is not over
            with self._lock:
                self._end()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Note how far a stage is; print it where 10 seconds have passed."""
        with self._lock:
            now = self._clock()
            if self._active is None or self._active.name != stage:
                self._end()
                self._active = _Stage(stage, done, total, started=now, shown=now)
            self._active = replace(self._active, done=done, total=total)
            self._show(now)

    def finish(self, name: str, result: str) -> None:
        """End the active stage with a line."""
        with self._lock:
            self._active = None
            self._print(name, result)

    def tick(self) -> None:
        """Print the active stage where 10 seconds have passed; a stage may report nothing for minutes."""
        with self._lock:
            self._show(self._clock())

    def _tick_until_stopped(self) -> None:
        while not self._stopped.wait(_TICK_S):
            self.tick()

    def _show(self, now: float) -> None:
        if self._active is not None and now - self._active.shown >= _EVERY_S:
            self._active = replace(self._active, shown=now)
            self._print(self._active.name, f"{self._active.result(now)} …")

    def _end(self) -> None:
        stage, now = self._active, self._clock()
        self._active = None
        if stage is not None and now - stage.started >= _SHORT_S:
            self._print(stage.name, stage.result(now))

    def _print(self, name: str, result: str) -> None:
        self._write(Text(f"{fit(name, 10 * _WIDEST_NAME)}: {result}"))


class _NameColumn(ProgressColumn):
    """The name of the stage, cut to what the other columns leave of the width."""

    def __init__(self, cells: Callable[[], int]) -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self._cells = cells

    def render(self, task: Task) -> Text:
        return Text(fit(task.description, self._cells()))


class BarDisplay:
    """One bar of the active stage at the bottom of a terminal, and above it a line for each stage that is over. A context manager.

    :param clock: seconds since any moment.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._active: _Stage | None = None
        columns = (
            SpinnerColumn(),
            _NameColumn(self._name_cells),
            BarColumn(bar_width=_BAR_CELLS),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TimeElapsedColumn(table_column=Column(no_wrap=True)),
        )
        self._bars = Bars(*columns, console=console, transient=True)

    def __enter__(self) -> BarDisplay:
        self._bars.start()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is None:  # else the active stage is not over
            self._end()
        self._bars.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Move the bar."""
        if self._active is None or self._active.name != stage:
            self._end()
            now = self._clock()
            self._active = _Stage(stage, done, total, started=now, shown=now)
            self._bars.add_task(stage, total=None)
        self._active = replace(self._active, done=done, total=total)
        self._bars.update(self._bars.task_ids[-1], completed=done, total=total or None)

    def finish(self, name: str, result: str) -> None:
        """End the active stage with a line."""
        self._active = None
        self._remove()
        self._print(name, result)

    def _end(self) -> None:
        stage, now = self._active, self._clock()
        self._active = None
        self._remove()
        if stage is not None and now - stage.started >= _SHORT_S:
            self._print(stage.name, stage.result(now))

    def _remove(self) -> None:
        for task in self._bars.task_ids:
            self._bars.remove_task(task)

    def _print(self, name: str, result: str) -> None:
        room = self._console.width - cell_len(result) - len("✓   ")
        line = Text.assemble(("✓", "green"), f" {fit(name, max(room, _SMALLEST_NAME))}  {result}")
        line.truncate(self._console.width, overflow="ellipsis")
        self._console.print(line, no_wrap=True, overflow="ellipsis", crop=True)

    def _name_cells(self) -> int:
        """The cells that spinner, bar, counts, time and the spaces between them leave."""
        stage = self._active
        counts = 2 * len(str(stage.total or stage.done)) + 1 if stage is not None else 0
        others = len("⠋ ") + 1 + _BAR_CELLS + 1 + max(counts, len("0/?")) + 1 + len("0:00:00")
        return min(max(self._console.width - others, _SMALLEST_NAME), _WIDEST_NAME)
