"""Loading tables and CSV folders: what is loaded is read back; bad input is named and replaces nothing."""

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from ontology.errors import DocumentError, InvalidArgumentError, StorageError
from planners.stores import open_readable
from planners.stores.graph_schema import ReadableGraph, read_rows_of
from planners.stores.ladybug import NodeTable, RelationshipTable, csv_tables, load_graph

FAULTS = yaml.safe_load(Path(__file__).with_name("faults.yaml").read_text("utf-8"))
_R: Any = {"type": "R", "source_type": "A", "target_type": "A", "columns": (("w", "integer"),)}


async def _rows(graph: ReadableGraph, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await read_rows_of(graph, text)]


def test_names_that_the_engine_does_not_take_and_a_folder_that_is_none(tmp_path: Path) -> None:
    node = NodeTable(type="A", columns=(("k", "string"), ("K", "string")), key="k", rows=[])
    with pytest.raises(DocumentError, match=r"the table A cannot be loaded.*differ in case"):
        load_graph(tmp_path / "g", [node], [])
    with pytest.raises(DocumentError, match="there are no nodes of type A"):
        load_graph(tmp_path / "g", [], [RelationshipTable(**_R, rows=[])])
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        load_graph(tmp_path / "file" / "g", [], [])


async def test_a_graph_that_two_ask_for_at_once_is_loaded_once_for_its_owner_only(tmp_path: Path) -> None:
    source = tmp_path / "csv"
    source.mkdir()
    (source / "nodes_A.csv").write_text("k:ID\na\n", encoding="utf-8")

    async def count() -> Any:
        async with open_readable(f"csv:{source}", tmp_path / "cache") as graph:
            return await _rows(graph, "MATCH (n) RETURN count(n)")

    assert [await each for each in asyncio.as_completed([count(), count()])] == [[(1,)], [(1,)]]
    (loaded,) = (each for each in (tmp_path / "cache").rglob("*") if each.is_file())
    assert [stat.S_IMODE(each.stat().st_mode) for each in (loaded.parent, loaded)] == [0o700, 0o600]
    os.mkfifo(source / "nodes_B.csv")
    with pytest.raises(StorageError, match=r"nodes_B.csv: this is no regular file"):
        await count()


def _write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


async def test_a_folder_of_csv_is_loaded_once(tmp_path: Path) -> None:
    folder = tmp_path / "csv"
    folder.mkdir()
    _write(
        folder,
        nodes_A='k:ID,n:int,x:float,ok:boolean,d:date\n"a ""q"", \nb",1,0.5,True,2020-01-31\nc,,,,\n',
        nodes_B=":ID\n",
        relationships_R=":START_ID(A),:END_ID(A),w:int\nc,c,7\n",
    )
    with pytest.raises(DocumentError, match="each needs a name"):
        csv_tables(folder)
    _write(folder, nodes_B="id:ID(int)\n4\n")
    (folder / "relationships_R.2.csv").write_text(":START_ID(A),:END_ID(B),w:int\nc,4,8\n", encoding="utf-8")
    cache = tmp_path / "cache"
    for _ in range(2):
        async with open_readable(f"csv:{folder}", cache) as graph:
            assert await _rows(graph, "MATCH (n:A) RETURN n.k, n.n, n.x, n.ok, n.d ORDER BY n.k") == [
                ('a "q", \nb', 1, 0.5, True, "2020-01-31"),
                ("c", None, None, None, None),
            ]
            assert await _rows(graph, "MATCH (:A)-[r:R]->(b) RETURN b.id, r.w ORDER BY r.w") == [(None, 7), (4, 8)]
        assert len(list(cache.iterdir())) == 1
    _write(folder, nodes_B="id:ID(int)\n4\n5\n")
    async with open_readable(f"csv:{folder}", cache) as graph:
        assert await _rows(graph, "MATCH (n:B) RETURN count(*)") == [(2,)]


@pytest.mark.parametrize(("files", "problem"), FAULTS["files"])
def test_a_fault_in_a_csv_file_has_its_line(files: dict[str, str], problem: str, tmp_path: Path) -> None:
    (tmp_path / "g").write_bytes(b"as before")
    with pytest.raises(DocumentError, match=problem):
        load_graph(tmp_path / "g", *csv_tables(_write(tmp_path, **files)))
    assert (tmp_path / "g").read_bytes() == b"as before"


@pytest.mark.parametrize(("address", "error", "problem"), FAULTS["addresses"])
async def test_an_address_that_opens_nothing(address: str, error: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError if error == "storage" else InvalidArgumentError, match=problem) as raised:
        async with open_readable(address, tmp_path):
            pass
    assert "secret" not in str(raised.value)
