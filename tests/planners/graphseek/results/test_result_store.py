from __future__ import annotations

import asyncio
import resource
import stat
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontology.errors import InvalidArgumentError, StorageError
from planners.graphseek.results import (
    Cell,
    ColumnType,
    ResultColumn,
    ResultStore,
    TableQuery,
)
from tests.planners.graphseek.results.stores import column, kept

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
CELLS: dict[ColumnType, st.SearchStrategy[Cell]] = {
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    "node": st.text("abc:0", max_size=4),
    "integer": st.integers(-(2**63) + 1, 2**63 - 1),
    "number": NUMBERS,
    "boolean": st.booleans(),
}
KINDS: list[ColumnType] = list(CELLS)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[ResultColumn], list[tuple[Cell, ...]]]:
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(*(st.none() | CELLS[kind] for kind in kinds)), max_size=12))
    return [column(f"c{at}", kind) for at, kind in enumerate(kinds)], rows


@settings(max_examples=25, deadline=None)
@given(case=tables(), offset=st.integers(0, 13), limit=st.integers(0, 13))
def test_rows_come_back_as_they_were(
    store: ResultStore, case: tuple[list[ResultColumn], list[tuple[Cell, ...]]], offset: int, limit: int
) -> None:
    columns, rows = case

    async def run() -> None:
        result = await kept(store, columns, rows)
        assert result.size == len(rows)
        found = await store.rows(result.handle, offset=offset, limit=limit)
        assert found == rows[offset : offset + limit]
        assert [list(map(type, row)) for row in found] == [list(map(type, row)) for row in rows[offset:][:limit]]

    asyncio.run(run())


async def test_a_table_that_fails_leaves_nothing(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    await kept(store, [column("a", "integer")], [(2**62,), (2**62,)])
    columns = (column("a", "integer"),)
    with pytest.raises(InvalidArgumentError, match="more than 64 bits"):
        await store.keep_query(TableQuery(columns=columns, text='SELECT sum(c0) FROM "t1"'), title="x", most=9)
    assert store.handles == ("t1",)
    store.close()
    with duckdb.connect(tmp_path / "results.duckdb") as file:
        assert file.execute("SHOW TABLES").fetchall() == [("records",), ("t1",)]


async def test_the_first_rows_of_a_query_are_kept(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    await kept(store, [column("a", "integer")], [(at,) for at in range(5)])
    query = TableQuery(columns=(column("b", "integer"),), text='SELECT c0 FROM "t1" ORDER BY c0 DESC')
    for most, is_cut in ((3, True), (5, False)):
        result = await store.keep_query(query, title="x", most=most)
        assert (result.size, result.cut) == (most, is_cut)
        assert await store.rows(result.handle) == [(at,) for at in (4, 3, 2, 1, 0)][:most]
    store.close()


async def test_a_finished_run_is_read_and_never_changed(tmp_path: Path) -> None:
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
        await kept(opened, [column("a")], [])
    assert await opened.rows("t3") == [(3,)]
    opened.close()
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


async def test_only_the_owner_reads_the_files_of_results(tmp_path: Path) -> None:
    opened = ResultStore(tmp_path / "run")
    await opened.close_for_writing()
    opened.close()
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "run").iterdir()} == {0o600}


async def test_a_full_disk_and_a_damaged_file_say_what_to_do(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    await kept(store, [column("a")], [("x",)])
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, limit[1]))
    try:
        with pytest.raises(StorageError, match="free space"):
            await kept(store, [column("a")], [(f"{at}" + "y" * 1_000,) for at in range(8_000)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert store.handles == ("t1",)
    assert (await kept(store, [column("a")], [("z",)])).handle == "t3"
    assert [await store.rows(each) for each in ("t1", "t3")] == [[("x",)], [("z",)]]
    store.close()
    (tmp_path / "results.duckdb").write_bytes(b"no database" * 500)
    with pytest.raises(StorageError, match="delete it"):
        ResultStore(tmp_path)
