"""GraphSeek, measured: ``python -m scripts.graphseek_account rules tokens``; ``real`` needs ``--endpoint`` and ``--model``.

Each part goes on where it was: its rows are kept in ``--out``. ``--write-docs`` puts the figures into ``docs/graphseek.json`` and the
tables into ``docs/graphseek.md``; ``page`` does only that. Questions on countries need the package ``pycountry`` and ``--countries``.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from planners.calls.tool_finder import Finder
from planners.graphseek.turn import AgentSettings
from scripts.account.figures import keep_section
from scripts.account.kept_rows import KeptRows
from scripts.account.patient_chat import patient_chat
from scripts.bench_sets import ROOT
from scripts.graphseek.account_graph import AccountGraph, account_graphs, drawn_questions, open_account_graph
from scripts.graphseek.asked_systems import operator_finder
from scripts.graphseek.graphseek_page import FIGURES, PAGE, write_page
from scripts.graphseek.real_account import measure_real
from scripts.graphseek.rules_account import measure_rules, random_section
from scripts.graphseek.token_account import measure_tokens, token_section

__all__: list[str] = []

_PARTS = ("rules", "tokens", "real", "page")
_GRAPHS = "ev,countries,tool_graph"


async def _measure(chosen: argparse.Namespace, kept: Mapping[str, KeptRows]) -> None:
    folder = chosen.out / "graphs"
    async with AsyncExitStack() as stack:
        finder: Finder | None = None
        if {"tokens", "real"} & set(chosen.parts):
            finder = await stack.enter_async_context(operator_finder(chosen.out / "operators"))
        if "tokens" in chosen.parts and finder is not None:
            await measure_tokens(folder, [float(each) for each in chosen.scales.split(",")], finder, kept["tokens"])
        graphs: Sequence[AccountGraph] = ()
        if {"rules", "real"} & set(chosen.parts):
            found = account_graphs(folder, chosen.countries)
            names = [each for each in chosen.graphs.split(",") if each in found]
            print(f"graphs: {', '.join(names)}", flush=True)
            graphs = [await stack.enter_async_context(open_account_graph(each, *found[each])) for each in names]
        if "rules" in chosen.parts:
            await measure_rules(graphs, drawn_questions(folder, chosen.random), kept["rules"])
        if "real" in chosen.parts and finder is not None:
            await measure_real(
                graphs,
                finder,
                patient_chat(chosen.model, chosen.endpoint),
                kept["real"],
                runs=chosen.runs,
                settings=AgentSettings(max_steps=chosen.steps, answer_tokens=chosen.answer_tokens),
                attempts=chosen.attempts,
                events=chosen.out / "events",
            )


def _keep(chosen: argparse.Namespace, kept: Mapping[str, KeptRows]) -> None:
    """Put the figures of everything that was measured so far into the file."""
    sections: dict[str, Any] = {"tokens": token_section(kept["tokens"]), "random": random_section(kept["rules"])}
    for name in ("rules", "real"):
        left_out = ("answer", "last", "sample")  # rows of a sample are summed up
        rows = [row for row in kept[name] if not row.get("sample")]
        sections[name] = [{key: value for key, value in row.items() if key not in left_out} for row in rows]
    for name, section in sections.items():
        if section:
            keep_section(name, section, chosen.figures)


def main() -> None:
    """Measure, and write what is asked for."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("parts", nargs="+", choices=_PARTS)
    options.add_argument("--graphs", default=_GRAPHS, help="of the parts rules and real, with commas between them")
    options.add_argument("--countries", type=Path, help="folder of the unpacked npm package world-countries")
    options.add_argument("--scales", default="0.1,1,10", help="sizes of the EV graph of the part tokens")
    options.add_argument("--random", type=int, default=20, help="parameters drawn for each question on the EV graph")
    options.add_argument("--runs", type=int, default=10, help="of each question and system of the part real")
    options.add_argument("--steps", type=int, default=AgentSettings().max_steps, help="of a run of the part real")
    options.add_argument("--attempts", type=int, default=10, help="of a system that writes Cypher")
    options.add_argument("--answer-tokens", type=int, default=AgentSettings().answer_tokens, help="of one answer")
    options.add_argument("--endpoint", default="", help="base URL of a chat model")
    options.add_argument("--model", default="")
    options.add_argument("--out", type=Path, default=ROOT / "out" / "graphseek")
    options.add_argument("--figures", type=Path, default=FIGURES)
    options.add_argument("--write-docs", action="store_true")
    chosen = options.parse_args()
    kept = {
        "rules": KeptRows(chosen.out / "rules.jsonl", "question", "wording", "sample"),
        "tokens": KeptRows(chosen.out / "tokens.jsonl", "scale", "system", "question"),
        "real": KeptRows(chosen.out / "real.jsonl", "run", "question", "system"),
    }
    if set(chosen.parts) != {"page"}:
        asyncio.run(_measure(chosen, kept))
    if chosen.write_docs or "page" in chosen.parts:
        _keep(chosen, kept)
        write_page(chosen.figures, PAGE)


if __name__ == "__main__":
    main()
