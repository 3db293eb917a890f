"""The demo's runs of the planner: words, query graph, tools found over gRPC, calls, answer; one over personal data, one over a company."""

from __future__ import annotations

import asyncio
import time
from datetime import date
from pathlib import Path

from datagen.personal import write_personal_data
from datagen.personal.write_personal_data import TODAY, ZONE
from planners.calling.call_limits import CallLimits
from planners.calling.consent import never
from planners.calling.tool_access import ToolAccess
from planners.dfs.domain import read_domain
from planners.personal import PersonalData, index_in_use, personal_tools, refresh_index
from services.cli.console import plain, stdout
from services.cli.demo_company import demo_company
from services.cli.walk import Walk, Walked, walk

__all__ = ["company_run", "personal_run"]

_PERSONAL = "Find the file folders that contain email attachments from Jane Doe."
_COMPANY = "Which invoices from Acme Pumps GmbH are posted?"
_COMPANY_DAY = date(2026, 11, 20)  # on which the mock company stands
_MESSAGES = 300
_LIMITS = CallLimits(calls=1_000, seconds=60.0)


def personal_run(folder: Path, store: Path) -> Walked:
    """Answer a request from a generated mailbox.

    :param folder: gets the mailbox and its index.
    :param store: of the tools of the domain personal.
    """
    home, index = folder / "home", folder / "index.sqlite"
    write_personal_data(home, messages=_MESSAGES)
    refresh_index(PersonalData.below(home, zone=ZONE), index, today=TODAY)
    asked = Walk(request=_PERSONAL, domain=read_domain("personal"), graph=None, today=TODAY)
    with index_in_use(index):
        access = ToolAccess(modules=(personal_tools.__name__,))
        return _run(asked, f"a generated mailbox of {_MESSAGES} messages", access, store)


def company_run(folder: Path, catalog: Path, store: Path) -> Walked:
    """Answer a request from the mock company.

    :param folder: gets the company's records.
    :param catalog: of its documents.
    :param store: of the tools of the catalogue.
    """
    asked = Walk(request=_COMPANY, domain=read_domain("enterprise"), graph=None, today=_COMPANY_DAY)
    with demo_company(catalog, folder / "company") as systems:
        about = f"a mock company of {len(systems)} systems over HTTP"
        return _run(asked, about, ToolAccess(servers=systems), store)


def _run(asked: Walk, about: str, access: ToolAccess, store: Path) -> Walked:
    started = time.perf_counter()
    walked = asyncio.run(
        walk(asked, access, never, server="", store=store, limits=_LIMITS, journal=None, dry_run=False)
    )
    _say(f"[bold]{plain(asked.request)}[/] Planned over {about} in {time.perf_counter() - started:.1f} s.")
    _show(walked)
    stdout.print()
    return walked


def _show(walked: Walked) -> None:
    graph, found = walked.parsed.graph, walked.execution or {}
    edges = [f"{each.source} {each.edge} {each.target}" for each in graph.edges]
    filters = [f"{var}.{each.field} {each.op} {each.value}" for var in graph.vars for each in graph.filters_of(var)]
    kinds = [f"{var}: {kind}" for var, kind in graph.vars.items()]
    _say(f"  graph   {plain(f'{graph.action} {graph.return_var}')}  {plain('; '.join([*kinds, *edges, *filters]))}")
    for choice in walked.choices:
        if choice.candidates:
            _say(f"  tool    {plain(f'{choice.purpose}: {choice.candidates[0].tool.id}')}")
    for call in found["calls"]:
        if call["kind"] != "count":  # those only choose the order
            _say(f"  call    {plain(call['what'])}: {call['rows']} rows in {call['ms']:.0f} ms")
    _say(f"  answer  [bold]{found['count']}[/]: {plain(', '.join(each['id'] for each in found['answer']))}")
    for missing in found["missing"]:
        _say(f"  [yellow]missing[/] {plain(missing['reason'])}")


def _say(line: str) -> None:
    stdout.print(line, soft_wrap=True, highlight=False)
