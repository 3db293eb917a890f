"""The command ``egotools datagen``: labelled requests from a catalogue's own tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from services.cli.console import print_json, progress_bars, stderr, stdout, table

if TYPE_CHECKING:  # this brings numeric libraries, which must not come before the threads are pinned
    from services.jobs.generate import Generation

__all__ = ["datagen"]


def datagen(
    snapshot: Annotated[
        Path, typer.Argument(metavar="SNAPSHOT", help="Folder with the published snapshot, or a snapshot itself.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="Folder for tools.jsonl, queries.jsonl, rejected.jsonl, edges.jsonl, outputs.jsonl and the report. What was "
            "generated in it already, of the same snapshot by the same generator, is not generated again.",
        ),
    ],
    per_class: Annotated[int, typer.Option(help="How many requests of each of the six classes.")] = 50,
    generator: Annotated[
        str, typer.Option(help="Who finds outputs, judges sequences, and words requests: rules or llm.")
    ] = "rules",
    mix: Annotated[
        Path | None,
        typer.Option(
            help="YAML or JSON, class → count, or class → share of six times --per-class; equal where left out."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed, other requests; the same seed, the same requests.")] = 0,
    ontology: Annotated[Path | None, typer.Option(help="Ontology file; the shipped one by default.")] = None,
    llm_url: Annotated[
        str, typer.Option(help="Base URL of an OpenAI-compatible endpoint (generator llm).", envvar="OPENAI_BASE_URL")
    ] = "",
    llm_model: Annotated[str, typer.Option(help="Model name (generator llm).")] = "",
    llm_max_tokens: Annotated[int, typer.Option(help="Stop after this many tokens; 0 for no cap.")] = 0,
    llm_max_usd: Annotated[float, typer.Option(help="Stop after this much money; 0 for no cap.")] = 0.0,
    llm_usd_per_1k: Annotated[float, typer.Option(help="Price of 1,000 tokens, for the cap.")] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")] = False,
) -> None:
    """Make labelled requests of six classes from a snapshot's tools, to measure and tune retrieval on."""
    from services.threads import pin_threads

    pin_threads()  # before anything numeric is imported
    from services.jobs.generate import DatagenPlan, generate_requests
    from services.jobs.model_factory import ChatEndpoint

    plan = DatagenPlan(
        store=snapshot,
        out=out,
        per_class=per_class,
        generator=generator,
        mix=mix,
        seed=seed,
        ontology=ontology,
        endpoint=ChatEndpoint(
            base_url=llm_url,
            model=llm_model,
            max_tokens=llm_max_tokens,
            max_usd=llm_max_usd,
            usd_per_1k=llm_usd_per_1k,
        ),
    )
    with progress_bars(hidden=as_json or not stderr.is_terminal) as progress:
        done = generate_requests(plan, progress)
    if as_json:
        print_json(dict(done.figures))
    else:
        _show(done)
    if done.stopped is not None:
        stderr.print(
            "What was made before is written; the same command again goes on where it stopped.", soft_wrap=True
        )
        raise done.stopped


def _show(done: Generation) -> None:
    figures = done.figures
    classes = figures["classes"]
    rows = [(name, f"{row['made']:,}", f"{row['wanted']:,}", f"{row['paths']:,}") for name, row in classes.items()]
    title = f"Requests · {figures['coverage']['tools']:,} tools · snapshot {figures['snapshot_id']}"
    stdout.print(table(title, ("class", "made", "wanted", "paths"), rows))
    refused = sum(sum(reasons.values()) for reasons in figures["rejected"].values())
    coverage, diversity, leakage = figures["coverage"], figures["diversity"], figures["leakage"]
    stdout.print(
        f"{coverage['tools_used']:,} of {coverage['tools']:,} tools are needed; distinct-2 {diversity['distinct_2']:.2f}, "
        f"highest cosine {diversity['max_cosine']:.2f}; {100 * leakage['content_words']:.0f} % of the content words stand in the "
        f"tools' documents; {refused:,} refusals",
        soft_wrap=True,
    )
    short = [name for name, row in classes.items() if row["made"] < row["wanted"]]
    if short and done.stopped is None:
        stdout.print(
            f"[yellow]note[/] fewer than wanted: {escape(', '.join(short))}; the report says why", soft_wrap=True
        )
    stdout.print(f"Report: [bold]{escape(str(done.report))}[/]", soft_wrap=True)
