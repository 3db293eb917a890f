"""Plans of calls, executed on Python tools: inputs out of answers, known values and defaults; what stops a run, and what is left then."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from egotools.calling.invoker import ToolAnswer
from egotools.calling.mcp_session import StrongerEffectError
from egotools.values import PlanInput, PlanStep, Tool, ToolPlan
from planners.calls.execute_plan import StepCall, TakenRow, execute_plan
from planners.calls.tool_access import CallPipeline, PythonInvoker, always, never
from tests.planners.calls.tools import python

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
LINE = {"type": "object", "properties": {"product": TEXT, "quantity": WHOLE}, "required": ["product"]}
ORDER = {"lines": {"type": "array", "items": LINE}, "price": {"type": "object", "properties": {"currency": TEXT}}}


def schema(required: Sequence[str] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


TOOLS = {
    each.id: each
    for each in (
        python(
            "find_suppliers", schema(["q"], q=TEXT, status={"enum": ["active", "blocked"]}), "store", read_only=True
        ),
        python("block_supplier", schema(["supplier"], supplier=TEXT, days=WHOLE), "store"),
        python("get_supplier", schema(["supplier"], supplier=TEXT), "store"),
        python("order", schema(["lines"], **ORDER), "store"),
        python("list_units", schema(["unit"], unit={"type": "string", "default": "piece"}), "store"),
    )
}


class Store:
    """Suppliers, and what was done to them."""

    def __init__(self) -> None:
        self.blocked: list[tuple[str, int]] = []

    def find_suppliers(self, q: str, status: str = "") -> dict[str, Any]:
        names = ["Acme", "Acme", "Acme Pumps", "Borg"]
        return {"suppliers": [{"id": name.lower(), "status": status} for name in names if name.startswith(q)]}

    def block_supplier(self, supplier: str, days: int = 1) -> dict[str, Any]:
        if supplier == "borg":
            raise LookupError("Borg cannot be blocked")
        self.blocked.append((supplier, days))
        return {"id": supplier}

    def get_supplier(self, supplier: str) -> dict[str, Any]:
        return {"id": supplier, "blocked": any(supplier == each for each, _ in self.blocked)}

    def order(self, lines: list[Any], price: Mapping[str, Any]) -> dict[str, Any]:
        return {"lines": lines, "price": price}

    def list_units(self, unit: str) -> str:
        return unit


def step(number: int, name: str, *inputs: PlanInput) -> PlanStep:
    return PlanStep(number=number, tool_id=f"shop/{name}", kind="goal", confidence=1.0, inputs=inputs)


def known(parameter: str, value: str, *, required: bool = True) -> PlanInput:
    return PlanInput(parameter=parameter, source="have", value=value, required=required)


def found(parameter: str, source: str = "step") -> PlanInput:
    number = 1 if source == "step" else 0
    return PlanInput(
        parameter=parameter, source=source, step=number, supplier="shop/find_suppliers", output="suppliers[].id"
    )


def asked(parameter: str) -> PlanInput:
    return PlanInput(parameter=parameter, source="ask")


def blocking(q: str, *more: PlanInput) -> ToolPlan:
    """Find suppliers, block one, read it."""
    steps = (
        step(1, "find_suppliers", known("q", q)),
        step(2, "block_supplier", found("supplier"), *more),
        step(3, "get_supplier", found("supplier")),
    )
    return ToolPlan(steps=steps)


def calls_of(store: Store, ask: Any = always) -> CallPipeline:
    return CallPipeline(PythonInvoker([], objects={"store": store}), ask)


async def test_an_input_takes_the_only_value_of_an_earlier_answer() -> None:
    store = Store()
    made = await execute_plan(blocking("Acme P"), TOOLS, calls_of(store))
    assert made.outcome == "made" and store.blocked == [("acme pumps", 1)]
    assert [call.answer.body for call in made.calls[1:] if call.answer] == [
        {"id": "acme pumps"},
        {"id": "acme pumps", "blocked": True},
    ]


async def test_of_several_values_a_reading_call_takes_the_first_and_a_change_is_not_made() -> None:
    store = Store()
    steps = (
        step(1, "find_suppliers", known("q", "Acme")),
        step(2, "get_supplier", found("supplier")),
        step(3, "block_supplier", replace(found("supplier"), step=2, supplier="shop/get_supplier", output="id")),
    )
    tools = TOOLS | {"shop/get_supplier": replace(TOOLS["shop/get_supplier"], effect="read")}
    made = await execute_plan(ToolPlan(steps=steps), tools, calls_of(store))
    taken = TakenRow(parameter="supplier", supplier="shop/find_suppliers", output="suppliers[].id", row=1, rows=2)
    assert made.calls[1].ok and made.calls[1].given.taken == (taken,)  # equal values are one
    assert (made.outcome, store.blocked) == ("failed", [])
    assert "supplier of step 2 is the first of 2 values that shop/find_suppliers gave" in str(made.calls[2].error)
    none = (
        step(1, "find_suppliers", known("q", "Nobody")),
        step(2, "block_supplier", replace(found("supplier"), required=False)),
    )
    made = await execute_plan(ToolPlan(steps=none), TOOLS, calls_of(store))
    assert (made.outcome, store.blocked) == ("value missing", [])


class Server(PythonInvoker):
    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        if tool.name == "get_supplier" and tool.effect == "read":
            raise StrongerEffectError(replace(tool, effect="change"))
        return await super().invoke(tool, arguments)


async def test_of_several_values_no_tool_is_called_that_does_more_now_than_its_document_says() -> None:
    tools = TOOLS | {"shop/get_supplier": replace(TOOLS["shop/get_supplier"], effect="read")}
    steps = (step(1, "find_suppliers", known("q", "Acme")), step(2, "get_supplier", found("supplier")))
    server = Server([], objects={"store": Store()})
    made = await execute_plan(ToolPlan(steps=steps), tools, CallPipeline(server, always))
    assert made.outcome == "failed" and isinstance(made.calls[1].error, StrongerEffectError)


async def test_what_was_done_before_the_plan_is_asked_for() -> None:
    store = Store()
    plan = ToolPlan(steps=(step(1, "block_supplier", found("supplier", "done")),))
    stopped = await execute_plan(plan, TOOLS, calls_of(store))
    assert [(each.parameter, each.source) for each in stopped.open_inputs] == [("supplier", "done")]


@pytest.mark.parametrize(("q", "ask"), [("Borg", always), ("Acme P", never)])
async def test_a_call_that_fails_or_is_not_confirmed_ends_the_run(q: str, ask: Any) -> None:
    store, seen = Store(), list[tuple[int, bool]]()

    def observe(call: StepCall) -> None:
        seen.append((call.step.number, call.ok))

    stopped = await execute_plan(blocking(q), TOOLS, calls_of(store, ask), observe=observe)
    assert (stopped.outcome, store.blocked) == ("failed", [])
    assert [each.number for each in stopped.remaining] == [3]
    assert seen == [(1, False), (1, True), (2, False), (2, False)]  # before and after
    said = stopped.calls[-1].answer.status if stopped.calls[-1].answer else str(stopped.calls[-1].error)
    assert "nobody confirmed" in said if ask is never else "error" in said


async def test_inner_inputs_defaults_and_a_value_that_another_step_is_meant_to_get() -> None:
    plan = ToolPlan(
        steps=(
            step(1, "find_suppliers", known("q", "Acme P"), known("status", "posted", required=False)),
            step(
                2,
                "order",
                found("lines[].product"),
                known("lines[].quantity", "8"),
                known("price.currency", "EUR", required=False),
            ),
            step(3, "list_units", asked("unit")),
            PlanStep(number=4, tool_id="shop/list_units", kind="goal", confidence=1.0, inputs=(known("unit", "kg"),)),
        )
    )
    made = await execute_plan(plan, TOOLS, calls_of(Store()))
    assert made.outcome == "made"
    assert made.calls[0].given.arguments == {"q": "Acme P"} and made.calls[0].given.left_out == ("status",)
    assert made.calls[1].given.arguments == {
        "lines": [{"product": "acme pumps", "quantity": 8}],
        "price": {"currency": "EUR"},
    }
    assert [call.given.arguments for call in made.calls[2:]] == [{"unit": "piece"}, {"unit": "kg"}]
