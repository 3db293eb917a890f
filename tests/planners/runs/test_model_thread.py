"""Calls of a model on threads: what is left of one that nobody waits for."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from inference.retry import RetryPolicy, TransientFailure, call_with_retries
from ontology.errors import ModelError, OverloadedError
from planners.runs.model_thread import abandoned_calls, on_a_thread
from services.web import live_runs
from services.web.live_runs import LiveRuns
from tests.harness.waiting import until


async def test_a_cancelled_call_is_not_repeated_and_counts_as_a_run_of_the_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempts, held, ends = [], Event(), []

    def attempt() -> None:
        attempts.append(1)
        held.wait()
        raise TransientFailure("busy", retry_after_s=60.0)

    def call() -> None:
        try:
            call_with_retries(attempt, policy=RetryPolicy(), subject="model")
        except ModelError as error:
            ends.append(error.problem)

    answer = on_a_thread("test", call)
    await until(lambda: bool(attempts))
    assert abandoned_calls() == 0
    answer.cancel()
    monkeypatch.setattr(live_runs, "_MOST_RUNNING", 1)
    assert abandoned_calls() == 1
    with pytest.raises(OverloadedError):
        LiveRuns(None).begin("me")
    await asyncio.sleep(0)  # the callbacks of the cancelled future
    held.set()
    await until(lambda: abandoned_calls() == 0)
    assert attempts == [1] and ends == ["busy, and nobody waits for another (1 attempt)"]
    assert LiveRuns(None).begin("me").owner == "me"
