"""Options and commands of earlier releases: a command line that has one is refused with what took its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperGroup

from ontology.errors import InvalidArgumentError
from services.cli.console import show_error

__all__ = ["REMOVED", "RefusingGroup"]

_NO_RULES = "A model takes the steps: name one with --llm-url and --llm-model"
_WRITES = "With --generator llm a model writes the whole request, and another call reads it back"
REMOVED: Mapping[str, str] = MappingProxyType(
    {
        "audit": "The audit log is JSON lines without a chain: read it with any tool, and ship it to a store that only appends",
        "serve --processes": "One server is one process: run replicas, and name all to the client: ipv4:HOST:PORT,HOST:PORT",
        "solve --write": _NO_RULES,
        "solve --domain": _NO_RULES,
        "solve --today": _NO_RULES,
        "tune --report": "The report is kept in the store, as reports/SNAPSHOT.tuning.json, and printed with --json",
        "solve --graph ladybug": "The graph of a task stands in memory (the default), rdf or neo4j:bolt://USER:PASSWORD@HOST:PORT; "
        "egotools ask --graph ladybug:PATH asks a file",
        "learn --half-life": "The newest 20,000 sessions count alike: give fewer with --log to forget older ones",
        "datagen --llm-steps": _WRITES,
        "datagen --reworded-only": _WRITES,
        "serve --web-runs": "A recorded run is told again by egotools solve --replay --journal FILE",
    }
)
"""Command, with its option and the value of that where one is meant, without ``egotools`` → what to do in its place."""


class RefusingGroup(TyperGroup):
    """The command ``egotools``, which says what took the place of what is gone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse what is gone, and parse the rest."""
        for gone, remedy in REMOVED.items():
            if _has(gone.split(), args):
                error = InvalidArgumentError("it was removed", subject=gone, remedy=remedy)
                show_error(error, as_json="--json" in args)
                raise typer.Exit(error.exit_code)
        return super().parse_args(ctx, args)


def _has(gone: Sequence[str], args: Sequence[str]) -> bool:
    """Whether a command line begins with the words of a command, and has its option and value, if they are named.

    A value is also meant by what begins with it and a colon (``ladybug:PATH``).
    """
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
