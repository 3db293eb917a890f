"""The command ``egotools findings``: what documents hold that could mislead a model, and the release of quarantined tools."""

from __future__ import annotations

import fnmatch
import getpass
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ontology.errors import InvalidArgumentError, NotFoundError
from services.audited import AUDIT_LOG, audited, is_audited
from services.cli.console import plain, print_json, stderr, stdout
from services.cli.options import Json, Store, command
from services.jobs.plans import DEFAULT_STORE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ingest.trust.finding import Finding

__all__ = ["findings_app", "show_findings"]

findings_app = typer.Typer(help="Findings in tool documents, and their approval.", no_args_is_help=True)


@command(findings_app, "list")
def list_findings(
    store: Store = DEFAULT_STORE,
    quarantined: Annotated[bool, typer.Option("--quarantined", help="Only tools that are held back.")] = False,
    as_json: Json = False,
) -> None:
    """List the findings of the last build and of the changes since, tool by tool, and the approvals."""
    from ingest.trust.approvals import read_approvals
    from ingest.trust.quarantine import read_record

    record, approvals = read_record(_store(store)), read_approvals(store)
    shown = [each for each in record.findings if not quarantined or each.tool in record.quarantined]
    if as_json:
        rows = [each.to_json() for each in shown]
        released = [asdict(each) for each in approvals]
        print_json({"findings": rows, "quarantined": list(record.quarantined), "approvals": released})
        return
    show_findings(shown, record.quarantined)
    for each in approvals:
        stdout.print(
            plain(f"approved {each.tool} by {each.by} at {each.at}: {each.reason}"), soft_wrap=True, highlight=False
        )
    if not shown and not approvals:
        stdout.print("No findings.")


@command(findings_app, "approve")
def approve(
    reason: Annotated[str, typer.Option(help="Why the tools may be used as they are.")],
    tools: Annotated[
        list[str] | None, typer.Argument(metavar="ID…", help="Ids of tools, or patterns: 'github/*'. In quotes.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All tools with findings.")] = False,
    by: Annotated[str, typer.Option(help="Who says so. Default: the name of the system's user.")] = "",
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Release tools with findings, exactly as they are now: a later change of a tool voids its approval.

    The next build takes them in, or the next sync or call that sends them.
    """
    from ingest.trust.approvals import APPROVALS
    from ingest.trust.approvals import approve as release
    from ingest.trust.quarantine import read_record

    if not reason.strip():
        raise InvalidArgumentError("it is empty", subject="--reason", remedy="Say why the tools may be used")
    record = read_record(_store(store))
    chosen = _chosen(["*"] if every else tools or [], record.hashes)
    rules = {tool: tuple(dict.fromkeys(each.rule for each in record.findings if each.tool == tool)) for tool in chosen}
    released = [(tool, record.hashes[tool], rules[tool]) for tool in chosen]
    with audited("approve-finding", ", ".join(chosen)):
        made = release(store, released, reason=reason, by=by or getpass.getuser())
    if not is_audited():
        stderr.print(f"{AUDIT_LOG} is not set: the store alone keeps who approved what, in {APPROVALS}", soft_wrap=True)
    if as_json:
        print_json({"approvals": [asdict(each) for each in made]})
        return
    for each in made:
        stdout.print(plain(f"approved {each.tool} by {each.by} at {each.at}"), soft_wrap=True, highlight=False)
    stdout.print("Build or sync again to take them in.")


def _chosen(wanted: Sequence[str], known: Collection[str]) -> list[str]:
    """The ids of tools with findings that are named, or that match a pattern.

    :raises InvalidArgumentError: when nothing is named.
    :raises NotFoundError: naming each that is no such tool and matches none.
    """
    if not wanted:
        raise InvalidArgumentError("no tool is named", subject="ID", remedy="Name tools or patterns, or give --all")
    found = {each: [each] if each in known else fnmatch.filter(known, each) for each in wanted}
    unknown = [each for each, tools in found.items() if not tools]
    if unknown:
        problem = f"nothing was found in {'it' if len(unknown) == 1 else 'them'} when last examined"
        raise NotFoundError(problem, subject=", ".join(unknown), remedy="See `egotools findings list`")
    return list(dict.fromkeys(tool for tools in found.values() for tool in tools))


def _store(store: Path) -> Path:
    from ingest.trust.quarantine import FINDINGS
    from retrieval.snapshot.publish import current_snapshot

    if not (store / FINDINGS).is_file():  # a build that held every tool back leaves it without a snapshot
        current_snapshot(store)
    return store


def show_findings(findings: Iterable[Finding], quarantined: Iterable[str] = ()) -> None:
    """Print findings by tool: where, what stands there, why it matters, and what to do."""
    held, last = set(quarantined), ""
    for each in findings:
        if each.tool != last:
            last = each.tool
            stdout.print(
                f"[bold]{plain(each.tool)}[/]{' (quarantined)' if each.tool in held else ''}",
                soft_wrap=True,
                highlight=False,
            )
        line = f"  {each.severity}: {each.kind} in {each.field}[{each.start}:{each.end}]: {each.why}. “{each.quote}” {each.remedy}. ({each.rule})"
        stdout.print(plain(line), soft_wrap=True, highlight=False)
