"""Requests over several systems of the company, with tools found by the service: all are answered, some are checked by its records."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from egotools.calling.http_invoker import HttpInvoker
from inference import HashingEncoder
from planners.calls.tool_finder import ToolFinder
from planners.dfs.executor import date_resolver, execute
from planners.dfs.tool_resolver import ToolResolver
from planners.query.domain import read_domain
from planners.query.query_graph import request_set
from services.company.company_facts import read_facts
from tests.conftest import ROOT
from tests.harness.commands import Run
from tests.harness.company import CATALOG, RunningCompany
from tests.harness.http_server import Loopback, Reply
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


def customers_of_jane_doe(company: RunningCompany) -> set[str]:
    (jane,) = [each["employeeId"] for each in company.ask("hr/searchEmployees", query="Jane Doe")["items"]]
    every = [each["customerId"] for each in company.ask("sales/searchCustomers", q="")["customers"]]
    owners = {each: company.ask("sales/getCustomer", customerId=each)["accountOwner"] for each in every}
    return {each for each, owner in owners.items() if owner["employeeId"] == jane}


def employees_of_quality(company: RunningCompany) -> set[str]:
    every = [each["employeeId"] for each in company.ask("hr/searchEmployees", query="")["items"]]
    return {each for each in every if company.ask("hr/getEmployee", employeeId=each)["departmentId"] == "D4300"}


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
        ("014", customers_of_jane_doe),  # the only tool for this edge demands words to search for
        ("009", employees_of_quality),  # likewise
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
    domain, facts = read_domain("enterprise"), read_facts()
    invoker = HttpInvoker(servers={system: f"{company.url}/{system}" for system in _SYSTEMS})
    async with client_of(store) as client:
        resolver = ToolResolver(domain, ToolFinder(client), invoker)
        found = {
            gold.id: await execute(gold.graph, domain, resolver, resolve_date=date_resolver(facts.today))
            for gold in request_set("enterprise")
        }
    assert len(found) == 102
    assert {number: [str(one) for one in each.missing] for number, each in found.items() if each.missing} == {}
    assert [number for number, each in found.items() if not each.count] == []  # an answer to each is in the seed


def _gone() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(status=500, body=b"oops", media_type="text/plain"), "500"),
        (Reply(status=307, headers={"Location": "http://127.0.0.1:9/"}), "redirects are not followed"),
        (Reply(body=b"An apology, in prose."), "shape"),
        (Reply(body=b'{"employee": [[[]]]}'), ""),
        (Reply(body=b"{}" * 50, dribble_s=0.5), "not complete within 2 s"),
        (None, "reach"),
    ],
    ids=["500", "redirect", "prose", "another shape", "too slow", "gone"],
)
def test_a_system_that_fails_is_named_and_the_others_are_asked(
    run: Run, store: Path, company: RunningCompany, tmp_path: Path, reply: Reply | None, said: str
) -> None:
    """The tools were looked up before: the system of the managers is another one when they are called."""
    (tmp_path / "graph.json").write_text(json.dumps(asked("081")), encoding="utf-8")
    with Loopback(lambda _: reply or Reply()) as server:
        broken = server.url if reply else _gone()
        urls = [f"{system}={broken if system == 'hr' else f'{company.url}/{system}'}" for system in _SYSTEMS]
        code, out, err = run(
            *("plan", "--domain", "enterprise", "--store", store, "--graph", tmp_path / "graph.json", "--json"),
            *("--timeout-s", "2", *(part for url in urls for part in ("--base-url", url))),
        )
    execution = json.loads(out)["execution"]
    assert (code, execution["count"]) == (16, None), err  # what is asked for is known to that system alone
    reasons = " ".join(each["reason"] for each in execution["missing"])
    assert "hr/" in reasons and said in reasons, reasons
    assert any("sales/" in json.dumps(each) or each["rows"] for each in execution["calls"]), "the others were asked"
