"""What the task graph holds, measured: ``python -m scripts.kgot_account oracle faults tools``.

Each part goes on where it was: its rows are kept in ``--out``. ``--write-docs`` puts the figures into ``benchmarks/notes/kgot.json`` and the tables
into ``benchmarks/notes/kgot.md``; ``page`` does only that. The 60 public tasks are used where their folder lies beside the checkout, else left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.account.figures import keep_section
from scripts.account.kept_rows import KeptRows
from scripts.bench_sets import ROOT
from scripts.kgot.account_tasks import AccountTask, account_tasks, round_robin
from scripts.kgot.kgot_page import FIGURES, write_page
from scripts.kgot.oracle_account import KINDS, fault_section, measure_faults, measure_oracle, oracle_section
from scripts.kgot.task_world import task_world
from scripts.kgot.tools_shown import tool_section

__all__: list[str] = []

_PARTS = ("oracle", "faults", "tools", "page")
_SEED = 7
_FAULT_TASKS = 30
_STORES = "memory,rdf"


async def _measure(chosen: argparse.Namespace, tasks: Sequence[AccountTask], kept: dict[str, KeptRows]) -> None:
    world_folder = chosen.out / "world"
    world_folder.mkdir(parents=True, exist_ok=True)
    async with task_world(world_folder) as world:
        if "oracle" in chosen.parts:
            mixed = round_robin(tasks, seed=_SEED)
            kinds = [kind for kind in KINDS if kind in chosen.kinds.split(",")]
            await measure_oracle(world, mixed, chosen.stores.split(","), kinds, kept["oracle"], kept["wanted"])
        if "faults" in chosen.parts:
            some = round_robin(tasks, seed=_SEED)[: chosen.tasks]
            await measure_faults(world, some, kept["faults"], store=chosen.stores.split(",")[0], seed=_SEED)
        if "tools" in chosen.parts:
            section = await tool_section(world, tasks, kept["wanted"])
            (chosen.out / "tools.json").write_text(json.dumps(section), encoding="utf-8")


def _keep(chosen: argparse.Namespace, kept: dict[str, KeptRows]) -> None:
    """Put the figures of everything that was measured so far into the file."""
    sections: dict[str, Any] = {"oracle": oracle_section(kept["oracle"]), "faults": fault_section(kept["faults"])}
    if (chosen.out / "tools.json").exists():
        sections["tools"] = json.loads((chosen.out / "tools.json").read_text(encoding="utf-8"))
    for name, section in sections.items():
        if section:
            keep_section(name, section, chosen.figures)


def main() -> None:
    """Measure, and write what is asked for."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("parts", nargs="+", choices=_PARTS)
    options.add_argument("--stores", default=_STORES, help="with commas between them, see egotools solve --graph")
    options.add_argument(
        "--kinds", default=",".join(KINDS), help="of retrieval, with commas between them; of the part oracle"
    )
    options.add_argument("--tasks", type=int, default=_FAULT_TASKS, help="of the part faults")
    options.add_argument("--out", type=Path, default=ROOT / "out" / "kgot")
    options.add_argument("--figures", type=Path, default=FIGURES)
    options.add_argument("--write-docs", action="store_true")
    chosen = options.parse_args()
    tasks = account_tasks()
    print(f"{len(tasks)} tasks; public ones: {sum(not task.level for task in tasks)}", flush=True)
    kept = {
        "oracle": KeptRows(chosen.out / "oracle.jsonl", "store", "retrieve", "task"),
        "wanted": KeptRows(chosen.out / "wanted.jsonl", "task"),
        "faults": KeptRows(chosen.out / "faults.jsonl", "rate", "layers", "task"),
    }
    if set(chosen.parts) != {"page"}:
        asyncio.run(_measure(chosen, tasks, kept))
    if chosen.write_docs or "page" in chosen.parts:
        _keep(chosen, kept)
        write_page(chosen.figures)


if __name__ == "__main__":
    main()
