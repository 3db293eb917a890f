"""Failures, budgets, cancellation, calls at once, and what is refused before any call."""

import asyncio
import json
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import pytest

from ontology.errors import InvalidArgumentError
from planners.dfs import resolver
from planners.dfs.executor import Execution, answer_graph, execute
from planners.dfs.resolver import Entity, Step
from planners.query.domain import read_domain
from planners.query.query_graph import QueryGraph, words_of
from tests.harness.waiting import until
from tests.planners.dfs.memory_resolver import MemoryResolver, day

Event = dict[str, Any]
DOMAIN = read_domain("personal")
TODAY = date(2025, 2, 1)
VARS = {"e": "Email", "p": "Person", "p1": "Person", "p2": "Person", "self": "Self", "f": "File", "dir": "Folder", "ev": "Event", "d": "Date"}  # fmt: skip
TWO_PEOPLE = ("ev", "p1 attended ev; p2 attended ev; p1.name = Person 3; p2.name = Person 6")


def graph_of(returned: str, constraints: str) -> QueryGraph:
    """The graph of ``e to self; p.name = Jane Doe``: variables named as the paper names them."""
    found: list[dict[str, Any]] = []
    for text in constraints.split("; "):
        first, second, third = text.split(" ", 2)
        if "." in first:
            var, name = first.split(".")
            found.append({"kind": "filter", "var": var, "field": name, "op": second, "value": third})
        else:
            found.append({"kind": "edge", "from": first, "edge": second, "to": third})
    named = dict.fromkeys(each[key] for each in found for key in ("from", "to", "var") if key in each)
    form = {"action": "find", "return_var": returned, "vars": {var: VARS[var] for var in named}, "constraints": found}
    return QueryGraph.model_validate(form)


def mailbox() -> MemoryResolver:
    """300 mails of ten people, each second one with a file, and twenty events of two people each."""
    mails, people, events = [f"e{at}" for at in range(300)], [f"p{at}" for at in range(10)], range(20)
    tables: dict[str, dict[str, dict[str, Any]]] = {
        "Email": {mail: {"sent_at": at} for at, mail in enumerate(mails)},
        "Person": {each: {"name": f"Person {each[1:]}"} for each in people},
        "File": {f"f{at}": {"name": f"{at}.pdf"} for at in range(150)},
        "Folder": {f"dir{at}": {"name": f"dir{at}"} for at in range(5)},
        "Event": {f"ev{at}": {"start": at} for at in events},
    }
    pairs = {
        ("Email", "from", "Person"): {(mail, f"p{at % 10}") for at, mail in enumerate(mails)},
        ("Email", "to", "Self"): {(mail, "self") for mail in mails},
        ("Email", "sent_on", "Date"): {
            (mail, day((date(2025, 1, 1) + timedelta(at)).isoformat())) for at, mail in enumerate(mails)
        },
        ("Email", "has_attachment", "File"): {(f"e{2 * at}", f"f{at}") for at in range(150)},
        ("File", "parent", "Folder"): {(f"f{at}", f"dir{at % 5}") for at in range(150)},
        ("Person", "attended", "Event"): {(f"p{(at + more) % 10}", f"ev{at}") for at in events for more in (0, 3)},
    }
    return MemoryResolver(DOMAIN, tables, pairs)


async def run(graph: QueryGraph, data: MemoryResolver, events: list[Event] | None = None) -> Execution:
    seen: list[Event] = [] if events is None else events
    return await execute(graph, DOMAIN, data, today=TODAY, observe=seen.append)


def missing(execution: Execution) -> list[str]:
    return [words_of(each) for one in execution.missing for each in one.constraints]


