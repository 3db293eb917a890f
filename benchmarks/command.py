"""What all benchmarks share: a function as a command, with what a figure was measured, and blocks of pages that are made from figures."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import typer

from ontology.errors import DocumentError, EgotoolsError
from ontology.files import write_file

ROOT = Path(__file__).resolve().parent.parent


def run_command(command: Callable[..., None]) -> None:
    """Run a function with the arguments of the command line, and end the process.

    The help text is the docstring of the function's module. An error of egotools is printed as one line, and its exit code
    is the process's; a command that failed without an error raises ``typer.Exit(1)``.
    """
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(help=sys.modules[command.__module__].__doc__)(command)
    try:
        app()
    except EgotoolsError as error:
        typer.echo(str(error), err=True)
        sys.exit(error.exit_code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """With what some figures were measured.

    :param commit: the commit whose code was measured, or that published the figures; ``-dirty`` where files were changed.
    :param date: ``2026-11-22``.
    :param encoder: its versioned name; empty where it does not matter.
    """

    commit: str
    date: str
    encoder: str = ""
    processor: str = ""  # its model; int8 products differ between kinds

    def __str__(self) -> str:
        encoder = f", encoder `{self.encoder}`" if self.encoder else ""
        return f"commit `{self.commit}`, {self.date}{encoder}" + (f", {self.processor}" if self.processor else "")


def current(encoder: str = "") -> Provenance:
    """Return that of a measurement made now in this checkout.

    :raises CalledProcessError: outside a checkout.
    """
    command = ["git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]
    commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    models = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"))
    return Provenance(
        commit=commit, date=f"{datetime.now(UTC):%Y-%m-%d}", encoder=encoder, processor=next(iter(models), "")
    )


def replace_block(path: Path, name: str, text: str) -> None:
    """Put text between ``<!-- name -->`` and ``<!-- end -->`` of a document, and leave the rest of it alone.

    :raises DocumentError: when the document does not have the block once, with its own end.
    """
    begin, end = f"<!-- {name} -->\n", "<!-- end -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    replaced, ended, after = rest.partition(end)
    if not ended or begin in rest or re.search(r"^<!-- (?!end )[\w:-]+ -->$", replaced, re.MULTILINE):
        raise DocumentError(
            f"there is no place for the block {name!r}",
            subject=str(path),
            remedy=f"Put {begin.strip()} and {end} into it, once and with no other block between them",
        )
    write_file(path, f"{before}{begin}{text.strip()}\n{end}{after}")
