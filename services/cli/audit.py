"""The command ``egotools audit``: verify the audit log of a server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ontology.errors import InvalidArgumentError
from services.cli.console import plain, print_json, stderr, stdout
from services.cli.options import Json, command

if TYPE_CHECKING:
    from services.server.observe.audit_log import ChainEnd

__all__ = ["ALTERED", "audit_app"]

ALTERED = 24
"""The exit code when the log is not as it was written."""
audit_app = typer.Typer(help="Verify the audit log of a server.", no_args_is_help=True)


@audit_app.callback()
def _audit() -> None:
    """Verify the audit log of a server."""  # with a callback, typer keeps the name of the only subcommand


@command(audit_app)
def verify(
    file: Annotated[Path, typer.Argument(help="The audit log; its older files beside it are read too.")],
    known: Annotated[
        str,
        typer.Option(help="Number and hash of an entry that was noted elsewhere, NUMBER:HASH; it must be in the log."),
    ] = "",
    first: Annotated[
        int, typer.Option(min=1, help="Number of the first entry, where older files of the log were moved away.")
    ] = 1,
    as_json: Json = False,
) -> None:
    """Find entries of an audit log that were altered, removed, moved or cut off.

    The exit code is 0 when the log is as it was written, and 24 when it is not.
    """
    from services.server.observe.audit_check import verify_audit_log

    verdict = verify_audit_log(file, known=_noted(known), first=first)
    if as_json:
        print_json(
            {
                "files": verdict.files,
                "entries": verdict.entries,
                "last": {"number": verdict.end.number, "hash": verdict.end.digest},
                "faults": [{"place": fault.place, "problem": fault.problem} for fault in verdict.faults],
            }
        )
    else:
        counted = f"{verdict.entries:,} entries in {verdict.files:,} files; the last is {verdict.end.number}:{verdict.end.digest}"
        stdout.print(counted, highlight=False, soft_wrap=True)
        for fault in verdict.faults:
            stderr.print(plain(f"{fault.place}: {fault.problem}"), highlight=False, soft_wrap=True)
    if verdict.faults:
        raise typer.Exit(ALTERED)


def _noted(known: str) -> ChainEnd | None:
    from services.server.observe.audit_log import ChainEnd

    if not known:
        return None
    found = re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", known)
    if found is None:
        raise InvalidArgumentError(
            "this is no number and hash of an entry",
            subject="--known",
            remedy="Write it as the server logs it: 12:9f86d0…",
        )
    return ChainEnd(int(found[1]), found[2])
