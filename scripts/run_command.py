"""How a benchmark or a study becomes a command: a function whose parameters are the options."""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from ontology.errors import EgotoolsError

__all__ = ["run_command"]


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
