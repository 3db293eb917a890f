"""Queues: which path is tried next, how often, and when a class is done."""

from __future__ import annotations

from datagen.run.queue import ATTEMPTS, MOST_A_PATH, Queue, Unit
from datagen.tool_path import ToolPath


def queue(*names: str, wanted: int, seed: int = 0) -> Queue:
    return Queue("single-intent", [ToolPath(tools=(name,)) for name in names], wanted=wanted, seed=seed)


def said(units: list[Unit]) -> list[tuple[str, int]]:
    return [(unit.path.tools[0], unit.attempt) for unit in units]


def test_no_more_is_taken_than_is_needed() -> None:
    waiting = queue("a", "b", "c", "d", wanted=2)
    assert said(waiting.take(16)) == [("a", 0), ("b", 0)]
    assert said(queue("a", "b", "c", wanted=9).take(2)) == [("a", 0), ("b", 0)]


def test_a_rejected_path_is_tried_again_before_another_takes_its_place() -> None:
    waiting = queue("a", "b", "c", "d", wanted=2)
    first, second = waiting.take(16)
    waiting.reject(first)
    waiting.keep(second)
    for attempt in range(1, ATTEMPTS):
        (unit,) = waiting.take(16)
        assert said([unit]) == [("a", attempt)]
        waiting.reject(unit)
    assert said(waiting.take(16)) == [("c", 0)]


def test_a_path_is_worded_again_only_when_all_had_their_turn() -> None:
    waiting = queue("a", "b", wanted=100)
    order = []
    while units := waiting.take(1):
        order += said(units)
        waiting.keep(units[0])
    assert order == [(name, attempt) for attempt in range(MOST_A_PATH) for name in ("a", "b")]
    assert waiting.kept == 2 * MOST_A_PATH


def test_a_full_class_takes_nothing_and_one_of_hopeless_paths_ends() -> None:
    waiting = queue("a", wanted=1)
    waiting.keep(waiting.take(1)[0])
    assert waiting.take(16) == []
    hopeless = queue("a", "b", wanted=5)
    tried = 0
    while units := hopeless.take(16):
        tried += len(units)
        for unit in units:
            hopeless.reject(unit)
    assert (tried, hopeless.kept) == (2 * ATTEMPTS, 0)


def test_of_paths_with_one_gold_set_the_first_is_taken() -> None:
    paths = [ToolPath(tools=("a", "b"), shape="chain"), ToolPath(tools=("b", "a"), shape="chain")]
    waiting = Queue("multi-intent", paths, wanted=5, seed=0)
    assert [unit.path for unit in waiting.take(16)] == paths[:1]


def test_another_class_path_attempt_or_seed_is_another_unit() -> None:
    units = [
        Unit(path=ToolPath(tools=tools), request_class=name, attempt=attempt, seed=seed)
        for tools in (("a",), ("b",), ("a", "b"), ("b", "a"))
        for name in ("single-intent", "multi-intent")
        for attempt in (0, 1)
        for seed in (0, 1)
    ]
    assert len({unit.key for unit in units}) == len({unit.generation_seed for unit in units}) == len(units)
    assert all(0 <= unit.generation_seed < 2**32 for unit in units)
