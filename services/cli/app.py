"""The command ``egotools``: its commands in groups, and what took the place of those that are gone."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.panel import Panel
from rich.table import Table
from typer import Option
from typer.core import TyperGroup

from ontology.errors import InvalidArgumentError
from ontology.redaction import RedactingFormatter
from services.cli.console import plain, say, show_error, stdout, tell
from services.threads import pin_threads

# Command, with its option and the value of that where one is meant, without ``egotools`` → what to do in its place
REMOVED: Mapping[str, str] = yaml.safe_load(Path(__file__).with_name("removed.yaml").read_text(encoding="utf-8"))
# Group → command → where it is, and what it does. Modules are imported when their command is used.
_COMMANDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Build": {
        "build": ("build:build", "Read tool documents, build the tool graph, publish a snapshot."),
        "sync": ("build:sync", "Read sources again, build and publish what changed."),
        "validate": ("build:validate", "Check documents, files of settings, or a snapshot."),
        "diff": ("build:diff", "What changes from one snapshot to another."),
        "show": ("build:show", "A tool or entity and its edges; what a value looks like."),
        "export": ("build:export", "Write the tool graph to a file, or into Neo4j."),
    },
    "Search and call": {
        "search": ("search:search", "Find the tools that needs or a request ask for."),
        "call": ("search:call", "Call one tool."),
    },
    "Serve": {
        "serve": ("serve:serve", "Serve snapshots over gRPC, and a page beside it."),
        "rest": ("serve:rest", "Serve the same calls over HTTP and JSON."),
        "mcp": ("serve:mcp", "Serve the tools to MCP clients."),
    },
    "Plan": {
        "plan": ("plan:plan", "Plan the calls that a request needs; under a domain, answer it."),
        "solve": ("solve:solve", "Solve a task in several steps by a model."),
        "ask": ("solve:ask", "Ask a question of a graph in plain words."),
    },
    "Measure": {
        "eval": ("measure:eval_app", "Measure systems on labelled requests, and compare results."),
        "datagen": ("measure:datagen", "Generate labelled requests from a catalogue."),
        "tune": ("measure:tune", "Fit the ranking weights to labelled requests."),
        "learn": ("measure:learn", "Learn from what agents reported."),
    },
    "Operate": {
        "admin": ("admin:admin_app", "Snapshots, findings, keys, tokens, health."),
        "demo": ("demo:demo_app", "See all of it on the shipped company; demo company serves it."),
    },
}
# Setting of a planner that ``--help`` shows → its option
_SETTINGS = {
    "num_next_steps_decision": "--votes",
    "max_iterations": "--max-iterations",
    "max_seconds": "--max-seconds",
    "max_steps": "--steps",
}
_USAGE_ERROR = typer.BadParameter.__mro__[1]  # typer exports no name of it
_INTERRUPTED = 130  # the exit code of typer at Ctrl-C


class RefusingGroup(TyperGroup):
    """The command ``egotools``: it imports commands when they are used, and says what took the place of what is gone."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        return [name for group in _COMMANDS.values() for name in group]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; None where there is none."""
        place, _ = next((group[cmd_name] for group in _COMMANDS.values() if cmd_name in group), ("", ""))
        if not place:
            self.commands.update(dict.fromkeys(self.list_commands(ctx), self))  # typer suggests those that are near
        elif self.commands.get(cmd_name, self) is self:
            pin_threads()  # before a numeric library is imported
            from services.cli.options import command

            module, _, name = place.partition(":")
            found = getattr(import_module(f"services.cli.{module}"), name)
            if not isinstance(found, typer.Typer):
                alone = typer.Typer(add_completion=False, rich_markup_mode=None)
                command(alone, cmd_name, names=_SETTINGS)(found)
                found = alone
            made = typer.main.get_command(found)
            made.name = cmd_name
            self.commands[cmd_name] = made
        return self.commands.get(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the commands by group, on one screen."""
        say(f"\n[bold]Usage:[/] {plain(ctx.command_path)} COMMAND [ARGUMENTS] [OPTIONS]\n\n{plain(self.help)}\n")
        for group, commands in _COMMANDS.items():
            rows = Table.grid(padding=(0, 2))
            rows.add_column(style="bold cyan", min_width=8)
            for name, (_, told) in commands.items():
                rows.add_row(name, told)
            stdout.print(Panel(rows, title=group, title_align="left", border_style="dim"))
        say("COMMAND --help shows options, --help-all every one; also --version, --verbose.")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse what is gone, and parse the rest."""
        ctx.obj = "--json" in args
        for gone, remedy in REMOVED.items():
            if _has(gone.split(), args):
                _end(InvalidArgumentError("it was removed", subject=gone, remedy=remedy), as_json=ctx.obj)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a wrong command line is told as JSON where JSON is asked for."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            if not ctx.obj or not isinstance(error, _USAGE_ERROR):
                raise
            usage: Any = error
            remedy = f"See {usage.ctx.command_path if usage.ctx else 'egotools'} --help"
            _end(InvalidArgumentError(usage.format_message(), subject="command line", remedy=remedy), as_json=True)


def _end(error: InvalidArgumentError, *, as_json: bool) -> None:
    show_error(error, as_json=as_json)
    raise typer.Exit(error.exit_code)


def _has(gone: Sequence[str], args: Sequence[str]) -> bool:
    """Whether a command line begins with the words of a command, and has its option and value, also with more after a colon, if they are named."""
    at = next((at for at, word in enumerate(gone) if word.startswith("-")), len(gone))
    words, option = list(gone[:at]), gone[at:]
    given = [each for each in args if each not in ("-v", "--verbose")]
    if given[:at] != words or not option:
        return given[:at] == words
    for name, after in zip(given[at:], [*given[at + 1 :], ""], strict=False):
        name, equals, value = name.partition("=")
        if name == option[0] and (not option[1:] or (value if equals else after).partition(":")[0] == option[1]):
            return True
    return False


app = typer.Typer(
    name="egotools",
    cls=RefusingGroup,
    help="Tool documents in, the complete set of tools that a request needs out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"egotools {version('egotools')}")
        raise typer.Exit


@app.callback()
def _setup(
    verbose: Annotated[bool, Option("--verbose", "-v", help="Log progress to the error channel.")] = False,
    _version: Annotated[
        bool, Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(RedactingFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])


def main() -> None:
    """Run the command."""
    try:
        app()
    except (SystemExit, KeyboardInterrupt) as stop:  # KeyboardInterrupt: Ctrl-C while typer cleans up
        code = _INTERRUPTED if isinstance(stop, KeyboardInterrupt) else stop.code
        if code == _INTERRUPTED:
            tell("Interrupted. Results that were finished before are kept.")
        gc.freeze()  # else the interpreter looks through all that a build made for garbage before it ends: .8 of 10 s
        sys.exit(code)
    except BrokenPipeError:
        sys.exit(0)
