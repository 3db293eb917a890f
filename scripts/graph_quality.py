"""Measure the derived edges against what the public sets declare: ``python scripts/graph_quality.py ../shared/bench``.

For sets with dependencies: precision and recall of the derived edges (``supplies`` against its arrow, ``resolved_by`` along it),
as directed and as undirected pairs of tools; precision counts only edges between tools that the key speaks of, because the keys
are far from complete. For sets with requests: the share of requests with several needed tools in which an edge joins two of them.
The sets are for measuring only; nothing here feeds the graph.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

from ingest.linking.derive import derive_edges
from ingest.linking.edge import DerivedEdge
from ingest.sources import read_catalog
from ontology.ontology import load_ontology

Pair = tuple[str, str]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bench", type=Path, help="the folder with one folder for each set")
    parser.add_argument("--sets", nargs="*", default=None, help="only these")
    parser.add_argument("--show", type=int, default=0, help="print so many edges of each set")
    arguments = parser.parse_args()
    print(
        f"{'set':13} {'tools':>6} {'sec':>6} {'supplies':>8} {'resolved':>8} | key, precision and recall, directed/undirected"
    )
    for folder in sorted(path.parent for path in arguments.bench.glob("*/tools.jsonl")):
        if arguments.sets is None or folder.name in arguments.sets:
            _measure(folder, arguments.show)


def _measure(folder: Path, show: int) -> None:
    tools = read_catalog([str(folder / "tools.jsonl")]).tools
    start = time.perf_counter()
    edges = list(derive_edges(tools, load_ontology()))
    seconds = time.perf_counter() - start
    resolved = [edge for edge in edges if edge.predicate == "resolved_by"]
    supplied = [edge for edge in edges if edge.predicate == "supplies"]
    print(
        f"{folder.name:13} {len(tools):6} {seconds:6.2f} {len(supplied):8} {len(resolved):8} | {_against(folder, edges)}"
    )
    for rows, joined in _joined(folder, supplied, resolved):
        print(f"{'':13} {rows}: {joined}")
    step = max(1, len(edges) // show) if show else 1
    for edge in edges[::step][:show]:
        print(
            f"    {edge.source} --{edge.predicate}[{edge.output or '-'} > {edge.parameter} "
            f"({edge.entity}.{edge.field})]--> {edge.target}  {edge.confidence}"
        )


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _needs(edges: Iterable[DerivedEdge]) -> set[Pair]:
    """(tool that needs, tool that is needed), as the keys are written."""
    return {
        (edge.target, edge.source) if edge.predicate == "supplies" else (edge.source, edge.target) for edge in edges
    }


def _against(folder: Path, edges: list[DerivedEdge]) -> str:
    found = _needs(edges)
    parts: list[str] = []
    groups = _entity_sets(folder)
    keys: dict[str, set[Pair]] = {}
    for name in ("dependencies.jsonl", "answer_key_dependencies.jsonl"):
        for row in _rows(folder / name):
            kind = row["kind"].split(":")[0]
            keys.setdefault(kind, set()).add((row["from"], row["to"]))
            if groups:
                pair = (groups.get(row["from"], row["from"]), groups.get(row["to"], row["to"]))
                keys.setdefault(f"{kind} of entity sets", set()).add(pair)
    found |= {(groups[one], groups[other]) for one, other in found if one in groups and other in groups}
    for kind, key in sorted(keys.items()):
        ends = {end for pair in key for end in pair}
        within = {pair for pair in found if set(pair) <= ends}
        loose, loose_key = {frozenset(pair) for pair in within}, {frozenset(pair) for pair in key}
        hits, loose_hits = len(within & key), len(loose & loose_key)
        parts.append(
            f"{kind} {len(key)}: P {_share(hits, len(within))}/{_share(loose_hits, len(loose))} "
            f"R {_share(hits, len(key))}/{_share(loose_hits, len(loose_key))}"
        )
    return "; ".join(parts) or "no key"


def _entity_sets(folder: Path) -> dict[str, str]:
    """Tool → entity set: a navigation joins what is read and written of two sets, whichever tool does it."""
    rows = ((row["id"], row["metadata"].get("entity_set")) for row in _rows(folder / "tools.jsonl"))
    return {id_: f"{id_.split(':')[0]}:{name}" for id_, name in rows if name}


def _joined(folder: Path, supplied: list[DerivedEdge], resolved: list[DerivedEdge]) -> Iterator[tuple[str, str]]:
    several = [row["tools"] for row in _rows(folder / "queries.jsonl") if len(set(row["tools"])) > 1]
    if not several:
        return
    kinds = {"supplies": _needs(supplied), "resolved_by": _needs(resolved)}
    kinds["either"] = kinds["supplies"] | kinds["resolved_by"]
    shares: list[str] = []
    for kind, pairs in kinds.items():
        joined = sum(any(_either(pair, pairs) for pair in combinations(sorted(set(gold)), 2)) for gold in several)
        shares.append(f"{kind} {_share(joined, len(several))}")
    yield f"{len(several)} requests with several tools, two of them joined", ", ".join(shares)


def _either(pair: Pair, pairs: set[Pair]) -> bool:
    return pair in pairs or (pair[1], pair[0]) in pairs


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "-"


if __name__ == "__main__":
    main()
