from __future__ import annotations

import asyncio
import resource
import stat
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontology.errors import InvalidArgumentError, StorageError
from planners.graphseek.results import (
    Cell,
    ColumnType,
    GraphPart,
    ResultColumn,
    ResultEdge,
    ResultNode,
    ResultStore,
    TableRows,
)
from tests.planners.graphseek.results.stores import column, kept, table

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
CELLS: dict[ColumnType, st.SearchStrategy[Cell]] = {
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    "node": st.text("abc:0", max_size=4),
    "integer": st.integers(-(2**63) + 1, 2**63 - 1),
    "number": NUMBERS,
    "boolean": st.booleans(),
}
KINDS: list[ColumnType] = list(CELLS)
MODEL = GraphPart(
    nodes=(
        ResultNode(id="4:1", type="VehicleModel", properties={"name": "Model Z3", "tags": ("a", "b")}),
        ResultNode(id="4:2", type="FactorySite", properties={"name": "Site Älpha", "area": 12.75}),
    ),
    edges=(ResultEdge(type="BUILT_AT", source="4:1", target="4:2", properties={"since": 2021}),),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ResultStore]:
    opened = ResultStore(tmp_path / "run")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResultStore]:
    opened = ResultStore(tmp_path_factory.mktemp("run"))
    yield opened
    opened.close()


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[ResultColumn], list[tuple[Cell, ...]]]:
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(*(st.none() | CELLS[kind] for kind in kinds)), max_size=12))
    return [column(f"c{at}", kind) for at, kind in enumerate(kinds)], rows


@settings(max_examples=25, deadline=None)
@given(case=tables(), offset=st.integers(0, 13), limit=st.integers(0, 13), most=st.integers(0, 13))
def test_rows_come_back_as_they_were(
    shared: ResultStore, case: tuple[list[ResultColumn], list[tuple[Cell, ...]]], offset: int, limit: int, most: int
) -> None:
    columns, rows = case

    async def run() -> None:
        result = await kept(shared, columns, rows, most=most)
        assert (result.size, result.cut) == (min(most, len(rows)), len(rows) > most)
        found = await shared.rows(result.handle, offset=offset, limit=limit)
        assert found == rows[:most][offset : offset + limit]
        assert [list(map(type, row)) for row in found] == [list(map(type, row)) for row in rows[:most][offset:][:limit]]

    asyncio.run(run())


async def test_what_fails_or_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)

    async def batches() -> AsyncIterator[Sequence[tuple[Cell, ...]]]:
        yield [("a",)]
        raise StorageError("the graph died")

    with pytest.raises(StorageError, match="the graph died"):
        await store.keep_table(TableRows(columns=(column("a"),), batches=batches()), title="x", most=9)
    assert store.handles == ()

    begun = asyncio.Event()

    async def endless() -> AsyncIterator[Sequence[tuple[Cell, ...]]]:
        yield [("a",)]
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(
        store.keep_table(TableRows(columns=(column("a"),), batches=endless()), title="x", most=9)
    )
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    result = await kept(store, [column("a")], [("b",)])
    assert (result.handle, await store.rows("t3")) == ("t3", [("b",)])
    store.close()
    with duckdb.connect(tmp_path / "results.duckdb") as file:
        assert file.execute("SHOW TABLES").fetchall() == [("records",), ("t3",)]


async def test_a_finished_run_is_read_branched_and_never_changed(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "run")
    for n in (1, 2, 3):
        await kept(store.for_invocation(), [column("a", "integer")], [(n,)])
    await store.close_for_writing()
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert await store.rows("t2") == [(2,)]
    with pytest.raises(InvalidArgumentError, match="finished run"):
        await kept(store, [column("a")], [])
    store.close()

    opened = ResultStore(tmp_path / "run")
    with pytest.raises(InvalidArgumentError, match="finished run"):
        await opened.keep_graph(MODEL, title="x")
    branch = opened.branch(tmp_path / "branch", upto=2)
    assert branch.handles == ("t1", "t2")
    assert (await kept(branch.for_invocation(), [column("b")], [("new",)])).handle == "t3"
    assert (await branch.rows("t2"), await branch.rows("t3")) == ([(2,)], [("new",)])
    assert await opened.rows("t3") == [(3,)]
    branch.close()
    opened.close()
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


async def test_only_the_owner_reads_the_files_of_results(tmp_path: Path) -> None:
    opened = ResultStore(tmp_path / "run")
    opened.branch(tmp_path / "other").close()
    await opened.close_for_writing()
    opened.close()
    for name in ("run", "other"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700
        assert {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / name).iterdir()} == {0o600}


async def test_a_full_disk_and_a_damaged_file_say_what_to_do(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    await kept(store, [column("a")], [("x",)])
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, limit[1]))
    try:
        with pytest.raises(StorageError, match="free space"):
            await store.keep_table(table([column("a")], [("y" * 1_000,)] * 8_000, batch=500), title="x", most=10**6)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert store.handles == ("t1",)
    assert (await kept(store, [column("a")], [("z",)])).handle == "t3"
    assert [await store.rows(each) for each in ("t1", "t3")] == [[("x",)], [("z",)]]
    store.close()
    (tmp_path / "results.duckdb").write_bytes(b"no database" * 500)
    with pytest.raises(StorageError, match="delete it"):
        ResultStore(tmp_path)
