"""The ten requests against the mock company over HTTP, with tools found through gRPC, and writes only where they are confirmed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from egotools import AsyncClient, PermissionDeniedError, Tool
from egotools.calling.http_invoker import HttpInvoker
from inference import DEFAULT_ENCODER
from planners.calling.consent import ConsentingInvoker
from planners.finding.tool_finder import ToolFinder
from tests.harness.company import CATALOG, RunningCompany, running
from tests.harness.servers import client_of
from tests.harness.stores import BuiltStore
from tests.services.company.company_requests import CompanyRequest, read_requests, value_at
from tests.services.company.planned_requests import (
    find_step,
    is_for_several,
    is_path,
    output_path,
    run_by_plans,
    run_planned,
)

pytestmark = pytest.mark.slow

REQUESTS = read_requests()
WRITING = {each.id: [call["tool"] for call in each.calls if call.get("writes")] for each in REQUESTS}
CHANGED = {
    "company-07": {"supplierId"},
    "company-08": {"facilities.bookingId", "roomCateringId"},
    "company-09": {"paymentId", "invoiceId"},
    "company-10": {"leaveRequestId"},
}
PLANNED_ELSEWHERE = {
    # the value has another name there, or a later answer has it as well
    ("company-03", 2, "ownerEmployeeId"),
    ("company-07", 3, "supplierId"),
}
OF_SEVERAL = {
    "company-03",
    "company-05",
    "company-06",
}  # they need a call for each value of a list: a plan makes one, with the first
OPEN = {
    # whether one plan leads to all tools → the requests with a value that is not known: a name of somebody whom another answer identifies
    True: {"company-02", "company-04", "company-07", "company-09"},
    False: {"company-07", "company-09"},
}


@pytest.fixture(scope="module")
def catalogue(store_of: BuiltStore) -> Path:
    """A store with the whole shipped catalogue, as ``egotools build`` makes it."""
    return store_of(str(CATALOG), DEFAULT_ENCODER)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records")


@pytest.fixture(scope="module")
def company(folder: Path) -> Iterator[RunningCompany]:
    with running(folder) as found:
        yield found


def records(folder: Path) -> dict[tuple[str, str], str]:
    """All records of the company: kind and identifier → fields."""
    with closing(sqlite3.connect(folder / "company.sqlite")) as store:
        return {(kind, id): fields for kind, id, fields in store.execute("SELECT kind, id, fields FROM records")}


class Asked:
    """Answers every question the same way, and keeps it."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.tools: list[str] = []

    async def __call__(self, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        self.tools.append(tool.id)
        return self.answer


def invoker(company: RunningCompany, asked: Asked) -> ConsentingInvoker:
    systems = ("facilities", "finance", "hr", "procurement", "sales", "travel")
    return ConsentingInvoker(HttpInvoker(servers={name: f"{company.url}/{name}" for name in systems}), asked)


async def test_the_lookup_gives_the_tool_of_each_step(catalogue: Path) -> None:
    async with client_of(catalogue) as client:
        finder = ToolFinder(client)
        steps = [(each, at, await find_step(finder, each, at)) for each in REQUESTS for at in _numbers(each)]
    ranks = [step.rank for _, _, step in steps]
    assert len(ranks) == 32
    assert None not in ranks  # every one is among the first ten
    assert sum(rank == 1 for rank in ranks) >= 21
    for request, number, step in steps:
        assert step.chosen is not None and step.chosen.id == request.calls[number - 1]["tool"], (request.id, number)


async def test_the_plan_says_from_which_earlier_call_a_value_comes(catalogue: Path) -> None:
    elsewhere, taken = set(), 0
    async with client_of(catalogue) as client:
        for request in REQUESTS:
            for number in _numbers(request):
                for name, path in request.calls[number - 1]["arguments"].items():
                    if not is_path(path):
                        continue
                    source = await _planned(client, request, number, name)
                    earlier = request.calls[int(path[1 : path.index(".")]) - 1]
                    if source == (earlier["tool"], output_path(path, is_for_several(earlier))):
                        taken += 1
                    else:
                        elsewhere.add((request.id, number, name))
    assert elsewhere <= PLANNED_ELSEWHERE
    assert taken >= 20


async def test_nothing_is_written_when_nobody_confirms(catalogue: Path, company: RunningCompany, folder: Path) -> None:
    before = records(folder)
    async with client_of(catalogue) as client:
        for request in REQUESTS:
            asked = Asked(False)
            if not WRITING[request.id]:
                continue
            with pytest.raises(PermissionDeniedError, match="nobody confirmed"):
                await run_planned(ToolFinder(client), invoker(company, asked), request)
            assert asked.tools == WRITING[request.id][:1]
            assert records(folder) == before


async def test_the_requests_have_their_answers_and_confirmed_writes_are_made(
    catalogue: Path, company: RunningCompany, folder: Path
) -> None:
    async with client_of(catalogue) as client:
        for request in REQUESTS:
            asked, before = Asked(True), records(folder)
            ids, answers = await run_planned(ToolFinder(client), invoker(company, asked), request)
            assert ids == [call["tool"] for call in request.calls]
            assert {path: value_at(answers, path) for path in request.answer} == request.answer
            assert asked.tools == WRITING[request.id]
            after = records(folder)
            changed = {kind for kind, _ in dict(after.items() ^ before.items())}
            assert changed == CHANGED.get(request.id, set())


@pytest.mark.parametrize("at_once", [True, False])
async def test_plans_of_the_service_are_executed(catalogue: Path, tmp_path: Path, at_once: bool) -> None:
    """One plan for all tools that a request speaks of: 3 of 10 have their answer; one plan after the other: 5."""
    with running(tmp_path) as company:
        async with client_of(catalogue) as client:
            for request in REQUESTS:
                asked, before = Asked(True), records(tmp_path)
                made = await run_by_plans(client, invoker(company, asked), request, at_once=at_once)
                assert made.last is not None
                is_open = request.id in OPEN[at_once]
                assert made.last.outcome == ("value missing" if is_open else "made"), request.id
                assert bool(made.last.open_inputs) == is_open
                assert made.has_answer(request) == (not is_open and request.id not in OF_SEVERAL), request.id
                changed = {kind for kind, _ in dict(records(tmp_path).items() ^ before.items())}
                assert changed == (set() if is_open else CHANGED.get(request.id, set()))
                assert asked.tools == ([] if is_open else WRITING[request.id])
                if request.id in OF_SEVERAL:
                    taken = [each for call in made.last.calls for each in call.given.taken]
                    assert max(each.rows for each in taken) > 1


def _numbers(request: CompanyRequest) -> range:
    return range(1, len(request.calls) + 1)


async def _planned(client: AsyncClient, request: CompanyRequest, number: int, name: str) -> tuple[str, str] | None:
    """Which tool, of those called before, the plan takes an input of a step from, and which output."""
    tools = [call["tool"] for call in request.calls]
    plan = await client.plan([tools[number - 1]], query=request.request, done=tools[: number - 1])
    inputs = (each for step in plan.steps if step.tool_id == tools[number - 1] for each in step.inputs)
    found = next((each for each in inputs if each.parameter == name and each.source == "done"), None)
    return (found.supplier, found.output) if found is not None else None
