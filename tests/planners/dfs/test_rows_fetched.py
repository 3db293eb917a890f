"""Rows fetched for the paper's requests, most selective branch first against the paper's order."""

from __future__ import annotations

from typing import Any

import pytest

from planners.dfs.executor import Execution, execute
from planners.dfs.resolver import ExecutorSettings
from planners.query.query_graph import QueryGraph
from tests.harness.waiting import bounded_work
from tests.planners.dfs.memory_resolver import MemoryResolver, date_range
from tests.planners.dfs.paper_rows import paper_rows
from tests.planners.dfs.personal_tables import DOMAIN, REQUESTS, graph_of, personal_tables

MESSAGES = 3_000


async def both_orders(graph: QueryGraph, data: MemoryResolver) -> tuple[Execution, Execution]:
    selective, paper = [
        await execute(
            graph, DOMAIN, data, resolve_date=date_range, settings=ExecutorSettings.model_validate({"order": order})
        )
        for order in ("selective", "paper")
    ]
    return selective, paper


@pytest.mark.parametrize("counted", [True, False])
async def test_the_selective_order_fetches_fewer_rows_for_the_same_answers(counted: bool) -> None:
    """At most half of what our tools give in the paper's order; by the paper's own tools, more than that (docs/planner.md)."""
    data = personal_tables(MESSAGES)
    data.uncounted = set() if counted else set(DOMAIN.types)
    rows = []
    for request, (returned, mode, constraints) in REQUESTS.items():
        selective, paper = await both_orders(graph_of(returned, mode, constraints), data)
        assert selective.candidates == paper.candidates, request
        assert selective.answer == paper.answer != (), request
        assert not selective.missing and not paper.missing
        assert selective.totals.rows <= paper_rows(paper), request
        rows.append((selective.totals.rows, paper.totals.rows, paper_rows(paper)))
    fetched, listed, logged = map(sum, zip(*rows, strict=True))
    assert fetched <= 0.5 * listed
    assert fetched <= 0.6 * logged


async def test_the_work_grows_with_the_rows_and_not_with_their_square() -> None:
    mails = [f"e{at}" for at in range(25_000)]
    pairs = {
        ("Email", "to", "Self"): {(mail, "self") for mail in mails},
        ("Email", "from", "Person"): {(mail, f"p{at % 500}") for at, mail in enumerate(mails)},
        ("Email", "participants", "Person"): {(mail, f"p{at % 499}") for at, mail in enumerate(mails)},
    }
    tables: dict[str, dict[str, dict[str, Any]]] = {
        "Email": {mail: {"sent_at": at} for at, mail in enumerate(mails)},
        "Person": {f"p{at}": {"name": f"Person {at}"} for at in range(500)},
    }
    data = MemoryResolver(DOMAIN, tables, pairs)
    with bounded_work():
        execution = await execute(
            graph_of("e", "all", "e to self; e from p1; e participants p2"), DOMAIN, data, resolve_date=date_range
        )
    assert execution.exact
    assert execution.count == sum(at % 500 != at % 499 for at in range(25_000))
    assert execution.totals.rows == 75_000
