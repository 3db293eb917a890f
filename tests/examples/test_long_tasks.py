"""The long tasks over the shipped and the real catalogue: what their datasheets promise."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eval.queries import LabelledQuery, read_queries
from ingest.sources import read_catalog
from scripts.bench_sets import ROOT

SHIPPED = ROOT / "examples" / "enterprise" / "benchmark" / "long_tasks.jsonl"
REAL = ROOT / "examples" / "real" / "long_tasks.jsonl"


def tasks(file: Path) -> tuple[LabelledQuery, ...]:
    return tuple(read_queries([file], split="dev").queries)


def systems(task: LabelledQuery) -> set[str]:
    return {slot[0].split("/")[0] for slot in task.slots}


@pytest.mark.parametrize("file", [SHIPPED, REAL], ids=["shipped", "real"])
class TestLongTasks:
    def test_there_are_thirty_with_texts_and_ids_of_their_own(self, file: Path) -> None:
        assert len(tasks(file)) >= 30
        assert len({task.id for task in tasks(file)}) == len({task.text for task in tasks(file)}) == len(tasks(file))
        assert {task.request_class for task in tasks(file)} == {"long-task"}

    def test_each_needs_five_to_twelve_tools_of_several_systems(self, file: Path) -> None:
        for task in tasks(file):
            assert 5 <= len(task.slots) <= 12, task.id
            assert len(systems(task)) >= 2, task.id
            assert all(len(set(slot)) == len(slot) for slot in task.slots), task.id
            assert len(set(task.slots)) == len(task.slots), task.id

    def test_no_request_names_its_tools(self, file: Path) -> None:
        for task in tasks(file):
            names = {tool.split("/", 1)[1] for tool in task.tools}
            assert not {name for name in names if "_" in name or name.lower() != name} & set(task.text.split()), task.id


def test_every_tool_of_a_shipped_task_exists() -> None:
    known = {tool.id for tool in read_catalog([str(ROOT / "examples" / "enterprise" / "catalog")]).tools}
    assert not {tool for task in tasks(SHIPPED) for tool in task.tools} - known


def test_every_tool_of_a_real_task_exists() -> None:
    folder = Path(os.environ.get("EGOTOOLS_REAL", ROOT / "out" / "real")) / "documents"
    if not folder.is_dir():
        pytest.skip(f"the real documents are not fetched: no folder {folder}")
    known = {tool.id for tool in read_catalog([str(folder)]).tools}
    assert not {tool for task in tasks(REAL) for tool in task.tools} - known
