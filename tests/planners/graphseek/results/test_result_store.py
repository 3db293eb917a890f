from __future__ import annotations

import asyncio
import resource
import stat
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontology.errors import InvalidArgumentError, NotFoundError, StorageError
from planners.graphseek.results.result import (
    Cell,
    ColumnType,
    EvictedError,
    GraphPart,
    Presentation,
    ResultColumn,
    ResultEdge,
    ResultNode,
    TableRows,
)
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.results.table_filling import TableQuery
from tests.planners.graphseek.results.stores import column, kept, table

NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
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
    shared: ResultStore,
    case: tuple[list[ResultColumn], list[tuple[Cell, ...]]],
    offset: int,
    limit: int,
    most: int,
) -> None:
    columns, rows = case

    async def run() -> None:
        result = await kept(shared, columns, rows, most=most)
        assert (result.size, result.cut) == (min(most, len(rows)), len(rows) > most)
        found = await shared.rows(result.handle, offset=offset, limit=limit)
        assert found == rows[:most][offset : offset + limit]
        assert [list(map(type, row)) for row in found] == [list(map(type, row)) for row in rows[:most][offset:][:limit]]

    asyncio.run(run())


async def test_cells_that_no_column_can_hold_are_emptied_and_told(store: ResultStore) -> None:
    columns = [column("text"), column("price", "number"), column("tier", "integer"), column("actual", "boolean")]
    rows: list[tuple[object, ...]] = [
        ("a\ud800", float("nan"), 2**70, 1),
        (5, float("inf"), "seven", "yes"),
        (["x", 1], 3, 4.5, None),
    ]
    result = await kept(store, columns, rows)  # type: ignore[arg-type]
    assert await store.rows("t1") == [("a?", None, 2.0**70, True), ("5", None, None, None), ('["x", 1]', 3, 4.5, None)]
    assert result.notes == (
        "2 cells of price are no number and were emptied.",
        "1 cells of tier are no integer and were emptied.",
        "1 cells of actual are no boolean and were emptied.",
    )


async def test_columns_of_equal_names_get_different_ones(store: ResultStore) -> None:
    result = await kept(
        store, [column("name"), column("name_2"), column("name"), column("name")], [("a", "b", "c", "d")]
    )
    assert [each.name for each in result.columns] == ["name", "name_2", "name_3", "name_4"]


async def test_graphs_and_presentations_come_back(store: ResultStore) -> None:
    await store.keep_graph(MODEL, title="around Model Z3", notes=["2 paths"])
    shown = Presentation(kind="table", of="g1", title="Graph", options={"columns": ("a", "b")})
    result = await store.keep_presentation(shown)
    assert await store.graph("g1") == MODEL
    assert await store.presentation("p2") == shown
    assert result.summary == "p2: table of g1: \"Graph\" (columns ('a', 'b'))"
    with pytest.raises(NotFoundError):
        await store.keep_presentation(Presentation(kind="graph", of="g9"))


async def test_unknown_handle_lists_those_there_are(store: ResultStore) -> None:
    with pytest.raises(NotFoundError, match="none yet"):
        store.result("t1")
    await kept(store, [column("a")], [("x",)])
    with pytest.raises(NotFoundError, match=r"Results are: t1"):
        store.result("t7")
    with pytest.raises(InvalidArgumentError, match="it is a table, not a graph"):
        await store.graph("t1")


async def test_handles_follow_the_order_of_invocations_not_of_ends(store: ResultStore) -> None:
    views = [store.for_invocation("op", {"n": n}) for n in range(4)]
    ended = []

    async def slow(view: ResultStore, steps: int) -> str:
        async def batches() -> AsyncIterator[Sequence[tuple[Cell, ...]]]:
            for step in range(steps):
                await asyncio.sleep(0.01)
                yield [(f"{steps} {step}",)]

        result = await view.keep_table(TableRows(columns=(column("a"),), batches=batches()), title="x", most=99)
        ended.append(result.handle)
        return result.handle

    async def graph(view: ResultStore) -> str:
        return (await view.keep_graph(MODEL, title="x")).handle

    handles = await asyncio.gather(slow(views[0], 9), graph(views[1]), slow(views[2], 1), slow(views[3], 4))
    assert list(handles) == ["t1", "g2", "t3", "t4"]
    assert ended == ["t3", "t4", "t1"]
    assert store.handles == ("t1", "g2", "t3", "t4")
    assert await store.rows("t4") == [(f"4 {step}",) for step in range(4)]
    assert store.made_by("t3") == ("op", {"n": 2})


async def test_results_inside_of_an_invocation_have_numbers_of_their_own(store: ResultStore) -> None:
    subtask, other = store.for_invocation("subtask", {}), store.for_invocation("read", {})
    inner = subtask.for_invocation("get_nodes", {"node_type": "Site"})
    assert (await kept(other, [column("a")], [])).handle == "t2"
    assert (await kept(inner, [column("a")], [])).handle == "t1.1"
    assert (await kept(subtask, [column("a")], [])).handle == "t1"
    assert (await kept(subtask, [column("a")], [])).handle == "t1.2"
    assert store.handles == ("t1", "t1.1", "t1.2", "t2")
    later, sooner = store.for_invocation("op", {}, number=9), store.for_invocation("op", {}, number=8)
    assert [(await kept(each, [column("a")], [])).handle for each in (sooner, later, store)] == ["t8", "t9", "t10"]


