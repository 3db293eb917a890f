"""Bindings of the shipped company's tools, read from a server: what a person would bind, and what no tool does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from egotools import Parameter, Tool
from inference import HashingEncoder
from planners.calls.bindings import Binding, EntityName, Misfit, Paging, Wanted, bind, bind_count, paging_of, value_at
from services.jobs.build import build_snapshot
from tests.conftest import ROOT
from tests.harness.servers import client_of

CATALOG = ROOT / "examples" / "enterprise" / "catalog"
SUPPLIER = EntityName(names=("Supplier", "vendor"), identifier="supplierId")
INVOICE = EntityName(names=("Invoice",), identifier="invoiceId")
CUSTOMER = EntityName(names=("Customer",), identifier="customerId")
ORDER = EntityName(names=("Order", "sales order"), identifier="salesOrderId")
EMPLOYEE = EntityName(names=("Employee", "colleague"), identifier="employeeId")
DATE = EntityName(names=("Date", "day"), interval=True)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Tool]:
    store: Path = tmp_path_factory.mktemp("company")
    documents = [str(CATALOG / name) for name in ("finance.json", "sales.yaml", "hr.yaml", "procurement.yaml")]
    build_snapshot(documents, store, encoder=HashingEncoder())

    async def read() -> dict[str, Tool]:
        async with client_of(store) as client:
            return {tool_id: await client.get_tool(tool_id) async for tool_id in client.tool_ids()}

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("tool", "source", "target", "takes", "gives"),
    [
        ("finance/getSupplierInvoice", INVOICE, SUPPLIER, "invoiceId", "supplierId"),
        ("finance/searchSupplierInvoices", SUPPLIER, INVOICE, "supplierId", "invoices[].invoiceId"),
        ("sales/getSalesOrder", ORDER, CUSTOMER, "salesOrderId", "customerId"),
        ("sales/searchSalesOrders", CUSTOMER, ORDER, "customerId", "salesOrders[].salesOrderId"),
        ("sales/searchSalesOrders", DATE, ORDER, "orderedFrom,orderedTo", "salesOrders[].salesOrderId"),
        ("finance/listJournalEntries", DATE, EntityName(names=("Journal entry", "entry"), identifier="documentNumber"),
         "postedFrom,postedTo", "entries[].documentNumber"),
        ("hr/listDirectReports", EMPLOYEE, EMPLOYEE, "employeeId", "items[].employeeId"),
        ("sales/getCustomer", CUSTOMER, EMPLOYEE, "customerId", "accountOwner.employeeId"),
    ],
)  # fmt: skip
def test_what_goes_in_and_comes_out_is_seen_without_any_hint(
    tools: Mapping[str, Tool], tool: str, source: EntityName, target: EntityName, takes: str, gives: str
) -> None:
    found = bind(tools[tool], Wanted(source=source, target=target))
    assert isinstance(found, Binding), found
    assert (found.takes, found.gives) == (takes, gives)
    assert found.reason.startswith(f"{tool}: ") and takes in found.reason and not found.exact
    hinted = bind(tools[tool], Wanted(source=source, target=target, takes=takes, gives=gives))
    assert isinstance(hinted, Binding)
    assert (hinted.takes, hinted.gives, hinted.exact) == (takes, gives, True)


@pytest.mark.parametrize(
    ("tool", "source", "target", "reason"),
    [
        (
            "sales/getCustomer",
            SUPPLIER,
            EMPLOYEE,
            "no input of sales/getCustomer takes identifiers of Supplier; it has customerId",
        ),
        (
            "sales/getCustomer",
            CUSTOMER,
            INVOICE,
            "no output of sales/getCustomer gives identifiers of Invoice; it has ",
        ),
        ("sales/createSalesOrder", CUSTOMER, ORDER, "sales/createSalesOrder also needs "),
        ("hr/getEmployee", None, EMPLOYEE, "hr/getEmployee also needs employeeId, which nothing here supplies"),
    ],
)
def test_what_no_tool_does(
    tools: Mapping[str, Tool], tool: str, source: EntityName | None, target: EntityName, reason: str
) -> None:
    found = bind(tools[tool], Wanted(source=source, target=target))
    assert isinstance(found, Misfit)
    assert found.reason.startswith(reason)


def test_paging(tools: Mapping[str, Tool]) -> None:
    found = paging_of(tools["hr/searchEmployees"])
    assert (found.page, found.next_page, found.limit) == ("pageToken", "nextPageToken", "pageSize")
    assert paging_of(tools["sales/getCustomer"]) == Paging()
    assert value_at({"a": {"b": 3}}, "a.b") == 3
    assert value_at({"a": []}, "a.b") is None


def counting(name: str, *outputs: Parameter) -> Tool:
    return Tool(id=name, name=name, title="", description="", namespace="", returns=outputs)


def test_tools_that_count() -> None:
    number, other = Parameter(name="result", type="integer"), Parameter(name="pages", type="integer")
    assert isinstance(bind_count(counting("count_suppliers", number), Wanted(target=SUPPLIER)), Binding)
    assert isinstance(bind_count(counting("vendorCount", number), Wanted(target=SUPPLIER)), Binding)
    for tool in (
        counting("count_customers", number),
        counting("list_suppliers", number),
        counting("count_suppliers", number, other),
        counting("count_suppliers"),
    ):
        assert isinstance(bind_count(tool, Wanted(target=SUPPLIER)), Misfit)
