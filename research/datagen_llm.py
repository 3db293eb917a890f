"""Measure how well a chat model rewords the requests that rules made: share kept, reasons of the dropped, cost.

    python -m research.datagen_llm --url http://127.0.0.1:8000/v1 --model NAME --store STORE --out DIR --limit 300

The requests are those of ``egotools datagen`` on the store, spread over the classes. Each is reworded under the checks of
``--generator llm``, once with masks in place of its values and once without. DIR keeps the requests and the answers, so a
run that stops goes on where it was. ``sheet-ARM.jsonl`` has a row for each request, to be read and judged; ``report.json``
and ``report.md`` have the figures.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from datagen.interfaces import RequestValidator
from datagen.llm import Paraphrase, ParaphraseCheck, Paraphraser
from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import CLASSES, SyntheticRequest
from datagen.validation.rules_validator import rules_validators, validate
from inference import OpenAIChat
from inference.concurrent_map import concurrent_map
from inference.result_cache import ResultCache
from ontology.errors import ModelError
from ontology.files import write_file, write_rows
from ontology.progress import no_progress
from research.llm_cost import CostLedger, CountedChat, render
from retrieval.snapshot.reader import open_snapshot
from scripts.run_command import run_command
from services.jobs.generate import generate_requests
from services.jobs.plans import DatagenPlan

T = TypeVar("T")
ARMS = ("masked", "plain")
"""Whether the model sees masks in place of the values."""


def main(
    url: Annotated[str, typer.Option(help="of an OpenAI-compatible endpoint, up to and including /v1")],
    model: Annotated[str, typer.Option(help="name of the model at that endpoint")],
    store: Annotated[Path, typer.Option(help="store with the published snapshot")],
    out: Annotated[Path, typer.Option(help="folder for the requests, the answers and the results")],
    limit: Annotated[int, typer.Option(help="requests to reword, spread over the classes")] = 300,
    concurrency: Annotated[int, typer.Option(help="calls at the same time")] = 4,
    minutes: Annotated[float, typer.Option(help="of the model's time, over all runs into OUT")] = 600.0,
    timeout_s: Annotated[float, typer.Option(help="of one call")] = 600.0,
    seed: int = 0,
    arms: Annotated[str, typer.Option(help="only these, comma-separated")] = ",".join(ARMS),
) -> None:
    """Make the requests, reword them in each arm, and write the sheets and the report."""
    requests = worded_requests(store, out / "worded", limit=limit, seed=seed)
    catalogue = ProfiledCatalogue.of(open_snapshot(store))
    validators = rules_validators(catalogue, build_rp_graph(catalogue, RulesOutputs(catalogue).find()))
    check = ParaphraseCheck(catalogue, validators)
    ledger = CostLedger(out / "spent.json", minutes=minutes)
    chat = CountedChat(OpenAIChat(model, base_url=url, timeout_s=timeout_s), ledger)
    results: dict[str, Any] = {"model": chat.name, "tools": len(catalogue.tools), "arms": {}}
    with ResultCache(out / "cache.sqlite") as cache:
        for arm in (arm for arm in ARMS if arm in arms.split(",")):
            ledger.part = arm
            started = time.perf_counter()
            paraphraser = Paraphraser(check, chat, cache, masked=arm == "masked")
            rows, stopped = reword(requests, paraphraser, validators, concurrency=concurrency, seed=seed)
            write_rows(out / f"sheet-{arm}.jsonl", rows)
            figures = {**figures_of(rows), "wall_s": round(time.perf_counter() - started, 1), "stopped": stopped}
            results["arms"][arm] = figures
            results["spent"] = ledger.spent
            write_file(out / "report.json", json.dumps(results, indent=1, ensure_ascii=False) + "\n")
            write_file(out / "report.md", render(results))


def worded_requests(store: Path, folder: Path, *, limit: int, seed: int) -> list[SyntheticRequest]:
    """The requests that the rules make from a store, at most ``limit``, spread over the classes."""
    per_class = -(-limit // len(CLASSES))
    generate_requests(DatagenPlan(store=store, out=folder, per_class=per_class, seed=seed), no_progress)
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return spread([SyntheticRequest.from_json(json.loads(line)) for line in lines], limit)


def reword(
    requests: Sequence[SyntheticRequest],
    paraphraser: Paraphraser,
    validators: Sequence[RequestValidator],
    *,
    concurrency: int,
    seed: int,
) -> tuple[list[dict[str, Any]], str]:
    """Return a row of the sheet for each request, and the error that stopped the run before the last one, or empty."""
    rows: list[dict[str, Any]] = []
    reworded = concurrent_map(requests, lambda one: paraphraser.paraphrase(one, seed=seed), concurrency=concurrency)
    try:
        for request, made in reworded:
            rows.append(_row(request, made, validators))
    except ModelError as error:
        return rows, str(error)
    return rows, ""


def _row(request: SyntheticRequest, made: Paraphrase, validators: Sequence[RequestValidator]) -> dict[str, Any]:
    row = request.to_json()
    text = made.text
    shown = SyntheticRequest(
        id=request.id, text=text, request_class=request.request_class, path=request.path, values=request.values
    )
    return {
        "id": request.id,
        "class": request.request_class,
        "worded": request.text,
        "paraphrase": text,
        "tools": row["tools"],
        "values": [value.value for value in request.values],
        "verdicts": [asdict(verdict) for verdict in validate(shown, validators).verdicts] if text else [],
        "drops": [asdict(drop) for drop in made.drops],
        "problem": made.problem,
    }


def figures_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of a sheet: requests, share kept, by class, and how many paraphrases each rule dropped."""
    kept = [row for row in rows if row["paraphrase"]]
    asked = Counter(row["class"] for row in rows)
    dropped = Counter(drop["rule"] for row in rows for drop in row["drops"])
    return {
        "requests": len(rows),
        "kept": len(kept),
        "share": round(len(kept) / len(rows), 3) if rows else 0.0,
        "first": sum(not row["drops"] for row in kept),
        "by_class": {name: f"{_count(kept, name)} of {asked[name]}" for name in CLASSES if asked[name]},
        "paraphrases": len(kept) + sum(dropped.values()),
        "dropped": dict(dropped.most_common()),
        "no_answer": sum(bool(row["problem"]) for row in rows),
    }


def _count(rows: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(row["class"] == name for row in rows)


def spread(items: Sequence[T], count: int) -> list[T]:
    """At most so many, spread over the sequence."""
    return [items[number * len(items) // count] for number in range(count)] if len(items) > count else list(items)


if __name__ == "__main__":
    run_command(main)
