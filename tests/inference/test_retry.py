"""Retries of calls to models, and many calls at once in order."""

from collections.abc import Iterator
from threading import Event

import pytest

from inference import RetryPolicy, concurrent_map
from inference.retry import parse_retry_after


def test_back_off_doubles_up_to_the_cap() -> None:
    policy = RetryPolicy(base_delay_s=1.0, max_delay_s=5.0)
    for retry, full in enumerate([1.0, 2.0, 4.0, 5.0, 5.0]):
        delays = [policy.delay_s(retry) for _ in range(50)]
        assert full / 2 <= min(delays) <= max(delays) <= full
        assert len(set(delays)) > 1
    assert policy.delay_s(100_000) <= 5.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("3", 3.0), ("0.5", 0.5), ("-4", 0.0), ("soon", None), ("nan", None), ("", None)],
)
def test_retry_after_as_number(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header) == seconds


@pytest.mark.parametrize("concurrency", [1, 3])
def test_results_come_in_the_order_of_the_items(concurrency: int) -> None:
    later = Event()

    def function(item: int) -> int:
        if item == 0 and concurrency > 1:
            assert later.wait(30)  # the first item ends after the second
        if item == 1:
            later.set()
        return item * item

    pairs = list(concurrent_map(range(20), function, concurrency=concurrency))
    assert pairs == [(item, item * item) for item in range(20)]
    assert list(concurrent_map([], function, concurrency=concurrency)) == []


def test_a_consumer_that_stops_early_leaves_most_items_untouched() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(1_000):
            taken.append(item)
            yield item

    results = concurrent_map(items(), str, concurrency=2)
    assert next(results) == (0, "0")
    results.close()  # type: ignore[attr-defined]
    assert len(taken) <= 2 * 2 + 1


def test_an_error_of_the_function_is_raised_at_its_item() -> None:
    def function(item: int) -> int:
        if item == 2:
            raise ValueError("two")
        return item

    results = concurrent_map(range(5), function, concurrency=2)
    assert [next(results), next(results)] == [(0, 0), (1, 1)]
    with pytest.raises(ValueError, match="two"):
        next(results)
