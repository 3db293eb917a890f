"""The sets that quality is measured on: open ones beside the checkout, shipped ones, and the real documents, where they are there."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.command import ROOT
from eval.queries import gold_slots
from ontology.errors import NotFoundError

BENCH = ROOT.parent / "shared" / "bench"
SHIPPED = "enterprise"
"""The requests of the shipped benchmark that a language model wrote one at a time, without generator or template."""
SHIPPED_GENERATED = "enterprise-generated"
"""Requests that a generator made from the graph of the same catalogue: reported apart, because a graph finds them more easily."""
SHIPPED_DEV, SHIPPED_TEST = f"{SHIPPED}-dev", f"{SHIPPED}-test"
"""The halves of the model-written requests. Rules may be chosen on the dev half."""
_SHIPPED_HALVES = ((SHIPPED_DEV, "dev"), (SHIPPED_TEST, "test"))
REAL, REAL_KEPT = "real", "real-kept"
"""The halves of the requests to the real documents. Rules may be chosen on the first; the second is in no list: it has to be named."""
SHIPPED_LONG, REAL_LONG = f"{SHIPPED}-long", f"{REAL}-long"
"""Long tasks, of 5 to 12 tools of several systems. They have to be named: they are measured by recall, hardly one is complete at 10."""
_NEEDS = "needs.jsonl"
REAL_ABSENT = (
    "The real documents are not fetched: python -m examples.real.fetch out/real (EGOTOOLS_REAL names another folder)"
)
SAMPLES = ROOT / "examples" / "enterprise" / "requests.jsonl"
"""The 36 requests of the demo."""
DEPENDENCIES_GIVEN = "-given"
"""Suffix of a set whose catalogue was given the dependencies that its source declares. They may be the labels: it is in no mean."""
GRAPH_RULE_SETS = {
    "apibank": "the tool that opens a session",
    "gtc": "tools that take no words turn none into an identifier",
    "restbench": "tools that turn words into an identifier",
    "toollinkos": "the nearest supplier of a value",
    "workbench": "an input that identifies what its tool acts on is needed",
    REAL: "which producers cannot supply a value",
    SHIPPED: "the one system that lists an entity",
    SHIPPED_TEST: "the one system that lists an entity",
}
"""Sets that a rule of the tool graph (``ingest/linking``) or of its use (``retrieval/completion``) was found on, and
what it concludes. They are counted apart. The rule of the shipped company was found by reading edges of its documents, not its requests.
"""
MACRO_SETS = tuple("apibank bfcl gtc metatool restbench sealtools taskbench tau2_service ultratool".split())
"""The nine sets of the published mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSet:
    """One catalogue with its labelled requests.

    :param catalog: files or folders of tool documents.
    :param gold_edges: files of true dependencies, for scoring the tool graph.
    :param declared: file of dependencies that are made part of the catalogue, or None.
    :param split: the split of the requests that is measured; empty for all of them.
    :param needs: file of recorded needs of the requests, or None.
    """

    name: str
    catalog: Path
    queries: Path
    gold_edges: tuple[Path, ...] = ()
    declared: Path | None = None
    split: str = ""
    needs: Path | None = None


def bench_sets(names: Sequence[str] = (), *, bench: Path = BENCH) -> list[BenchSet]:
    """The sets of these names, or all open and shipped ones that are there. Real documents and halves are sets only by name.

    :raises NotFoundError: when a named set is not there.
    """
    enterprise = ROOT / "examples" / "enterprise"
    shipped = [
        BenchSet(name=name, catalog=enterprise / "catalog", queries=enterprise / "benchmark" / file)
        for name, file in ((SHIPPED, "hand.jsonl"), (SHIPPED_GENERATED, "generated.jsonl"))
    ]
    listed = {bench_set.name: bench_set for bench_set in [*_open_sets(bench), *shipped]}
    if not names:
        return list(listed.values())
    written = replace(shipped[0], needs=enterprise / "benchmark" / _NEEDS)
    halves = [replace(written, name=name, split=split) for name, split in _SHIPPED_HALVES]
    named = [
        BenchSet(name=name, catalog=enterprise / "catalog", queries=enterprise / "benchmark" / file)
        for name, file in ((SHIPPED_LONG, "long_tasks.jsonl"), (f"{SHIPPED_GENERATED}-v1", "generated-v1.jsonl"))
    ]
    known = listed | {bench_set.name: bench_set for bench_set in [*halves, *named, *real_sets()]}
    unknown = sorted(set(names) - set(known))
    if unknown:
        remedy = REAL_ABSENT if {REAL, REAL_KEPT, REAL_LONG} & set(unknown) else f"There are: {', '.join(known)}"
        raise NotFoundError("no such set", subject=", ".join(unknown), remedy=remedy)
    return [bench_set for name, bench_set in known.items() if name in names]


