"""Rows on the disk: what is read is what was appended, in the order of groups; no file is left behind."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from datagen.run.stored_rows import stored_rejections, stored_requests
from datagen.synthetic_request import RejectedRequest, SampleValue, SyntheticRequest, Verdict
from datagen.tool_path import PathEdge, ToolPath
from ontology.errors import StorageError

EDGE = PathEdge(kind="R-P", source="a", target="b", output="id", parameter="a_id", confidence=0.1 + 0.2, reason="so")


def request(number: int, request_class: str = "single-intent") -> SyntheticRequest:
    return SyntheticRequest(
        id=f"r{number}",
        text=f"Who’s paid №{number}? \ud83d",
        request_class=request_class,
        path=ToolPath(tools=("a", "b"), edges=(EDGE,), shape="chain", alternatives=(("c",), ())),
        values=(SampleValue(tool="a", parameter="p", value="Ann"),),
        generator="rules.v2",
        verdicts=(Verdict(check="class", passed=True, reason="it asks one thing", by="rules.v1"),),
    )


def test_requests_are_read_in_the_order_of_their_classes(tmp_path: Path) -> None:
    rows = stored_requests(["multi-intent", "single-intent"], tmp_path)
    made = [request(0), request(1, "multi-intent"), request(2), request(3, "multi-intent")]
    for each in made:
        rows.append(each, each.request_class)
    expected = [made[1], made[3], made[0], made[2]]
    assert list(rows) == expected
    assert rows == tuple(expected) and rows != expected[:3] and rows != [*expected[:3], request(4)]
    assert [rows[0], rows[3], rows[-1], *rows[1:3]] == [expected[0], expected[3], expected[3], *expected[1:3]]
    with pytest.raises(IndexError):
        rows[4]


def test_rejections_are_read_as_they_were(tmp_path: Path) -> None:
    rejected = RejectedRequest(
        stage="validate", subject=("a", "b"), reason="class: no", request_class="x", text="\ud83d"
    )
    rows = stored_rejections(tmp_path)
    rows.append(rejected)
    assert rows == (rejected,)
    assert not any(tmp_path.iterdir()), "the file has no name, so a killed process leaves none"


def test_a_full_disk_is_a_typed_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_file: int, _rest: object, _place: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    rows = stored_rejections(tmp_path)
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(StorageError, match="No space left"):
        rows.append(RejectedRequest(stage="path", subject=(), reason="none"))
    assert len(rows) == 0
