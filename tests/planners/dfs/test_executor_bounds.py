"""Failures, budgets, cancellation, calls at once, and what is refused before any call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest

from ontology.errors import InvalidArgumentError
from planners.dfs import Domain, executor
from planners.dfs.execution.execution import Execution, words_of
from planners.dfs.execution.execution_events import (
    MOST_SHOWN,
    BranchFailed,
    Called,
    Done,
    EdgeTraversed,
    Event,
    Filtered,
    Intersected,
    Pruned,
    SetResolved,
    VariableEntered,
)
from planners.dfs.execution.execution_json import event_json, execution_json
from planners.dfs.execution.executor_settings import ExecutorSettings
from planners.dfs.execution.work import Work
from planners.dfs.executor import execute
from planners.dfs.query_graph import FilterConstraint, QueryGraph
from planners.dfs.resolver import Entity, Step
from tests.harness.waiting import until
from tests.planners.dfs.memory_resolver import MemoryResolver, date_range
from tests.planners.dfs.personal_tables import DOMAIN, graph_of, personal_tables

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
    assert [each.missing for each in events if isinstance(each, BranchFailed)] == list(partial.missing)
    written = json.loads(json.dumps([execution_json(partial), *map(event_json, events)]))
    assert written[0]["missing"][0]["constraints"] == ["f parent dir"]
    assert [each["id"] for each in written[0]["answer"]] == [each.id for each in partial.answer]
    assert [each["event"] for each in written[1:]] == [type(each).__name__ for each in events]
    assert [each["missing"] for each in written[1:] if each["event"] == "BranchFailed"] == written[0]["missing"]


async def test_an_edge_that_fails_one_way_is_followed_the_other_way() -> None:
    data = personal_tables(300)
    graph = graph_of("e", "all", "e to self; e sent_on d; d.value = 2025-01-10..2025-02-10")
    whole = await run(graph, data)
    for broken in ("Date ← sent_on Email", "Self ← to Email", "Email to Self", "Email sent_on Date"):
        data.broken = {broken}
        assert (await run(graph, data)).candidates == whole.candidates
    data.broken = {"Date ← sent_on Email", "Self ← to Email"}
    listed = await run(graph, data)  # all mails are, as the last resort, and each is followed forward
    assert listed.candidates == whole.candidates != {} and not listed.missing
    assert [call.what for call in listed.calls if call.kind == "find"] == ["Email"]
    data.broken |= {"Email"}
    events: list[Event] = []
    nothing = await run(graph, data, events)
    assert [each.missing for each in events if isinstance(each, BranchFailed)] == list(nothing.missing)
    assert (nothing.count, nothing.answer, nothing.candidates) == (None, (), {})
    assert set(missing(nothing)) == {words_of(each) for each in graph.constraints}


@pytest.mark.parametrize("order", ["selective", "paper"])
async def test_a_listed_type_of_which_no_constraint_holds_is_no_answer(order: str) -> None:
    data = personal_tables(100)
    data.broken = {"Person ← from Email", "Email from Person"}
    execution = await run(graph_of("e", "all", "e from p; p.name = Person 1"), data, order=order)
    assert (execution.count, execution.answer, execution.candidates) == (None, (), {})
    assert sorted(missing(execution)) == ["e from p", "p.name = Person 1"]


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
    times = [each.fields["at"] for each in every.answer]
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


async def test_what_was_found_before_a_budget_ended_is_a_partial_answer() -> None:
    data = personal_tables(300)
    graph = graph_of("e", "all", "e from p; p.name = Person 1; e has_attachment f; f parent dir")
    partial = await run(graph, data, max_calls=2)
    assert partial.count == len((await run(graph_of("e", "all", "e from p; p.name = Person 1"), data)).answer)
    assert missing(partial) == ["e has_attachment f", "f parent dir"]


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


@pytest.mark.parametrize("order", ["selective", "paper"])
async def test_independent_branches_are_resolved_at_once_within_the_bound(order: str) -> None:
    for bound in (1, 2):
        data = Waiting(personal_tables(300))
        task = asyncio.create_task(run(graph_of(*TWO_PEOPLE), data, order=order, concurrent_calls=bound))
        await until(lambda data=data, bound=bound: data.at_once >= bound)  # type: ignore[misc]
        data.go.set()
        assert (await task).count is not None
        assert data.most_at_once == bound


@pytest.mark.parametrize("order", ["selective", "paper"])
async def test_a_cancelled_execution_leaves_no_task_and_makes_no_further_call(order: str) -> None:
    data = Waiting(personal_tables(300))
    before = asyncio.all_tasks()
    events: list[Event] = []
    task = asyncio.create_task(run(graph_of(*TWO_PEOPLE), data, events, order=order))
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
    assert not any(isinstance(each, Done) for each in events)


async def test_a_bug_of_a_resolver_is_raised_and_leaves_no_task() -> None:
    class Broken(Waiting):
        async def find(self, kind: str, filters: Sequence[FilterConstraint]) -> Sequence[Entity]:
            if filters[0].value == "Person 4":
                await until(lambda: self.at_once)
                raise KeyError("bug")
            return await super().find(kind, filters)

    before = asyncio.all_tasks()
    with pytest.raises(BaseExceptionGroup) as raised:
        await run(graph_of(*TWO_PEOPLE), Broken(personal_tables(300)))
    assert raised.group_contains(KeyError)
    assert asyncio.all_tasks() == before


async def test_a_step_is_not_followed_twice_from_the_same_source() -> None:
    data = personal_tables(300)
    graph = graph_of("p1", "all", "p1 attended ev; p2 attended ev; p2.name = Person 3; e1 from p2; e2 from p1")
    await run(graph, data)
    followed = [(step, source) for kind, step, sources in data.asked if kind == "follow" for source in sources]
    assert len(followed) == len(set(followed))
    senders = [len(sources) for kind, step, sources in data.asked if kind == "follow" and step.target == "Email"]
    assert len(senders) == 2


@pytest.mark.parametrize("order", ["selective", "paper"])
async def test_branches_that_ask_the_same_at_once_share_the_answer_or_the_failure(order: str) -> None:
    graph = graph_of("ev", "all", "p1 attended ev; p2 attended ev; p1.name = Person 3; p2.name = Person 3")
    data = Waiting(personal_tables(300))
    data.go.set()
    answered = await run(graph, data, order=order)
    assert answered.count == 0  # two variables of one type, and one person
    assert [each[0] for each in data.asked if each[0] != "count"] == ["find", "follow"]
    data = Waiting(personal_tables(300))
    data.go.set()
    data.broken = {"Person"}
    failed = await run(graph, data, order=order)
    assert [each[:2] for each in data.asked].count(("find", "Person")) == 1
    assert "p1.name = Person 3" in missing(failed) and "p2.name = Person 3" in missing(failed)


@pytest.mark.parametrize(("files", "first"), [("f.name = report-7.pdf", "File"), ("f.extension = pdf", "Person")])
async def test_the_branch_with_the_fewest_rows_by_the_counts_goes_first(files: str, first: str) -> None:
    data = personal_tables(3_000)
    execution = await run(graph_of("e", "all", f"e from p; e has_attachment f; p.name = Person 5; {files}"), data)
    assert next(each for each in data.asked if each[0] == "find")[1] == first
    assert {call.what for call in execution.calls if call.kind == "count"} >= {"Email", "Person.name = Person 5"}


async def test_where_the_search_for_witnesses_meets_its_bound_nothing_is_lost_and_it_is_said() -> None:
    graph = graph_of("p1", "all", "p1 attended ev; p2 attended ev; ev occurred_on d; d.value = 2024-01-01..2024-06-01")
    data = personal_tables(300)
    whole, bounded = await run(graph, data), await run(graph, data, max_witness_steps=1)
    assert (whole.exact, bounded.exact) == (True, False)
    assert {each.id for each in bounded.answer} >= {each.id for each in whole.answer} != set()
    assert execution_json(bounded)["exact"] is False


def endless() -> tuple[QueryGraph, MemoryResolver]:
    """Twelve different mails of somebody who has eleven: nothing answers, which a search finds out in days."""
    plain = personal_tables(300)
    tables = {**plain.tables, "Email": {f"m{at}": {"at": "2025-01-01"} for at in range(11)}}
    pairs = {**plain.pairs, ("Email", "from", "Person"): {(mail, "p1") for mail in tables["Email"]}}
    data = MemoryResolver(DOMAIN, tables, pairs)
    mails = [f"e{at}" for at in range(12)]
    constraints: list[dict[str, str]] = [{"kind": "edge", "from": each, "edge": "from", "to": "p"} for each in mails]
    constraints.append({"kind": "filter", "var": "p", "field": "name", "op": "=", "value": "Person 1"})
    kinds = {"p": "Person", **dict.fromkeys(mails, "Email")}
    given = {"action": "find", "return_var": "p", "vars": kinds, "constraints": constraints}
    return QueryGraph.model_validate(given), data


async def test_the_bound_of_time_holds_in_the_search_for_witnesses() -> None:
    graph, data = endless()
    execution = await run(graph, data, max_seconds=0.2, max_witness_steps=10**12)
    assert (execution.exact, execution.count) == (False, 1)


async def test_the_search_for_witnesses_does_not_hold_up_the_event_loop_and_ends_with_its_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Work] = []

    def watched(steps: int, deadline: float) -> Work:
        made.append(Work(steps, deadline))
        return made[-1]

    monkeypatch.setattr(executor, "Work", watched)
    graph, data = endless()
    task = asyncio.create_task(run(graph, data, max_witness_steps=10**12))
    await until(lambda: made and made[0].steps < 10**12 - 10_000)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(asyncio.get_running_loop().shutdown_default_executor(), 4)  # waits for its threads


async def test_events_tell_the_run_in_its_order() -> None:
    data = personal_tables(300)
    events: list[Event] = []
    execution = await run(graph_of("e", "one", "e from p; p.name = Person 1; e.ordinal = last"), data, events)
    size = len((await run(graph_of("e", "all", "e from p; p.name = Person 1"), data)).answer)
    assert [each for each in events if not isinstance(each, Called)] == [
        VariableEntered("e", "Email"),
        VariableEntered("p", "Person"),
        SetResolved("p", 1),
        EdgeTraversed("p", "from", "e", 1, size),
        SetResolved("e", size),
        Filtered("e", size, 1),
        Pruned({"e": 1, "p": 1}),
        Done(1, 2, size + 1),
    ]
    shown = {type(each).__name__: each.first for each in events if isinstance(each, SetResolved | Filtered)}
    mails = await run(graph_of("e", "all", "e from p; p.name = Person 1"), data)
    assert shown["SetResolved"] == tuple(sorted(mails.answer, key=lambda one: one.id))[:MOST_SHOWN]
    assert shown["Filtered"] == execution.answer
    pruned = next(each for each in events if isinstance(each, Pruned))
    assert pruned.first == {var: tuple(found) for var, found in execution.candidates.items()}
    calls = [each.call for each in events if isinstance(each, Called)]
    assert tuple(calls) == execution.calls
    assert [(each.kind, each.what, each.sources, each.rows) for each in calls] == [
        ("find", "Person.name = Person 1", 0, 1),
        ("follow", "Person ← from Email", 1, size),
    ]
    assert (execution.totals.calls, execution.totals.rows) == (2, size + 1)
    assert 0 <= execution.totals.own_ms <= execution.totals.wall_ms


async def test_a_further_branch_is_intersected_or_filtered_and_said() -> None:
    events: list[Event] = []
    await run(graph_of(*TWO_PEOPLE), personal_tables(300), events)
    assert [each.var for each in events if isinstance(each, Intersected)] == ["ev"]


@pytest.mark.parametrize(
    ("constraints", "settings", "said"),
    [
        ("e from p; p.age = 3", {}, "no field age"),
        ("e from p; e.ordinal = umpteenth", {}, "is no ordinal"),
        ("e from p; p attended ev; ev location pl", {"max_depth": 2}, "3 edges deep, and at most 2"),
    ],
)
async def test_a_bad_graph_is_refused_before_any_call(constraints: str, settings: dict[str, Any], said: str) -> None:
    data = personal_tables(20)
    with pytest.raises(InvalidArgumentError, match=said):
        await run(graph_of("e", "all", constraints), data, **settings)
    assert data.asked == []


async def test_an_ordinal_of_a_date_and_a_filter_of_the_user() -> None:
    fields = {"ordinal": {"operators": ["="], "kind": "ordinal"}, "name": {"operators": ["="]}}
    plain = DOMAIN.model_dump()
    domain = Domain.model_validate(
        {
            **plain,
            "types": {
                **plain["types"],
                **{name: {**plain["types"][name], "fields": fields} for name in ("Date", "Self")},
            },
        }
    )
    data = personal_tables(300)
    graph = graph_of("d", "one", "e sent_on d; e from p; p.name = Person 1; d.ordinal = last")
    execution = await execute(graph, domain, data, resolve_date=date_range)
    mine = {mail for mail, person in data.pairs["Email", "from", "Person"] if person == "p1"}
    days = [day for mail, day in data.pairs["Email", "sent_on", "Date"] if mail in mine]
    assert [each.id for each in execution.answer] == [max(days)]
    with pytest.raises(InvalidArgumentError, match="self: the user is one entity and takes no filter"):
        await execute(graph_of("e", "all", "e to self; self.name = me"), domain, data, resolve_date=date_range)


async def test_dates_alone_are_refused() -> None:
    graph = QueryGraph.model_validate({"action": "find", "return_var": "d", "vars": {"d": "Date"}})
    with pytest.raises(InvalidArgumentError, match="nobody can list"):
        await run(graph, personal_tables(20))


@pytest.mark.parametrize("order", ["selective", "paper"])
async def test_what_several_calls_say_of_an_entity_is_joined(order: str) -> None:
    data = personal_tables(300)
    data.carried = set()  # edges give identifiers alone
    graph = graph_of("e", "one", "e from p; p.name = Person 1; e.subject contains about; e.ordinal = last")
    execution = await run(graph, data, order=order)
    assert [call.kind for call in execution.calls if call.rows] == ["find", "follow", "find"]
    mine = [mail for mail, person in data.pairs["Email", "from", "Person"] if person == "p1"]
    assert [each.id for each in execution.answer] == [max(mine, key=lambda mail: data.tables["Email"][mail]["at"])]
    assert execution.answer[0].fields["subject"]


@pytest.mark.parametrize("order", ["selective", "paper"])
async def test_a_filter_by_text_means_what_the_tool_finds_by_it(order: str) -> None:
    class Lenient(MemoryResolver):
        async def find(self, kind: str, filters: Sequence[FilterConstraint]) -> Sequence[Entity]:
            alike = [each.model_copy(update={"op": "contains"}) for each in filters]
            return await super().find(kind, alike)

    exact = personal_tables(300)
    data = Lenient(DOMAIN, exact.tables, exact.pairs)
    graph = graph_of("e", "all", "e sent_on d; d.value = 2025-01-10..2025-03-10; e from p; p.name = Person")
    execution = await run(graph, data, order=order)
    assert {each.fields["name"] for each in execution.candidates["p"]} > {"Person 1"}


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
        sizes.append([each.size for each in events if isinstance(each, SetResolved)])
    assert sizes[0] == sizes[1]


def test_events_cut_long_texts_of_entities() -> None:
    mail = Entity("m", {"content": "x" * 10_000, "to": ["y" * 10_000], "size": 10_000, "read": None})
    (shown,) = event_json(SetResolved("e", 1, (mail,)))["first"]
    assert shown["id"] == "m" and shown["fields"]["size"] == 10_000 and shown["fields"]["read"] is None
    assert [len(shown["fields"][name]) for name in ("content", "to")] == [500, 500]
    assert event_json(Pruned({"e": 1}, {"e": (mail,)}))["first"] == {"e": [shown]}
