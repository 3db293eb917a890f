"""What default is worth on an unseen catalogue: leave-one-catalogue-out of rules, weights and encoder.

It writes docs/unseen.md and the controls in docs/does-the-graph-help.md. Snapshots and vectors are kept in out/unseen, so that a second
run only searches.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ontology.files import write_file
from research.open_sets import require_open_sets
from scripts.bench_sets import MACRO_SETS, REAL, REAL_KEPT, ROOT, SHIPPED_DEV, SHIPPED_TEST, real_sets
from scripts.document_blocks import replace_block
from scripts.provenance import current
from scripts.run_command import run_command
from services.threads import pin_threads

OTHERS = ("workbench", "toolsandbox", "tooltalk")
ENCODER = "egotools-minilm-int8.v1"
_BLOCK = "controls"


def main(
    kept: Annotated[
        bool, typer.Option(help="measure the kept halves of the shipped and real requests: once, at the end")
    ] = False,
    sets: Annotated[str, typer.Option(help="names of sets, with commas; all where empty")] = "",
    limit: Annotated[int, typer.Option(help="requests of each set at most; 0 for all")] = 120,
    searched: Annotated[int, typer.Option(help="requests of each set that weights are chosen on, at most")] = 60,
    budget: Annotated[int, typer.Option(help="points that each search tries")] = 250,
    encoder: Annotated[str, typer.Option(help="encoder, where it has not seen the catalogue")] = ENCODER,
    folder: Annotated[Path, typer.Option(help="keeps snapshots, vectors and the ranks")] = ROOT / "out" / "unseen",
    docs: Annotated[Path, typer.Option(help="the pages")] = ROOT / "docs",
    again: Annotated[bool, typer.Option(help="only write the pages again, from the last run in the folder")] = False,
) -> None:
    """Measure, and write the pages."""
    from research.unseen.page import controls_block, page

    if not again:
        require_open_sets()
        names = sets.split(",") if sets else [*MACRO_SETS, *OTHERS, *_halves(kept)]
        run = measured(names, folder, limit=limit, searched=searched, budget=budget, encoder=encoder)
        run["told"] = {"limit": limit, "budget": budget, "kept": kept, "measured": str(current())}
        write_file(folder / "ranks.json", json.dumps(run, indent=1) + "\n")
    run = json.loads((folder / "ranks.json").read_text(encoding="utf-8"))
    write_file(docs / "unseen.md", page(run["ranks"], run["weights"], run["encoders"], **run["told"]))
    replace_block(docs / "does-the-graph-help.md", _BLOCK, controls_block(run["ranks"]))


def _halves(kept: bool) -> list[str]:
    real = [REAL_KEPT if kept else REAL] if real_sets() else []
    return [SHIPPED_TEST if kept else SHIPPED_DEV, *real]


def measured(names: list[str], folder: Path, *, limit: int, searched: int, budget: int, encoder: str) -> dict[str, Any]:
    """Return ``ranks``, ``weights`` and ``encoders`` of each set, as JSON holds them.

    Weights are never chosen on a kept half: of its catalogue nothing is used, and for other catalogues the dev half is.
    """
    from inference.result_cache import ResultCache
    from research.unseen.answers import completed_ranks
    from research.unseen.cases import choose_without, collect_cases, spaces
    from research.unseen.unseen_set import Encoders, unseen_sets

    folder.mkdir(parents=True, exist_ok=True)
    encoders = Encoders(ResultCache(folder / "vectors.sqlite"))
    dev = {SHIPPED_TEST: SHIPPED_DEV, REAL_KEPT: REAL}
    everything = list(dict.fromkeys([*names, *(dev[name] for name in names if name in dev)]))
    built = {
        one.name: one for one in unseen_sets(everything, folder / "stores", encoders, encoder=encoder, limit=limit)
    }
    chosen: dict[str, dict[str, Any]] = {name: {} for name in names}
    for system, space in spaces().items():
        cases = {name: collect_cases(one, system, searched) for name, one in built.items() if name not in dev}
        for name, found in choose_without(cases, space, names, budget=budget).items():
            chosen[name][system] = found
        print(f"{system}: weights chosen", flush=True)
    ranks = {}
    for name in names:
        ranks[name] = completed_ranks(built[name], chosen[name], controls=True)
        print(f"{name}: measured", flush=True)
    weights = {name: chosen[name]["default"].values for name in names}
    return {"ranks": ranks, "weights": weights, "encoders": {name: built[name].encoder.name for name in names}}


if __name__ == "__main__":
    pin_threads()  # before anything numeric is imported
    run_command(main)
