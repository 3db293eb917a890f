"""The command ``egotools findings``: what documents hold that could mislead a model, and its approval."""

from __future__ import annotations

import getpass
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ontology.errors import InvalidArgumentError, NotFoundError
from services.audited import AUDIT_LOG, audited, is_audited, named_tools
from services.cli.console import plain, print_json, stderr, stdout
from services.cli.options import Json, Store, command
from services.jobs.plans import DEFAULT_STORE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ingest.trust.finding import Finding
    from ingest.trust.quarantine import TrustRecord

__all__ = ["findings_app", "show_findings", "show_findings_of"]

_SHOWN = 20  # approvals that are named

findings_app = typer.Typer(help="Findings in tool documents, and their approval.", no_args_is_help=True)


@command(findings_app, "list")
def list_findings(
    store: Store = DEFAULT_STORE,
    quarantined: Annotated[bool, typer.Option("--quarantined", help="Only tools that are held back.")] = False,
    as_json: Json = False,
) -> None:
    """List the findings of the last build, tool by tool, and the approvals."""
    from ingest.trust.quarantine import read_approvals, read_record

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
    tools: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID…]", help="Ids of tools with findings, or patterns of ids: 'github/*'."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All tools with findings.")] = False,
    reason: Annotated[str, typer.Option(help="Why the tools may be used as they are. Needed without --dry-run.")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the tools that would be approved, and end.")
    ] = False,
    by: Annotated[str, typer.Option(help="Who says so. Default: the name of the system's user.")] = "",
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Release tools with findings, exactly as they are now: a later change of a tool voids its approval.

    What was held back is taken in by the next build, or the next sync or call that sends it.
    """
    from ingest.trust.quarantine import APPROVALS, read_record
    from ingest.trust.quarantine import approve as release

    record = read_record(_store(store))
    matched = _matched(record, tools or [], every=every)
    ids = list(dict.fromkeys(id_ for found in matched.values() for id_ in found))
    if not as_json:
        for pattern, found in matched.items():
            stdout.print(
                plain(f"{pattern}: {len(found):,} of {len(record.hashes):,} tools with findings"), soft_wrap=True
            )
    if dry_run:
        if as_json:
            print_json({"would_approve": ids})
        return
    if not reason.strip():
        raise InvalidArgumentError("it is empty", subject="--reason", remedy="Say why the tools may be used")
    with audited("approve-finding", ids[0] if len(ids) == 1 else named_tools(ids)):
        made = release(store, record.releases(ids), reason=reason, by=by or getpass.getuser())
    if not is_audited():
        stderr.print(f"{AUDIT_LOG} is not set: the store alone keeps who approved what, in {APPROVALS}", soft_wrap=True)
    if as_json:
        print_json({"approvals": [asdict(each) for each in made]})
        return
    for each in made[:_SHOWN]:
        stdout.print(plain(f"approved {each.tool} by {each.by} at {each.at}"), soft_wrap=True, highlight=False)
    if made[_SHOWN:]:
        stdout.print(f"… and {len(made) - _SHOWN:,} more")
    if not set(ids).isdisjoint(record.quarantined):
        stdout.print("Build or sync again to take them in.")


def _matched(record: TrustRecord, patterns: Sequence[str], *, every: bool) -> dict[str, list[str]]:
    """The ids of the tools that each pattern names.

    :raises InvalidArgumentError: where none is given, or patterns beside ``every``.
    :raises NotFoundError: naming the patterns that name no tool with findings; nothing is approved then.
    """
    if every == bool(patterns):
        problem = "it takes no ids beside it" if every else "no tool is named"
        raise InvalidArgumentError(
            problem, subject="--all" if every else "ID", remedy="Give ids, patterns, or --all alone"
        )
    matched = {"--all": list(record.hashes)} if every else {each: record.matching(each) for each in patterns}
    empty = [pattern for pattern, found in matched.items() if not found]
    if empty:
        problem = "nothing was found in such tools when last examined, and none is approved"
        raise NotFoundError(problem, subject=", ".join(empty), remedy="See `egotools findings list`")
    return matched


def _store(store: Path) -> Path:
    from ingest.trust.quarantine import FINDINGS
    from retrieval.snapshot.publish import current_snapshot

    if not (store / FINDINGS).is_file():  # a build that held every tool back leaves it without a snapshot
        current_snapshot(store)
    return store


def show_findings_of(store: Path, tools: int, severe: int, held: int) -> None:
    """Print in one line how many tools have findings, and where to look; nothing where none has.

    :param severe: of those with severe findings; ``held``: of those whose documents are held back.
    """
    if tools:
        outcome = f"{held:,} held back" if held else "none held back"
        text = f"{tools:,} tools ({severe:,} severe), {outcome}; see `egotools findings list --store {store}`"
        stdout.print("[bold]Findings[/]: " + plain(text), soft_wrap=True, highlight=False)


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
