"""Failures, budgets, cancellation, calls at once, and what is refused before any call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest

from ontology.errors import InvalidArgumentError
from planners.dfs.executor import Execution, execute
from planners.dfs.resolver import Entity, ExecutorSettings, Step
from planners.query.query_graph import FilterConstraint, QueryGraph, words_of
from tests.harness.waiting import bounded_work, until
from tests.planners.dfs.memory_resolver import MemoryResolver, date_range
from tests.planners.dfs.personal_tables import DOMAIN, graph_of, personal_tables

Event = dict[str, Any]
MOST_SHOWN = 50
FOLDERS = ("dir", "all", "f parent dir; e has_attachment f; e from p; p.name = Person 5")
TWO_PEOPLE = ("ev", "all", "p1 attended ev; p2 attended ev; p1.name = Person 3; p2.name = Person 4")


async def run(graph: QueryGraph, data: MemoryResolver, events: list[Event] | None = None, **settings: Any) -> Execution:
    seen: list[Event] = [] if events is None else events
    limits = ExecutorSettings.model_validate(settings)
    return await execute(graph, DOMAIN, data, resolve_date=date_range, settings=limits, observe=seen.append)


def missing(execution: Execution) -> list[str]:
    return [words_of(each) for one in execution.missing for each in one.constraints]


async def test_a_failed_call_ends_its_branch_and_the_answer_says_what_it_lacks() -> None:
    data = personal_tables(300)
    graph = graph_of(
        "e", "all", "e to self; e sent_on d; d.value = 2024-02-01..2025-06-01; e has_attachment f; f parent dir"
    )
    whole = await run(graph, data)
    data.broken = {"File parent Folder", "Folder ← parent File", "Folder"}
    events: list[Event] = []
    partial = await run(graph, data, events)
    assert partial.count == whole.count != 0  # each file has a folder
    assert missing(partial) == ["f parent dir"]
    assert "out of order" in str(partial.missing[0])
    assert "dir" not in partial.candidates
    written = json.loads(json.dumps(partial.to_json()))
    assert written["missing"][0]["constraints"] == ["f parent dir"]
    assert [each["id"] for each in written["answer"]] == [each.id for each in partial.answer]
    assert json.loads(json.dumps(events)) == events
    assert [each["missing"] for each in events if each["event"] == "BranchFailed"] == written["missing"]


async def test_a_date_that_cannot_be_read_ends_its_branch() -> None:
    def unread(each: FilterConstraint) -> tuple[date | None, date | None]:
        raise InvalidArgumentError("no date", subject=str(each.value))

    data = personal_tables(100)
    graph = graph_of("e", "all", "e from p; p.name = Person 1; e sent_on d; d.value = whenever")
    execution = await execute(graph, DOMAIN, data, resolve_date=unread)
    assert missing(execution) == ["e sent_on d", "d.value = whenever"]
    assert "whenever: no date" in execution.missing[0].reason
    assert execution.count and "d" not in execution.candidates
    alone = await execute(graph_of("d", "all", "e sent_on d; d.value = whenever"), DOMAIN, data, resolve_date=unread)
    assert (alone.count, len(missing(alone))) == (None, 2)


async def test_count_of_nothing_is_0_and_find_of_nothing_is_empty() -> None:
    data = personal_tables(50)
    for action in ("find", "count"):
        graph = graph_of("e", "all", "e from p; p.name = Nobody", action=action)
        execution = await run(graph, data)
        assert (execution.count, execution.answer, execution.missing) == (0, (), ())
        assert execution.candidates == {"e": (), "p": ()}


async def test_one_of_several_is_the_first_in_order_with_their_number() -> None:
    data = personal_tables(300)
    every = await run(graph_of("e", "all", "e from p; p.name = Person 1"), data)
    one = await run(graph_of("e", "one", "e from p; p.name = Person 1"), data)
    count = await run(graph_of("e", "one", "e from p; p.name = Person 1", action="count"), data)
    assert every.count and every.count > 1
    assert (one.answer, one.count) == (every.answer[:1], every.count)
    assert (count.answer, count.count) == ((), every.count)
    times = [each.fields["sent_at"] for each in every.answer]
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"max_calls": 2}, "budget of 2 calls"), ({"max_rows": 3}, "budget of 3 rows")],
)
async def test_a_budget_ends_the_branches_that_are_left(settings: dict[str, Any], reason: str) -> None:
    data = personal_tables(300)
    execution = await run(graph_of("p2", "all", "p1 attended ev; p2 attended ev; p1.name = Person 3"), data, **settings)
    assert execution.count is None
    assert any(reason in each.reason for each in execution.missing)
    assert set(missing(execution)) == {"p1 attended ev", "p2 attended ev", "p1.name = Person 3"}
    assert execution.totals.calls <= 2


class Waiting(MemoryResolver):
    """Follows edges only when it is let go on."""

    def __init__(self, data: MemoryResolver) -> None:
        super().__init__(DOMAIN, data.tables, data.pairs)
        self.go = asyncio.Event()
        self.at_once = self.most_at_once = 0

    async def follow(self, step: Step, sources: Sequence[str]) -> Sequence[tuple[str, Entity]]:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.go.wait()
        finally:
            self.at_once -= 1
        return await super().follow(step, sources)


async def test_time_that_runs_out_ends_a_call_that_waits() -> None:
    data = Waiting(personal_tables(50))
    execution = await run(graph_of(*FOLDERS), data, max_seconds=0.05)
    assert execution.count is None
    assert all("0.05 s" in each.reason or "leads to it" in each.reason for each in execution.missing)
    assert data.at_once == 0


async def test_independent_branches_are_resolved_at_once_within_the_bound() -> None:
    for bound in (1, 2):
        data = Waiting(personal_tables(300))
        task = asyncio.create_task(run(graph_of(*TWO_PEOPLE), data, concurrent_calls=bound))
        await until(lambda data=data, bound=bound: data.at_once >= bound)  # type: ignore[misc]
        data.go.set()
        assert (await task).count is not None
        assert data.most_at_once == bound


async def test_a_cancelled_execution_leaves_no_task_and_makes_no_further_call() -> None:
    data = Waiting(personal_tables(300))
    before = asyncio.all_tasks()
    events: list[Event] = []
    task = asyncio.create_task(run(graph_of(*TWO_PEOPLE), data, events))
    await until(lambda: data.at_once == 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before
    assert data.at_once == 0
    calls = len(data.asked)
    data.go.set()
    await asyncio.sleep(0)
    assert len(data.asked) == calls
    assert not any(each["event"] == "Done" for each in events)


async def test_events_tell_the_run_in_its_order() -> None:
    data = personal_tables(300)
    events: list[Event] = []
    execution = await run(graph_of("e", "one", "e from p; p.name = Person 1; e.ordinal = last"), data, events)
    size = len((await run(graph_of("e", "all", "e from p; p.name = Person 1"), data)).answer)
    told = [{key: each[key] for key in each if key != "first"} for each in events if each["event"] != "Called"]
    assert told == [
        {"event": "VariableEntered", "var": "p", "kind": "Person"},
        {"event": "SetResolved", "var": "p", "size": 1},
        {"event": "VariableEntered", "var": "e", "kind": "Email"},
        {"event": "EdgeTraversed", "start": "p", "edge": "from", "end": "e", "sources": 1, "pairs": size},
        {"event": "SetResolved", "var": "e", "size": size},
        {"event": "Filtered", "var": "e", "before": size, "after": 1},
        {"event": "Pruned", "sizes": {"e": 1, "p": 1}},
        {"event": "Done", "count": 1, "calls": 2, "rows": size + 1},
    ]
    shown = {
        each["event"]: [one["id"] for one in each["first"]] for each in events if "var" in each and "first" in each
    }
    mails = await run(graph_of("e", "all", "e from p; p.name = Person 1"), data)
    assert shown["SetResolved"] == sorted(one.id for one in mails.answer)[:MOST_SHOWN]
    assert shown["Filtered"] == [one.id for one in execution.answer]
    pruned = next(each for each in events if each["event"] == "Pruned")
    assert pruned["first"] == execution.to_json()["candidates"]
    assert [each["call"] for each in events if each["event"] == "Called"] == execution.to_json()["calls"]
    assert [(each.kind, each.what, each.sources, each.rows) for each in execution.calls] == [
        ("find", "Person.name = Person 1", 0, 1),
        ("follow", "Person ← from Email", 1, size),
    ]
    assert (execution.totals.calls, execution.totals.rows) == (2, size + 1)
    assert 0 <= execution.totals.own_ms <= execution.totals.wall_ms


@pytest.mark.parametrize(
    ("constraints", "settings", "said"),
    [
        ("e from p; p.age = 3", {}, "no field age"),
        ("e from p; e.ordinal = umpteenth", {}, "is no ordinal"),
    ],
)
async def test_a_bad_graph_is_refused_before_any_call(constraints: str, settings: dict[str, Any], said: str) -> None:
    data = personal_tables(20)
    with pytest.raises(InvalidArgumentError, match=said):
        await run(graph_of("e", "all", constraints), data, **settings)
    assert data.asked == []


async def test_dates_alone_are_refused() -> None:
    graph = QueryGraph.model_validate({"action": "find", "return_var": "d", "vars": {"d": "Date"}})
    with pytest.raises(InvalidArgumentError, match="nobody can list"):
        await run(graph, personal_tables(20))


async def test_what_a_tool_answers_beyond_its_question_is_not_taken() -> None:
    class Talkative(MemoryResolver):
        async def follow(self, step: Step, sources: Sequence[str]) -> Sequence[tuple[str, Entity]]:
            return [*await super().follow(step, sources), ("someone else", Entity("e1"))]

    quiet = personal_tables(300)
    talkative = Talkative(DOMAIN, quiet.tables, quiet.pairs)
    graph = graph_of("e", "all", "e from p; p.name = Person 1")
    sizes = []
    for data in (quiet, talkative):
        events: list[Event] = []
        await run(graph, data, events)
        sizes.append([each["size"] for each in events if each["event"] == "SetResolved"])
    assert sizes[0] == sizes[1]


async def test_the_work_grows_with_the_rows_and_not_with_their_square() -> None:
    mails = [f"e{at}" for at in range(25_000)]
    pairs = {
        ("Email", "to", "Self"): {(mail, "self") for mail in mails},
        ("Email", "from", "Person"): {(mail, f"p{at % 500}") for at, mail in enumerate(mails)},
        ("Email", "participants", "Person"): {(mail, f"p{at % 499}") for at, mail in enumerate(mails)},
    }
    tables: dict[str, dict[str, dict[str, Any]]] = {
        "Email": {mail: {"sent_at": at} for at, mail in enumerate(mails)},
        "Person": {f"p{at}": {"name": f"Person {at}"} for at in range(500)},
    }
    data = MemoryResolver(DOMAIN, tables, pairs)
    with bounded_work():
        execution = await execute(
            graph_of("e", "all", "e to self; e from p1; e participants p2"), DOMAIN, data, resolve_date=date_range
        )
    assert execution.exact
    assert execution.count == sum(at % 500 != at % 499 for at in range(25_000))
    assert execution.totals.rows == 75_000
