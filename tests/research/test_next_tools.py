"""The studies of the next step of a task, and of supplier claims: halves of gold sets, ranks and counts by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from egotools.values import RankedTool, Response
from research.explanation_truth import verdict
from research.next_tools import HalfDone, completing_ranks, half_done, sample
from retrieval.query.request import Request

ROWS = (
    {"id": "a", "query": "one", "tools": ["x"]},
    {"id": "b", "query": "ordered", "tools": ["x", ["y", "z"], "w"], "split": "dev"},
    {"id": "c", "query": "main", "tools": ["main", "first"], "main": ["main"]},
    {"id": "d", "query": "kept", "tools": ["x", "y"], "split": "test"},
    {"id": "e", "query": "only main tools", "tools": ["x", "y"], "main": ["x", "y"]},
)


class Fixed:
    """A retriever with one ranking, which knows the executed tools."""

    name = "fixed"

    def retrieve(self, request: Request) -> Response:
        """The first k of four tools that were not executed; with executed tools ``w`` is the first."""
        order = [tool for tool in ("w" if request.done else "x", "x", "y", "w") if tool not in request.done]
        tools = tuple(
            RankedTool(id=tool, rank=rank, score=0.0) for rank, tool in enumerate(dict.fromkeys(order), start=1)
        )
        return Response(tools=tools[: request.k], snapshot_id="", preset="fixed")


def test_the_first_half_is_done_and_what_is_not_main_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    found = {one.id: (one.done, one.rest) for one in half_done(file, "dev")}
    assert found == {"b": (("x",), (("y", "z"), ("w",))), "c": (("first",), (("main",),))}
    assert {one.id for one in half_done(file)} == {"b", "c", "d"}


def test_ranks_without_and_with_executed_tools() -> None:
    one = HalfDone(id="b", text="ordered", done=("x",), rest=(("w",),))
    never = HalfDone(id="f", text="never", done=("x",), rest=(("w",), ("v",)))
    ranks = completing_ranks(Fixed(), [one, never])
    assert ranks[:, 0].tolist() == [1, 0], "y, w against w, y"
    assert np.all(ranks[:, 1] > 10)


def test_a_sample_does_not_depend_on_the_order() -> None:
    every = [HalfDone(id=name, text="", done=("x",), rest=(("y",),)) for name in "abcdef"]
    assert sample(every, 3) == sample(every[::-1], 3) and len(sample(every, 0)) == 6


def test_claims_are_counted() -> None:
    rows = [{"request": "a", "true": True, "useful": True}, {"request": "a", "true": True, "useful": False}]
    rows.append({"request": "b", "true": False, "useful": True})
    assert verdict(rows) == "3 claims in 2 answers: 2 true, 1 true and useful (33%)"
    assert verdict([]) == "no claims"
