"""Results of a run: what is kept, what a full disk and a damaged file say, how long the summary of a table is."""

import resource
import stat
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontology.errors import InvalidArgumentError, StorageError
from planners.calls.model_text import prompt_tokens
from planners.graphseek.results import ResultStore, TableQuery
from tests.planners.graphseek.results.stores import column, kept


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


NASTY = st.text(st.sampled_from('a\n\t\r\u2028\u0085\u202e\x00\x1b\u200b한𝔘🚗\U000e0041"\\|\udce9'), max_size=40).map(
    lambda text: text * 200
)


@settings(max_examples=25)
@given(
    names=st.lists(NASTY, min_size=1, max_size=3),
    width=st.sampled_from([1, 7, 200]),
    cells=st.lists(NASTY, max_size=12),
    title=NASTY,
)
async def test_the_summary_of_a_table_is_bounded(
    store: ResultStore, names: list[str], width: int, cells: list[str], title: str
) -> None:
    columns = [column(f"{names[at % len(names)]}{at}") for at in range(width)]
    rows = [tuple([cell] * width) for cell in cells]
    first, second = [await store.keep_table(columns, rows, title=title) for _ in range(2)]
    summary, again = (each.summary.replace(each.handle, "t") for each in (first, second))
    assert prompt_tokens(summary) <= 600
    assert summary == again
    assert all(line.isprintable() for line in summary.split("\n"))
    known = ("t: ", "rows", "columns:", "- ", "and ", '"')
    assert all(line.startswith(known) for line in summary.split("\n"))
