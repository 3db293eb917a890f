"""What the oracle knows of each task: which calls give the facts, and Python that computes the answer of the facts. It knows no answer.

The calls follow from what stands in the graph; the computation reads nothing but what the prompt shows of the graph. A fact that a store
or a prompt lost or changed gives no answer, or another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from scripts.kgot.account_tasks import AccountTask
from scripts.kgot.public_task_code import public_calls, public_code

__all__ = ["Call", "OraclePlan", "Row", "oracle_plan"]

Row: TypeAlias = Mapping[str, Any]
"""A node of the graph: its properties, and ``label``."""


class Call(NamedTuple):
    """A call that gives facts."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OraclePlan:
    """How a task is solved.

    :param calls: all calls that can be named with these nodes; those that were made are not made again.
    :param code: Python that sets ``answer``, with the nodes as ``rows``.
    """

    calls: Callable[[Sequence[Row]], Iterable[Call]]
    code: str


def oracle_plan(task: AccountTask) -> OraclePlan:
    """Return the plan of a task."""
    if task.kind != "own":
        question = task.question
        return OraclePlan(
            calls=lambda _: (Call(*each) for each in public_calls(task.kind, question)),
            code=public_code(task.kind, question),
        )
    if task.id in _COMPANY:
        return OraclePlan(calls=_COMPANY[task.id], code=_CODE[task.id])
    names = [path.name for path in task.files]
    return OraclePlan(calls=lambda rows: _file_calls(names, rows), code=_CODE[task.id])


def _file_calls(names: Sequence[str], rows: Sequence[Row]) -> Iterator[Call]:
    unpacked = [str(each["name"]) for each in rows if each["label"] == "Files" and not each["read"]]
    for name in (*names, *unpacked):
        yield Call("extract_zip" if name.endswith(".zip") else "inspect_file", {"file": name})


def _of(rows: Sequence[Row], label: str, **wanted: object) -> list[Row]:
    return [
        each
        for each in rows
        if each["label"] == label and all(each.get(name) == value for name, value in wanted.items())
    ]


def _by_id(tool: str, name: str, ids: Iterable[object]) -> Iterator[Call]:
    for each in sorted({str(each) for each in ids}):
        yield Call(tool, {name: each})


def _supplier(name: str, then: Callable[[str], Call]) -> Callable[[Sequence[Row]], Iterator[Call]]:
    def calls(rows: Sequence[Row]) -> Iterator[Call]:
        yield Call("procurement/searchSuppliers", {"q": name})
        for each in _of(rows, "Suppliers", legalName=name):
            yield then(str(each["supplierId"]))

    return calls


def _invoices(status: str) -> Callable[[str], Call]:
    return lambda supplier: Call("finance/searchSupplierInvoices", {"supplierId": supplier, "status": status})


def _customer(name: str, *, orders: bool = False, then: str = "") -> Callable[[Sequence[Row]], Iterator[Call]]:
    """Return the calls for a customer and its owner.

    :param orders: whether the open orders are wanted, and nothing else.
    :param then: the tool that takes the owner's id; empty where the owner answers.
    """

    def calls(rows: Sequence[Row]) -> Iterator[Call]:
        yield Call("sales/searchCustomers", {"q": name})
        for each in _of(rows, "Customers", name=name):
            if orders:
                yield Call("sales/searchSalesOrders", {"customerId": each["customerId"], "status": "open"})
            else:
                yield Call("sales/getCustomer", {"customerId": each["customerId"]})
        if then:
            yield from _by_id(
                then, "employeeId", (each["accountOwner_employeeId"] for each in _of(rows, "GetCustomer"))
            )
            yield from _departments(rows) if then == "hr/getEmployee" else ()

    return calls


def _departments(rows: Sequence[Row]) -> Iterator[Call]:
    people = [*_of(rows, "GetEmployee"), *_of(rows, "GetManager")]
    yield from _by_id("hr/getDepartment", "departmentId", (each["departmentId"] for each in people))


def _blocked_orders(rows: Sequence[Row]) -> Iterator[Call]:
    yield Call("sales/searchSalesOrders", {"status": "blocked"})
    yield from _by_id("sales/getCustomer", "customerId", (each["customerId"] for each in _of(rows, "SalesOrders")))
    owners = (each["accountOwner_employeeId"] for each in _of(rows, "GetCustomer"))
    yield from _by_id("hr/getManager", "employeeId", owners)