async def test_what_a_failed_call_leaves_out_is_said() -> None:
    data = mailbox()
    graph = graph_of("e", "e to self; e sent_on d; d.value = 2025-02-01/2025-03-01; e has_attachment f; f parent dir")
    whole = await run(graph, data)
    data.broken = {"File parent Folder", "Folder ← parent File", "Folder"}
    events: list[Event] = []
    partial = await run(graph, data, events)
    assert partial.count == whole.count == 14  # each file has a folder
    assert missing(partial) == ["f parent dir"] and "out of order" in partial.missing[0].reason
    assert "dir" not in partial.candidates
    written = json.loads(json.dumps(partial.to_json()))
    assert [each["missing"] for each in events if each["event"] == "BranchFailed"] == written["missing"]
    assert [each["id"] for each in written["answer"]] == [each.id for each in partial.answer]


async def test_a_date_that_cannot_be_read_is_left_out() -> None:
    graph = graph_of("e", "e from p; p.name = Person 1; e sent_on d; d.value = whenever")
    execution = await run(graph, mailbox())
    assert missing(execution) == ["e sent_on d", "d.value = whenever"]
    assert "whenever: not a date expression" in execution.missing[0].reason and execution.count == 30
    alone = graph_of("d", "e sent_on d; d.value = whenever")
    execution = await run(alone, mailbox())
    assert (execution.count, len(missing(execution))) == (None, 2)


async def test_a_budget_ends_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver, "MOST_ROWS", 1)
    execution = await run(graph_of("p2", "p1 attended ev; p2 attended ev; p1.name = Person 3"), mailbox())
    assert execution.count is None and execution.totals.calls <= 2
    assert any("budget of 1 rows" in each.reason for each in execution.missing)
    assert set(missing(execution)) == {"p1 attended ev", "p2 attended ev", "p1.name = Person 3"}


async def test_names_like_one_that_nobody_has_are_told() -> None:
    graph = graph_of("e", "e from p; p.name = Persn 7")
    found = await answer_graph(graph, DOMAIN, mailbox(), today=date(2025, 1, 1))
    assert found["count"] == 0 and "Person 7" in found["near"]


class Waiting(MemoryResolver):
    """Follows edges only when it is let go on."""

    def __init__(self) -> None:
        data = mailbox()
        super().__init__(DOMAIN, data.tables, data.pairs)
        self.go = asyncio.Event()
        self.at_once = 0

    async def follow(self, step: Step, sources: Sequence[str]) -> Sequence[tuple[str, Entity]]:
        self.at_once += 1
        try:
            await self.go.wait()
        finally:
            self.at_once -= 1
        return await super().follow(step, sources)


async def test_independent_calls_are_made_at_once() -> None:
    data = Waiting()
    task = asyncio.create_task(run(graph_of(*TWO_PEOPLE), data))
    await until(lambda: data.at_once == 2)
    data.go.set()
    assert (await task).count == 2


async def test_a_cancelled_execution_leaves_no_task_and_makes_no_further_call() -> None:
    data, before, events = Waiting(), asyncio.all_tasks(), list[Event]()
    task = asyncio.create_task(run(graph_of(*TWO_PEOPLE), data, events))
    await until(lambda: data.at_once == 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before and data.at_once == 0
    calls = len(data.asked)
    data.go.set()
    await asyncio.sleep(0)
    assert len(data.asked) == calls and not any(each["event"] == "Done" for each in events)


@pytest.mark.parametrize(
    ("returned", "constraints", "said"),
    [
        ("e", "e from p; p.age = 3", "no field age"),
        ("e", "e from p; e.ordinal = umpteenth", "is no ordinal"),
        ("d", "", "nobody can list"),
    ],
)
async def test_a_bad_graph_is_refused_before_any_call(returned: str, constraints: str, said: str) -> None:
    form = {"action": "find", "return_var": "d", "vars": {"d": "Date"}}
    graph, data = graph_of(returned, constraints) if constraints else QueryGraph.model_validate(form), mailbox()
    with pytest.raises(InvalidArgumentError, match=said):
        await run(graph, data)
    assert data.asked == []
