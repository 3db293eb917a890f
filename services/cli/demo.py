"""The commands ``egotools demo``, which shows the whole road on the shipped catalogue, and ``egotools demo company``, the mock company behind it.

The demo needs no network, no key and no GPU, leaves no file, and prints at most 60 lines.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from examples.company.mock_company import MockCompany, serve_company, served_company
from examples.company.shipped_documents import SHIPPED_CATALOG, SHIPPED_NEEDS, SHIPPED_REQUESTS
from services.cli.console import ProgressDisplay, plain, say
from services.cli.options import ReadyFile, command
from services.threads import pin_threads

if TYPE_CHECKING:
    from egotools import Client

demo_app = typer.Typer(
    help="Show the whole road on the shipped company's tools.",
    invoke_without_command=True,
    rich_markup_mode=None,
    add_completion=False,
)
_K = 10
_PLANNED = "Which invoices from Acme Pumps GmbH are posted?"
_COMPANY_DAY = date(2026, 11, 20)  # on which the mock company stands


@demo_app.callback()
def _demo(context: typer.Context) -> None:
    """Build the shipped company's tool graph, serve it, and ask requests whole and by needs; then plan one and call its tools."""
    if context.invoked_subcommand is not None:
        return
    pin_threads()  # before a numeric library is imported
    from egotools import Client
    from inference import DEFAULT_ENCODER, load_encoder
    from services.jobs.build import build_snapshot
    from services.server.process import server_process

    with tempfile.TemporaryDirectory(prefix="egotools-demo-") as temporary:
        folder, started = Path(temporary), time.perf_counter()
        store, encoder = folder / "store", load_encoder(DEFAULT_ENCODER, workers=2)
        with ProgressDisplay() as progress:  # in this process, to show it
            report = build_snapshot([str(SHIPPED_CATALOG)], store, encoder=encoder, workers=2, progress=progress)
        say(
            f"Read {len(report.documents)} documents of one company: {report.tools} tools; their graph has "
            f"{report.graph.nodes:,} nodes and {report.graph.edges:,} edges. "
            f"Snapshot [bold]{report.snapshot_id}[/] in {time.perf_counter() - started:.1f} s."
        )
        with server_process(store) as server, Client(server["address"]) as client:
            say(f"Served over gRPC at {server['address']}. Behind each needed tool stands its rank among {_K}.\n")
            _ask_both_ways(client)
        _show_plan(folder, store)
    command = plain(sys.argv[0] if sys.argv[0].endswith("egotools") else "egotools")
    say(
        f"""
Your own tools: put the documents (OpenAPI, OData, MCP and others) in the place of DOCUMENTS.
  {command} build DOCUMENTS --out store
  {command} search --need "find an employee by name" --need "give an employee an award" --store store
  {command} eval store --queries requests.jsonl --needs-file needs.jsonl --out report
  {command} serve --store store --port 50051
The server has stopped, and no file is left. More: README.md, docs/serving.md, docs/planner.md, docs/solve.md."""
    )


@command(demo_app)
def company(
    data: Annotated[Path, Option(file_okay=False, help="Folder of the records, perhaps empty.")],
    catalog: Annotated[
        Path, Option(file_okay=False, show_default="the shipped ones", help="OpenAPI documents.")
    ] = SHIPPED_CATALOG,
    host: Annotated[str, Option(help="Address to listen on. There is no access control.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="Port to listen on; 0: any free port.")] = 8010,
    ready_file: ReadyFile = None,
) -> None:
    """Answer every operation of the company's OpenAPI documents from records, until SIGTERM. A system is at URL/SYSTEM."""
    mock = MockCompany(catalog, data)
    try:
        systems = sorted({operation.system for operation in mock.operations})

        def ready(url: str) -> None:
            say(plain(f"{len(mock.operations)} operations at {url}/SYSTEM: {', '.join(systems)}"))

        serve_company(mock, host=host, port=port, ready_file=ready_file, ready=ready)
    finally:
        mock.close()


def _ask_both_ways(client: Client) -> None:
    """Send every request whole and by its needs; show the first of each class, and count how many answers are complete."""
    from eval.queries import gold_slots, slot_name

    requests, needs = (
        [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        for file in (SHIPPED_REQUESTS, SHIPPED_NEEDS)
    )
    phrases_of = {row["id"]: row["needs"] for row in needs}
    shown: set[str] = set()
    complete = [0, 0]
    for request in requests:
        query, phrases = request["query"], phrases_of[request["id"]]
        told = []
        for way, given in enumerate(((), phrases)):
            answer = client.retrieve(query, needs=given, k=_K, explain=False)
            ranks = []  # of each needed tool, which may have alternatives; above the last where none was found
            for slot in gold_slots(request["tools"]):
                best = next((tool for tool in answer.tools if tool.id in slot), None)
                ranks.append((_K + 1, plain(slot_name(slot))) if best is None else (best.rank, plain(best.id)))
            ranks.sort(key=lambda each: each[0])
            complete[way] += all(rank <= _K for rank, _ in ranks)
            marked = (f"[green]✓[/] {tool} {rank}" if rank <= _K else f"[yellow]✗ {tool}[/]" for rank, tool in ranks)
            told.append("  ".join(marked))
        if request["class"] not in shown:
            shown.add(request["class"])
            say(f"[bold]{plain(query)}[/]")
            say(f"  whole request  {told[0]}")
            say(f"  needs          {plain('; '.join(phrases))}")
            say(f"  by needs       {told[1]}\n")
    say(
        f"All tools needed were among the first {_K} for [bold]{complete[0]} of {len(requests)}[/] sample requests asked whole, and for "
        f"[bold]{complete[1]} of {len(requests)}[/] asked by needs,\nwhich a language model wrote from the requests alone.\n"
    )


def _show_plan(folder: Path, store: Path) -> None:
    """Plan a request, and call the tools over HTTP: words, query graph, tools found by need, calls, answer."""
    from planners.calls.tool_access import CallLimits, ToolAccess, never
    from planners.query.domain import read_domain
    from services.jobs.walk import Walk, walk

    asked = Walk(request=_PLANNED, domain=read_domain("enterprise"), graph=None, today=_COMPANY_DAY)
    where: dict[str, Any] = {"server": "", "store": store, "journal": None, "dry_run": False}
    with served_company(SHIPPED_CATALOG, folder / "company") as systems:
        access, limits = ToolAccess(servers=systems), CallLimits(calls=1_000, seconds=60.0)
        walked = asyncio.run(walk(asked, access, never, limits=limits, **where))
    say(f"[bold]{plain(_PLANNED)}[/] Planned over a mock company of {len(systems)} systems over HTTP.")
    graph, found = walked.parsed.graph, walked.execution or {}
    parts = [f"{var}: {kind}" for var, kind in graph.vars.items()]
    parts += [f"{each.source} {each.edge} {each.target}" for each in graph.edges]
    parts += [f"{var}.{each.field} {each.op} {each.value}" for var in graph.vars for each in graph.filters_of(var)]
    say(f"  graph   {plain(f'{graph.action} {graph.return_var}')}  {plain('; '.join(parts))}")
    for choice in walked.choices:
        if choice.candidates:
            say(f"  tool    {plain(f'{choice.purpose}: {choice.candidates[0].tool.id}')}")
    for call in found["calls"]:
        if call["kind"] != "count":  # those only choose the order
            say(f"  call    {plain(call['what'])}: {call['rows']} rows in {call['ms']:.0f} ms")
    say(f"  answer  [bold]{found['count']}[/]: {plain(', '.join(each['id'] for each in found['answer']))}")
