from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from planners.graphseek.operators.operator import Operator
from planners.graphseek.operators.table import chart as CHART
from planners.graphseek.operators.table import graph as GRAPH
from planners.graphseek.operators.table import table as TABLE
from planners.graphseek.results import GraphPart, Presentation, ResultNode, ResultStore
from tests.planners.graphseek.results.stores import column, context, kept


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ResultStore]:
    opened = ResultStore(tmp_path)
    await kept(opened, [column("site"), column("cost", "number"), column("tier", "integer")], [("a", 1.5, 0)])
    await opened.keep_graph(GraphPart(nodes=(ResultNode(id="1", type="Site"),)), title="")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("operator", "arguments", "shown"),
    [
        (
            TABLE,
            {"handle": "t1", "columns": ["tier", "site"], "title": "Sites"},
            Presentation(kind="table", of="t1", title="Sites", options={"columns": ("tier", "site")}),
        ),
        (
            CHART,
            {"handle": "t1", "kind": "bar", "x": "site", "y": "cost"},
            Presentation(kind="bar", of="t1", options={"x": "site", "y": "cost"}),
        ),
        (GRAPH, {"handle": "g2", "title": "Site"}, Presentation(kind="graph", of="g2", title="Site")),
    ],
)
async def test_presentations_say_what_is_shown(
    store: ResultStore, operator: Operator, arguments: dict[str, Any], shown: Presentation
) -> None:
    result = await operator.run(arguments, context(store))
    assert result.handle == "p3"
    assert await store.presentation("p3") == shown
    assert result.summary.startswith(f"p3: {shown.kind} of {shown.of}")
    assert "\n" not in result.summary
