"""Queues: which path is tried next, how often, and when a class is done."""

from __future__ import annotations

from datagen.run.queue import MAX_REJECTIONS, MAX_REQUESTS, Attempt, PathQueue
from datagen.tool_path import ToolPath


def queue(*names: str, wanted: int, seed: int = 0) -> PathQueue:
    return PathQueue("single-intent", [ToolPath(tools=(name,)) for name in names], wanted=wanted, seed=seed)


def said(attempts: list[Attempt]) -> list[tuple[str, int]]:
    return [(one.path.tools[0], one.number) for one in attempts]


def test_no_more_is_taken_than_is_needed() -> None:
    waiting = queue("a", "b", "c", "d", wanted=2)
    assert said(waiting.take(16)) == [("a", 0), ("b", 0)]
    assert said(queue("a", "b", "c", wanted=9).take(2)) == [("a", 0), ("b", 0)]


def test_a_rejected_path_is_tried_again_before_another_takes_its_place() -> None:
    waiting = queue("a", "b", "c", "d", wanted=2)
    first, second = waiting.take(16)
    waiting.reject(first)
    waiting.keep(second)
    for attempt in range(1, MAX_REJECTIONS):
        (one,) = waiting.take(16)
        assert said([one]) == [("a", attempt)]
        waiting.reject(one)
    assert said(waiting.take(16)) == [("c", 0)]


def test_a_path_that_is_finally_rejected_is_not_tried_again() -> None:
    waiting = queue("a", "b", wanted=2)
    for one in waiting.take(16):
        waiting.reject(one, final=one.path.tools == ("a",))
    assert said(waiting.take(16)) == [("b", 1)]


def test_a_path_is_worded_again_only_when_all_had_their_turn() -> None:
    waiting = queue("a", "b", wanted=100)
    order = []
    while attempts := waiting.take(1):
        order += said(attempts)
        waiting.keep(attempts[0])
    assert order == [(name, attempt) for attempt in range(MAX_REQUESTS) for name in ("a", "b")]
    assert waiting.kept == 2 * MAX_REQUESTS


def test_a_full_class_takes_nothing_and_one_of_hopeless_paths_ends() -> None:
    waiting = queue("a", wanted=1)
    waiting.keep(waiting.take(1)[0])
    assert waiting.take(16) == []
    hopeless = queue("a", "b", wanted=5)
    tried = 0
    while attempts := hopeless.take(16):
        tried += len(attempts)
        for one in attempts:
            hopeless.reject(one)
    assert (tried, hopeless.kept) == (2 * MAX_REJECTIONS, 0)


def test_of_paths_with_one_gold_set_the_first_is_taken() -> None:
    paths = [ToolPath(tools=("a", "b"), shape="chain"), ToolPath(tools=("b", "a"), shape="chain")]
    waiting = PathQueue("multi-intent", paths, wanted=5, seed=0)
    assert [one.path for one in waiting.take(16)] == paths[:1]


def test_another_class_path_attempt_or_seed_is_another_attempt() -> None:
    attempts = [
        Attempt(path=ToolPath(tools=tools), request_class=name, number=attempt, seed=seed)
        for tools in (("a",), ("b",), ("a", "b"), ("b", "a"))
        for name in ("single-intent", "multi-intent")
        for attempt in (0, 1)
        for seed in (0, 1)
    ]
    assert len({one.key for one in attempts}) == len({one.generation_seed for one in attempts}) == len(attempts)
    assert all(0 <= one.generation_seed < 2**32 for one in attempts)
