"""The demo: build the shipped catalogue, serve it, send it the sample requests with the client, and show the answers; then two requests
are planned and answered, one from a generated mailbox, one from a mock company, three questions are asked of the tool graph, and five tasks
are solved step by step.

Run it with ``make demo``, or from any folder with ``egotools demo``. It needs no network, no key and no GPU, and leaves no file.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from eval.gold_slots import gold_slots, slot_name
from services.cli.console import plain, print_id_lines, stdout
from services.cli.progress_display import shown_progress
from services.company.shipped_documents import SHIPPED_CATALOG, SHIPPED_REQUESTS
from services.threads import pin_threads

if TYPE_CHECKING:
    from ingest.build_report import BuildReport

__all__ = ["demo"]

_CLASSES = (
    "single-intent",
    "multi-intent",
    "explicit-multi-step",
    "implicit-multi-step",
    "conditional-multi-step",
    "ir-multi-intent",
)
_PERSONAL_TOOLS = "python:planners.personal.personal_tools"
_SHOWN = 5  # tools a request
_K = 10


def demo() -> None:
    """Build the shipped company's tool graph, serve it, send it requests and show the answers; then plan and answer two, ask questions of the graph, and solve tasks."""
    pin_threads()  # before a numeric library is imported
    with tempfile.TemporaryDirectory(prefix="egotools-demo-") as folder:
        _demo(Path(folder))


def _demo(folder: Path) -> None:
    from egotools import Client
    from services.cli.ask_demo import ask_company
    from services.cli.demo_runs import company_run, personal_run
    from services.cli.solve_demo import keyless_tasks
    from services.server.server_process import server_process

    started = time.perf_counter()
    store, personal_store = folder / "store", folder / "personal"
    report = _build(store, str(SHIPPED_CATALOG))
    stdout.print(
        f"Read {len(report.documents)} documents of one company: {report.tools} tools; their graph has "
        f"{report.graph.nodes:,} nodes and {report.graph.edges:,} edges. "
        f"Snapshot [bold]{report.snapshot_id}[/] in {time.perf_counter() - started:.1f} s."
    )
    requests = _requests()
    complete = 0
    with server_process(store) as server, Client(server["address"]) as client:
        stdout.print(f"Serving it over gRPC at {server['address']}.\n")
        for name in _CLASSES:
            for place, request in enumerate(r for r in requests if r["class"] == name):
                answer = client.retrieve(request["query"], k=_K, explain=False, explanation=True)
                found = {tool.id for tool in answer.tools}
                complete += all(not found.isdisjoint(slot) for slot in gold_slots(request["tools"]))
                if place == 0:
                    _show(name, request, answer)
    stdout.print(
        f"All tools needed were among the top {_K} for [bold]{complete} of {len(requests)}[/] sample requests "
        f"(6 of each class). [bold green]✓[/] marks a needed tool; the server has stopped.\n"
    )
    _build(personal_store, _PERSONAL_TOOLS)
    personal_run(folder, personal_store)
    company_run(folder, SHIPPED_CATALOG, store)
    ask_company(folder, store)
    keyless_tasks(folder, store)


def _build(store: Path, source: str) -> BuildReport:
    """Build in this process, to show progress bars."""
    from inference import DEFAULT_ENCODER, load_encoder
    from services.jobs.build import build_snapshot

    with shown_progress() as progress:
        return build_snapshot(
            [source],
            store,
            encoder=load_encoder(DEFAULT_ENCODER, workers=2),
            workers=2,
            progress=progress,
        )


def _requests() -> list[dict[str, Any]]:
    lines = SHIPPED_REQUESTS.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def _show(name: str, request: dict[str, Any], answer: Any) -> None:
    slots = gold_slots(request["tools"])
    needed = {tool for slot in slots for tool in slot}
    rows = [("✓ " if tool.id in needed else "  ", tool.id, tool.explanation) for tool in answer.tools[:_SHOWN]]
    late = [f"{tool.id} (#{tool.rank})" for tool in answer.tools[_SHOWN:] if tool.id in needed]
    found = {tool.id for tool in answer.tools}
    missing = [slot_name(slot) for slot in slots if found.isdisjoint(slot)]
    stdout.print(f"[bold]{plain(name)}[/]: {plain(request['query'])}", highlight=False, soft_wrap=True)
    print_id_lines(rows)
    if late:
        stdout.print("  further down: " + escape(", ".join(late)))
    if missing:
        stdout.print("  [yellow]missed[/]: " + escape(", ".join(missing)))
    stdout.print()
