"""Speed of data generation without a model: ``python -m scripts.bench_datagen``; part of ``make bench``.

Finds paths over the shipped company and over 3,000 and 10,000 tools of a large catalogue and writes 600 requests by templates, and compares
the cost with encoding the catalogue's distinct inputs once. Seconds are of processor time of one thread. The large catalogue is
``../shared/bench/scale_44k`` where it lies beside the checkout, else every operation of botocore and google-api-python-client, else what
``--catalog`` names. The exit code is 1 when all of it takes longer than encoding for a size of the large catalogue.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from datagen.catalogue import ProfiledCatalogue
from datagen.requests import CLASSES
from datagen.run import Steps, make_requests
from datagen.writing import TemplateWriter
from inference import HashingEncoder, load_encoder
from ontology.ontology import load_ontology
from ontology.reporting import no_progress
from ontology.tool import Tool
from scripts.run_command import run_command
from scripts.speed.builds import ENCODER, catalog_tools

_WANTED = 600
_COMPANY = Path(__file__).parents[1] / "examples" / "enterprise" / "catalog"


def main(
    tools: Annotated[list[int], typer.Option(help="Sizes of the large catalogue.")] = [3_000, 10_000],  # noqa: B006 - typer copies it
    catalog: Annotated[list[str] | None, typer.Option(help="The large catalogue.")] = None,
) -> None:
    """Measure and print a table."""
    large = catalog_tools(catalog)
    chosen = [(size, large[:: max(1, len(large) // size)][:size]) for size in tools]
    company = catalog_tools([str(_COMPANY)])
    print("| tools | requests | paths and requests, s | encoding the inputs once, s |\n|---:|---:|---:|---:|")
    _measured(company)
    if not all([_measured(found) for _, found in chosen]):
        raise typer.Exit(1)


def _measured(tools: Sequence[Tool]) -> bool:
    catalogue = ProfiledCatalogue(snapshot_id="", tools=tuple(tools), ontology=load_ontology())
    steps = Steps(writer=TemplateWriter(catalogue), reader=None, encoder=HashingEncoder())
    start = time.process_time()
    wanted = dict.fromkeys(CLASSES, _WANTED // len(CLASSES))
    made = make_requests(catalogue, steps, wanted, seed=0, progress=no_progress)
    seconds = time.process_time() - start
    inputs = sorted({f"{one.name} {one.description}" for tool in tools for one in tool.parameters})
    encoder = load_encoder(ENCODER)
    start = time.process_time()
    encoder.encode(inputs)
    encoding = time.process_time() - start
    print(f"| {len(tools):,} | {len(made.requests):,} of {_WANTED} | {seconds:.1f} | {encoding:.1f} |", flush=True)
    return seconds <= encoding


if __name__ == "__main__":
    run_command(main)