def _trips_to_rome(rows: Sequence[Row]) -> Iterator[Call]:
    yield Call("travel/listTrips", {"destination": "Rome"})
    yield from _by_id("hr/getManager", "employeeId", (each["employeeId"] for each in _of(rows, "Trips")))
    yield from _departments(rows)


def _quality_trips(rows: Sequence[Row]) -> Iterator[Call]:
    yield Call("hr/searchDepartments", {"name": "Quality"})
    for each in _of(rows, "Items", name="Quality"):
        arguments = {"query": "larkfield.example", "departmentId": each["departmentId"], "includeLeft": True}
        yield Call("hr/searchEmployees", arguments)
    people = (each["employeeId"] for each in _of(rows, "Items") if "employeeId" in each)
    yield from _by_id("travel/listTrips", "employeeId", people)


_COMPANY: dict[str, Callable[[Sequence[Row]], Iterable[Call]]] = {
    "task-01": _supplier("Acme Pumps GmbH", _invoices("posted")),
    "task-02": _customer("Brightwater Ltd", orders=True),
    "task-03": _customer("Brightwater Ltd"),
    "task-04": _customer("Brightwater Ltd", then="hr/getManager"),
    "task-05": _customer("Hydra Systems", then="hr/getEmployee"),
    "task-06": _supplier("Nordic Steel", _invoices("paid")),
    "task-07": _blocked_orders,
    "task-08": _trips_to_rome,
    "task-09": _quality_trips,
    "task-10": _supplier("Delta Valves", lambda one: Call("procurement/searchPurchaseContracts", {"supplierId": one})),
    "task-21": lambda _: (),
    "task-22": lambda _: (),
}
_SUM = "def total(**wanted):\n    return sum(float(each['amount']) for each in of('Row', **wanted))\n"
_CODE = {
    "task-01": "answer = ', '.join(sorted(each['invoiceId'] for each in of('Invoices')))",
    "task-02": "answer = len(of('SalesOrders'))",
    "task-03": "answer = of('GetCustomer')[0]['accountOwner_name']",
    "task-04": "answer = name(of('GetManager')[0])",
    "task-05": "answer = of('GetDepartment')[0]['name']",
    "task-06": "answer = round(sum(each['grossAmount_amount'] for each in of('Invoices')), 2)",
    "task-07": "answer = ', '.join(sorted({name(each) for each in of('GetManager')}))",
    "task-08": "answer = ', '.join(sorted({each['name'] for each in of('GetDepartment')}))",
    "task-09": "answer = len({each['tripId'] for each in of('Trips') if each['startDate'][:4] == '2026'})",
    "task-10": "answer = ', '.join(sorted(each['validTo'] for each in of('Contracts')))",
    "task-11": "answer = len(of('Row', region='North'))",
    "task-12": "seals = [float(each['price']) for each in of('Row', category='seals')]\nanswer = round(sum(seals) / len(seals), 2)",
    "task-13": f"{_SUM}answer = round(total(product='gate valve', region='South'), 2)",
    "task-14": "answer = ', '.join(sorted(each['name'] for each in of('Machines', status='broken')))",
    "task-15": "answer = round(100 * len(of('Row', status='closed')) / len(of('Row')), 1)",
    "task-16": "answer = max(of('Row'), key=lambda each: float(each['distance']))['runner']",
    "task-17": "answer = sum(int(each['pieces']) for each in of('Row'))",
    "task-18": "answer = len(of('Row', country='Norway'))",
    "task-19": f"{_SUM}answer = round(total(region='East'), 2)",
    "task-20": "answer = sum(int(each['seats']) > 6 for each in of('Row') or of('Rooms'))",
    "task-21": "answer = 17.5 * 2340 / 100",
    "task-22": "answer = 1250 * (100 - 12) / 100",
    "task-23": f"{_SUM}answer = round(abs(total(region='West') - total(region='East')), 2)",
    "task-24": """week = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split()
planned, moved = re.search(r'the (\\w+) after next', text())[1], re.search(r'by (\\w+) days', text())[1]
answer = week[(week.index(planned) + 'none one two three four five six'.split().index(moved)) % 7]""",
}