def real_sets() -> list[BenchSet]:
    """The two halves of the requests to the real documents, and the long tasks; none where the documents have not been fetched."""
    documents = Path(os.environ.get("EGOTOOLS_REAL", ROOT / "out" / "real")) / "documents"
    folder = ROOT / "examples" / "real"
    files = ((REAL, "requests", "dev"), (REAL_KEPT, "requests", "test"), (REAL_LONG, "long_tasks", "dev"))
    return [
        BenchSet(
            name=name,
            catalog=documents,
            queries=folder / f"{file}.jsonl",
            split=split,
            needs=folder / _NEEDS if file == "requests" else None,
        )
        for name, file, split in files
        if documents.is_dir()
    ]


def _open_sets(bench: Path) -> Iterable[BenchSet]:
    for queries in sorted(bench.glob("*/queries.jsonl")):
        folder = queries.parent
        declared = folder / "dependencies.jsonl"
        gold_edges = tuple(path for path in (declared, folder / "answer_key_dependencies.jsonl") if path.exists())
        needs = folder / _NEEDS if (folder / _NEEDS).exists() else None
        made = BenchSet(
            name=folder.name, catalog=folder / "tools.jsonl", queries=queries, gold_edges=gold_edges, needs=needs
        )
        yield made
        if declared.exists():
            yield BenchSet(
                name=folder.name + DEPENDENCIES_GIVEN, catalog=made.catalog, queries=queries, declared=declared
            )


def catalog_address(bench_set: BenchSet, folder: Path) -> Path:
    """What to build the set's snapshot from: its documents; or a table in ``folder``, with the declared dependencies."""
    if bench_set.declared is None:
        return bench_set.catalog
    rows = _rows(bench_set.catalog)
    needs: dict[str, list[str]] = {row["id"]: [] for row in rows}
    for row in _rows(bench_set.declared):
        if row["from"] in needs and row["to"] in needs:  # a reduced catalogue lacks some
            needs[row["from"]].append(row["to"])
    # in the source's order: a method that unrolls dependencies follows it
    tools = [{**row, "depends_on": list(dict.fromkeys(needs[row["id"]]))} for row in rows]
    return _write(folder / "tools.jsonl", tools)


def reduced(bench_set: BenchSet, folder: Path, *, queries: int, tools: int) -> BenchSet:
    """A set of at most so many requests over at most so many tools (more only where the gold sets need more).

    Requests, and the tools beside the gold ones, are chosen by the hash of their ids. A folder of documents is not reduced.
    """
    chosen = sampled(bench_set, queries)
    small = replace(bench_set, queries=_write(folder / "queries.jsonl", chosen), gold_edges=())
    if bench_set.catalog.is_dir():
        return small
    gold = {tool for row in chosen for slot in gold_slots(row["tools"]) for tool in slot}
    catalog = sorted(_rows(bench_set.catalog), key=lambda row: (row["id"] not in gold, _hash(row)))
    kept = _write(folder / "catalog.jsonl", catalog[: max(tools, len(gold))])
    return replace(small, catalog=kept)


def sampled(bench_set: BenchSet, limit: int) -> list[dict[str, Any]]:
    """At most so many rows of the requests of a set, chosen by the hash of their ids; 0 for all, as they stand."""
    rows = [row for row in _rows(bench_set.queries) if bench_set.split in ("", row.get("split"))]
    return sorted(rows, key=_hash)[:limit] if limit else rows


def _hash(row: dict[str, Any]) -> str:
    return hashlib.sha256(str(row["id"]).encode()).hexdigest()


def _rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path
