"""The paper's seven requests and that of its introduction, in words, over generated data: tools found over gRPC, answers equal to the truth.

The table of docs/planner.md is made here: ``EGOTOOLS_RENEW_DOCS=1`` writes it.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from benchmarks.command import replace_block
from benchmarks.personal.write_personal_data import TODAY
from benchmarks.planners.accuracy import same_graph
from benchmarks.planners.execution import Mailbox, ids_of, opened_mailbox, true_answer
from planners.dfs.executor import Execution
from planners.query import load_parser
from planners.query.query_graph import GoldRequest, QueryGraph, request_set, words_of
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "planner.md"
REQUESTS = [each for each in request_set("personal") if each.paper]
HEAD = ["request", "graph", "calls", "rows", "answers"]


@pytest.fixture
async def mailbox(tmp_path: Path) -> AsyncIterator[Mailbox]:
    async with opened_mailbox(tmp_path, messages=400, seed=11) as opened:
        yield opened


def _row(gold: GoldRequest, graph: QueryGraph, found: Execution) -> list[str]:
    answers = [str(each.fields.get("name") or each.id) for each in found.answer]
    shown = ", ".join(f"`{each}`" for each in answers[:3]) + (", …" if len(answers) > 3 else "")
    constraints = "; ".join(f"`{words_of(each)}`" for each in graph.constraints)
    return [
        gold.request,
        f"`{graph.return_var}` where {constraints}",
        str(found.totals.calls),
        f"{found.totals.rows:,}",
        f"{len(answers)}: {shown}",
    ]


@pytest.mark.slow
async def test_eight_of_eight_are_answered_in_words_as_the_truth_is(mailbox: Mailbox) -> None:
    assert len(REQUESTS) == 8
    parser, rows, fetched = load_parser("rules.v1"), [], 0
    for gold in REQUESTS:
        graph = parser.parse(gold.request, mailbox.domain, TODAY).graph
        assert same_graph(graph, gold.graph), gold.request
        found = await mailbox.execute(graph)
        wanted = true_answer(gold.graph, mailbox.truth, TODAY)
        assert wanted, f"nothing is planted for it: {gold.request}"
        assert sorted(ids_of(found)) == sorted(wanted), gold.request
        assert found.exact and not found.missing
        fetched += found.totals.rows
        rows.append(_row(gold, graph, found))
    rows.append(["all", "", "", f"{fetched:,}", ""])
    table = "\n".join(f"| {' | '.join(each)} |" for each in [HEAD, ["---"] * len(HEAD), *rows])
    if os.environ.get("EGOTOOLS_RENEW_DOCS"):
        replace_block(PAGE, "paper-requests", table)
