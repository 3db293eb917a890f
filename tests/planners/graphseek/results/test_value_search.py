from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from planners.graphseek.results.result import EvictedError, GraphPart, ResultEdge, ResultNode
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.results.value_search import Sought
from tests.planners.graphseek.results.stores import column, kept


async def filled(folder: Path) -> ResultStore:
    opened = ResultStore(folder)
    columns = [column("name"), column("cost", "number"), column("since"), column("planned", "boolean")]
    rows = [(f"Module {n}", 50 + n / 1_000, f"{1990 + n % 20}-05-01", True) for n in range(3_000)]
    await kept(opened, columns, [*rows, ("Site Älpha_1%", 99.425, "0017", False)])
    await opened.keep_graph(
        GraphPart(
            nodes=tuple(
                ResultNode(id=f"4:{n}", type="Line", properties={"name": f"Line A{n}", "rate": n / 7}) for n in range(9)
            ),
            edges=(ResultEdge(type="BUILT_AT", source="4:1", target="4:2", properties={"units": 4711}),),
        ),
        title="lines",
        notes=["17 paths of 2 to 4 hops"],
    )
    await kept(opened, [column("n", "integer")], [(7_001,)] * 12, most=11)
    return opened


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResultStore]:
    opened = asyncio.run(filled(tmp_path_factory.mktemp("run")))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("value", "tolerance", "found"),
    [
        ("module 1234", 0.0, "t1"),
        ("Module 3000", 0.0, None),
        ("Module", 0.0, None),
        ("Module 12…", 0.0, "t1"),
        ("odule 12…", 0.0, None),
        ("site älpha_1%", 0.0, "t1"),
        ("SITE ÄLP…", 0.0, "t1"),
        ("Site A\u0308lpha_1%", 0.0, "t1"),
        ("site_alpha…", 0.0, None),
        ("Module _…", 0.0, None),
        ("LINE A3", 0.0, "g2"),
        ("built_at", 0.0, "g2"),
        ("a\ud800", 0.0, None),
        (("nowhere", "MODULE 1234"), 0.0, "t1"),
        (("Module", "SITE ÄLPHA_1%"), 0.0, "t1"),
        (("nowhere", "LINE A3"), 0.0, "g2"),
        (("nowhere", "a\ud800"), 0.0, None),
        ((), 0.0, None),
        (51.234, 0.0, "t1"),
        (99.42, 0.005, "t1"),
        (99.43, 0.005, "t1"),
        (99.4, 0.005, None),
        (2003.0, 0.0, "t1"),  # a year in a date
        (17.0, 0.0, "g2"),  # a note
        (0.0, 0.0, "g2"),
        (4_711, 0.0, "g2"),
        (0.14, 0.005, "g2"),
        (3_001, 0.0, "t1"),  # rows
        (9, 0.0, "g2"),  # nodes
        (11, 0.0, None),  # a table that is cut says nothing of how many there are
        (7_001, 0.0, "t3"),
        (7_002, 0.4, None),
    ],
)
async def test_numbers_and_names_are_found_in_rows_and_not_in_previews_alone(
    store: ResultStore, value: Sought, tolerance: float, found: str | None
) -> None:
    assert await store.has_value(value, tolerance=tolerance) == found


async def test_only_the_results_that_an_answer_rests_on(store: ResultStore) -> None:
    assert await store.has_value("Line A3", of=["t1", "t3"]) is None
    store._records["t1"].evicted = True
    assert await store.has_value("Module 1") is None
    with pytest.raises(EvictedError):
        await store.has_value("Module 1", of=["t1"])
