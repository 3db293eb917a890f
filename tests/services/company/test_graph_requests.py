"""Requests over several systems of the company, with tools found by the service: all are answered, some are checked by its records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from egotools.calling.http_invoker import HttpInvoker
from inference import HashingEncoder
from planners.calls.tool_finder import ToolFinder
from planners.dfs.executor import date_resolver, execute
from planners.dfs.tool_resolver import ToolResolver
from planners.query.domain import read_domain
from planners.query.request_set import request_set
from services.company.records import facts
from tests.conftest import ROOT
from tests.harness.commands import Run
from tests.harness.company import CATALOG, RunningCompany
from tests.harness.servers import client_of
from tests.harness.stores import BuiltStore

_REQUESTS = ROOT / "planners" / "query" / "requests" / "enterprise.jsonl"
_SYSTEMS = ("finance", "hr", "procurement", "sales", "travel")


@pytest.fixture(scope="module")
def store(store_of: BuiltStore) -> Path:
    return store_of(str(CATALOG), HashingEncoder().name)


def asked(number: str) -> dict[str, Any]:
    lines = map(json.loads, _REQUESTS.read_text(encoding="utf-8").splitlines())
    graph: dict[str, Any] = next(line["graph"] for line in lines if line["id"] == f"enterprise-{number}")
    return graph


def manager(company: RunningCompany, employee: str) -> str | None:
    """The managing director has none, for which ``hr/getManager`` answers 404."""
    found: str | None = company.ask("hr/getEmployee", employeeId=employee).get("managerId")
    return found


def supervisors_of_blocked_orders(company: RunningCompany) -> set[str]:
    orders = company.ask("sales/searchSalesOrders", status="blocked")["salesOrders"]
    customers = {company.ask("sales/getSalesOrder", salesOrderId=each["salesOrderId"])["customerId"] for each in orders}
    owners = [company.ask("sales/getCustomer", customerId=each)["accountOwner"]["employeeId"] for each in customers]
    return {found for each in owners if (found := manager(company, each))}


def departments_of_managers_of_travellers_to_rome(company: RunningCompany) -> set[str]:
    trips = company.ask("travel/listTrips", destination="Rome")["trips"]
    travellers = {company.ask("travel/getTrip", tripId=each["tripId"])["employeeId"] for each in trips}
    managers = {found for each in travellers if (found := manager(company, each))}
    return {company.ask("hr/getEmployee", employeeId=each)["departmentId"] for each in managers}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "truth"),
    [
        ("081", supervisors_of_blocked_orders),
        ("082", departments_of_managers_of_travellers_to_rome),
    ],
)
def test_the_answer_is_that_of_the_records(
    run: Run, store: Path, company: RunningCompany, tmp_path: Path, number: str, truth: Any
) -> None:
    (tmp_path / "graph.json").write_text(json.dumps(asked(number)), encoding="utf-8")
    urls = [part for system in _SYSTEMS for part in ("--base-url", f"{system}={company.url}/{system}")]
    options = ("--domain", "enterprise", "--store", store, "--graph", tmp_path / "graph.json", "--json")
    code, out, err = run("plan", *options, *urls)
    assert code == 0, err
    execution = json.loads(out)["execution"]
    found = {each["id"] for each in execution["answer"]}
    assert (found, execution["missing"]) == (truth(company), [])
    assert found


@pytest.mark.slow
async def test_every_request_of_the_set_is_answered_and_nothing_is_missing(
    store: Path, company: RunningCompany
) -> None:
    domain = read_domain("enterprise")
    invoker = HttpInvoker(servers={system: f"{company.url}/{system}" for system in _SYSTEMS})
    async with client_of(store) as client:
        resolver = ToolResolver(domain, ToolFinder(client), invoker)
        found = {
            gold.id: await execute(gold.graph, domain, resolver, resolve_date=date_resolver(facts()["today"]))
            for gold in request_set("enterprise")
        }
    assert len(found) == 102
    assert {number: [str(one) for one in each.missing] for number, each in found.items() if each.missing} == {}
    assert [number for number, each in found.items() if not each.count] == []  # an answer to each is in the seed
