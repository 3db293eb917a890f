"""The ten shipped multi-step requests run over HTTP by egotools' own contract, and have the stated answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.company.mock_company import MockCompany
from services.company.record_store import RecordStore
from tests.harness.company import CATALOG, RunningCompany, tools
from tests.services.company.company_requests import CompanyRequest, read_requests, run, value_at
from tests.services.company.declared_answers import declared


@pytest.mark.parametrize("request_of_file", read_requests(), ids=lambda each: each.id)
def test_the_calls_of_a_request_give_its_answer(company: RunningCompany, request_of_file: CompanyRequest) -> None:
    answers = run(company, request_of_file)
    assert {path: value_at(answers, path) for path in request_of_file.answer} == request_of_file.answer


def test_there_are_ten_with_several_steps_each_and_some_write() -> None:
    requests = read_requests()
    used = {call["tool"] for each in requests for call in each.calls}
    writing = [each.id for each in requests if any(declared()[call["tool"]].method != "GET" for call in each.calls)]
    assert len(requests) == 10
    assert min(len(each.calls) for each in requests) >= 2
    assert used <= set(tools())
    assert len(writing) == 4
    assert len({tool.split("/")[0] for tool in used}) == 6


def test_the_answers_of_the_reads_are_those_of_a_join_over_the_records(tmp_path: Path) -> None:
    MockCompany(CATALOG, tmp_path, seed=1).close()
    store = RecordStore(tmp_path / "company.sqlite")
    answers = {each.id: [*each.answer.values()] for each in read_requests()}

    (acme,) = [row["supplierId"] for row in store.all("supplierId") if row["legalName"] == "Acme Pumps GmbH"]
    invoices = [row for row in store.all("invoiceId") if row["supplierId"] == acme and row["status"] == "posted"]
    assert answers["company-01"][0] == [row["invoiceId"] for row in invoices]

    mine = {row["customerId"] for row in store.all("customerId") if row["accountOwner"]["employeeId"] == "E10482"}
    orders = [row for row in store.all("salesOrderId") if row["customerId"] in mine and row["status"] == "open"]
    assert sorted(answers["company-03"][0]) == sorted(row["salesOrderId"] for row in orders)

    (report,) = [row for row in store.all("reportId") if row["reportId"] == "EXP-104733"]
    (person,) = [row for row in store.all("employeeId") if row["employeeId"] == report["employeeId"]]
    assert answers["company-04"][0] == person["costCenterId"]

    italian = {row["supplierId"] for row in store.all("supplierId") if row["address"]["country"] == "IT"}
    contracts = [row for row in store.all("contractId") if row["supplierId"] in italian]
    assert sorted(answers["company-05"][0]) == sorted(
        row["contractId"] for row in contracts if row["validTo"] <= "2027-06-30"
    )

    sales = {
        row["employeeId"]
        for row in store.all("employeeId")
        if row["departmentId"] == "D4200" and row["status"] != "left"
    }
    trips = [row for row in store.all("tripId") if row["employeeId"] in sales and row["destination"] == "Lisbon"]
    assert sorted(answers["company-06"][0]) == sorted(row["employeeId"] for row in trips)
    store.close()
