"""Requests and runs made by hand, for tests of what is computed from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.graph_quality import GraphQuality, GraphStatistics
from eval.measured_set import Answer, Run
from eval.queries import LabelledQuery, QuerySet, gold_slots

GRAPH = GraphQuality(
    snapshot_id="s1",
    statistics=GraphStatistics(tools=6, nodes={"tool": 6}, edges={"supplies": 3}, tools_without_tool_edge=0, hubs=0),
    edges=None,
)
"""The quality of a small graph that nobody measured."""


def query_set(
    gold: Mapping[str, Sequence[str | Sequence[str]]], name: str = "planted", classes: Sequence[str] = ()
) -> QuerySet:
    """A set of requests: id → gold tools, a list in it for tools that would do equally, with the classes in the same order."""
    named = list(classes) or [""] * len(gold)
    queries = tuple(
        LabelledQuery(id=query_id, text=f"request {query_id}", slots=gold_slots(tools), request_class=request_class)
        for (query_id, tools), request_class in zip(gold.items(), named, strict=True)
    )
    return QuerySet(name=name, queries=queries, sha256=hashlib.sha256(repr(queries).encode()).hexdigest())


def written(path: Path, *rows: Any) -> Path:
    """A file with these rows as JSON, a line each; a text is a line as it is."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def with_unanswerable(queries: QuerySet, kinds: Mapping[str, str]) -> QuerySet:
    """The set with requests that no tool serves: id → kind."""
    none = tuple(
        LabelledQuery(id=query_id, text=f"request {query_id}", slots=(), kind=kind) for query_id, kind in kinds.items()
    )
    return replace(queries, unanswerable=none)


def run_of(queries: QuerySet, answers: Mapping[str, Sequence[str] | Answer], system: str = "a", **others: Any) -> Run:
    """A run with these answers: query id → tools, best first, or the whole answer."""
    made = {
        query_id: answer if isinstance(answer, Answer) else Answer(query_id=query_id, tools=tuple(answer))
        for query_id, answer in answers.items()
    }
    facts: dict[str, Any] = {
        "config": {},
        "config_hash": "0" * 12,
        "snapshot_id": "s1",
        "queries_sha256": queries.sha256,
        "k": 30,
    }
    return Run(system=system, answers=made, **(facts | others))