async def test_what_fails_or_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)

    async def batches() -> AsyncIterator[Sequence[tuple[Cell, ...]]]:
        yield [("a",)]
        raise StorageError("the graph died")

    with pytest.raises(StorageError, match="the graph died"):
        await store.keep_table(TableRows(columns=(column("a"),), batches=batches()), title="x", most=9)
    assert store.handles == ()

    async def endless() -> AsyncIterator[Sequence[tuple[Cell, ...]]]:
        yield [("a",)]
        await asyncio.sleep(60)

    task = asyncio.create_task(
        store.keep_table(TableRows(columns=(column("a"),), batches=endless()), title="x", most=9)
    )
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    result = await kept(store, [column("a")], [("b",)])
    assert (result.handle, await store.rows("t3")) == ("t3", [("b",)])
    tables = store._file.run(lambda c: c.execute("SELECT name FROM sqlite_master WHERE name LIKE 't%'").fetchall())
    assert tables == [("t3",)]
    store.close()


async def test_a_query_that_does_not_end_can_be_cancelled(store: ResultStore) -> None:
    endless = "WITH RECURSIVE n(c) AS (SELECT 1 UNION ALL SELECT c + 1 FROM n) SELECT c FROM n WHERE c < 0"
    query = TableQuery(columns=(column("a", "integer"),), text=endless, of=())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await store.keep_query(query, title="x", most=9)
    assert (await kept(store, [column("a")], [("b",)])).handle == "t2"
    assert await store.rows("t2") == [("b",)]


async def test_least_recently_used_results_are_evicted_and_made_again(tmp_path: Path) -> None:
    store = ResultStore(tmp_path, budget=2_500)
    rows: list[tuple[Cell, ...]] = [("x" * 98,)] * 10  # 1,000 bytes

    async def make(view: ResultStore) -> str:
        return (await kept(view, [column("a")], rows)).handle

    await make(store.for_invocation("first", {"n": 1}))
    await make(store.for_invocation("second", {"n": 2}))
    third = store.for_invocation("third", {"of": "t1"})
    assert await third.rows("t1", limit=1) == rows[:1]
    assert await make(third) == "t3"
    with pytest.raises(EvictedError) as evicted:
        await store.rows("t2")
    assert (evicted.value.handle, evicted.value.operator, evicted.value.arguments) == ("t2", "second", {"n": 2})
    assert store.result("t2").size == 10

    again = await kept(store.again("t2"), [column("a")], rows)
    assert (again.handle, again.notes) == ("t2", ("It had been evicted for space, and was computed again.",))
    assert "computed again" in again.summary
    assert await store.rows("t2", limit=1) == rows[:1]
    assert await make(store.for_invocation("fourth", {})) == "t4"
    store.close()

    opened = ResultStore(tmp_path, budget=2_500)
    evicted_now = [each for each in opened.handles if opened._records[each].evicted]
    assert len(evicted_now) == 2
    assert opened.made_by("t2") == ("second", {"n": 2})
    opened.close()


async def test_a_result_larger_than_the_budget_is_cut(tmp_path: Path) -> None:
    store = ResultStore(tmp_path, budget=1_000)
    result = await store.keep_table(table([column("a")], [("x" * 98,)] * 40, batch=5), title="x", most=99)
    assert result.cut
    assert result.size == 15
    assert result.notes == ("The table was cut at row 15: no result may be larger than 1000 bytes.",)
    store.close()


async def test_a_finished_run_is_read_branched_and_never_changed(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "run")
    for n in (1, 2, 3):
        await kept(store.for_invocation("op", {"n": n}), [column("a", "integer")], [(n,)])
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
    assert (await kept(branch.for_invocation("other", {}), [column("b")], [("new",)])).handle == "t3"
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


async def test_a_process_that_died_leaves_its_finished_results(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    await kept(store, [column("a")], [("x",)])
    filling = store._filling([column("a")], 9)
    filling.add([("half",)])
    store._file.run(lambda connection: connection.execute("COMMIT"))
    store.close()
    opened = ResultStore(tmp_path)
    assert opened.handles == ("t1",)
    assert (await kept(opened, [column("b")], [("y",)])).handle == "t2"
    assert await opened.rows("t2") == [("y",)]
    opened.close()


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
    path = store._file.path
    store.close()
    path.write_bytes(b"no database" * 500)
    with pytest.raises(StorageError, match="delete it"):
        ResultStore(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
async def test_a_table_of_the_papers_size_takes_little_memory(tmp_path: Path) -> None:
    """230,000 rows with 7 cells, within 64 MiB."""
    kinds: list[ColumnType] = ["node", "string", "string", "number", "number", "integer", "boolean"]
    memory: list[int] = []

    async def batches() -> AsyncIterator[Sequence[tuple[Cell, ...]]]:
        for start in range(0, 230_000, 1_000):
            yield [
                (f"4:{n}", f"Module {n}", f"PLANT-{n % 12}", n / 7, n / 3, n % 5, n % 2 == 0)
                for n in range(start, start + 1_000)
            ]
            memory.append(resident_bytes())

    store = ResultStore(tmp_path)
    await kept(store, [column("a")], [])  # loads the tokenizer
    columns = tuple(column(f"c{at}", kind) for at, kind in enumerate(kinds))
    before = resident_bytes()
    result = await store.keep_table(TableRows(columns=columns, batches=batches()), title="modules", most=10**6)
    assert result.size == 230_000
    assert max(memory) - before < 64 * 2**20
    assert await store.rows("t2", offset=229_999) == [
        ("4:229999", "Module 229999", "PLANT-7", 229999 / 7, 229999 / 3, 4, False)
    ]
    started = time.thread_time()
    assert store._has(store._records["t2"], "module 229998", 0.0)
    assert not store._has(store._records["t2"], "no such module", 0.0)
    assert not store._has(store._records["t2"], 0.123, 0.0)
    assert time.thread_time() - started < 3.0  # one second each
    store.close()


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
