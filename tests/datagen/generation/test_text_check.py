"""The check of generated texts: each fault, and texts without one."""

from __future__ import annotations

import pytest

from datagen.generation import ToolWording
from datagen.generation.text_check import fault_of
from datagen.synthetic_request import SampleValue
from datagen.tool_path import PathEdge, ToolPath
from ontology.tool import Parameter, Tool
from tests.datagen.generation.material import catalogue_of

PATH = ToolPath(tools=("orders/get",))
VALUE = SampleValue(tool="orders/get", parameter="orderId", value="order_7 if then")


@pytest.mark.parametrize(
    ("text", "request_class", "fault"),
    [
        ("show me order 7", "single-intent", "is not in the text"),
        ("if order_7 if then is open, tell me", "single-intent", "'if', which is a cue of another class"),
        ("close order_7 if then and the bill", "implicit-multi-step", "cue of another class"),
        ("the invoice on the old invoices of order_7 if then", "multi-intent", "'invoice' as a part of itself"),
        ("close orderId order_7 if then", "multi-intent", "looks like an internal name"),
    ],
)
def test_a_fault_is_found_and_named(text: str, request_class: str, fault: str) -> None:
    assert fault in fault_of(text, (VALUE,), request_class, PATH, {})


@pytest.mark.parametrize(
    ("text", "request_class"),
    [
        ("if order_7 if then is open, close it", "conditional-multi-step"),
        ("close order_7 if then and then the bill", "explicit-multi-step"),
        ("close 'orderId' of order_7 if then, see https://a.example/b_c", "multi-intent"),
        ("order an iPhone like order_7 if then", "multi-intent"),
    ],
)
def test_a_good_text_has_none(text: str, request_class: str) -> None:
    assert fault_of(text, (VALUE,), request_class, PATH, {}) == ""


def _id(name: str, *, required: bool = True) -> Parameter:
    return Parameter(name=name, type="integer", required=required)


_TOOLS = (
    Tool(id="listPayments", name="listPayments", description="Lists payments.",
         parameters=(_id("consentId", required=False), _id("clientId", required=False))),
    Tool(id="getConsent", name="getConsent", description="Returns a payment consent.", parameters=(_id("consentId"),)),
    Tool(id="deleteConsent", name="deleteConsent", description="Deletes a consent.", parameters=(_id("consentId"),)),
    Tool(id="renewConsent", name="renewConsent", description="Renews a consent.", parameters=(_id("consentId"),)),
)  # fmt: skip
_FRAMES = {frame.tool: frame for frame in ToolWording(catalogue_of(*_TOOLS)).frames()}


@pytest.mark.parametrize(("by", "is_circular"), [("consentId", True), ("clientId", False)])
def test_a_step_does_not_give_what_the_text_states_for_it(by: str, is_circular: bool) -> None:
    edge = PathEdge(kind="R-P", source="listPayments", target="getConsent", output="payments[].consentId",
                    parameter="consentId", confidence=1.0)  # fmt: skip
    path = ToolPath(tools=("listPayments", "getConsent"), edges=(edge,), shape="chain")
    values = (SampleValue(tool="listPayments", parameter=by, value="5020"),)
    text = "find payments for 5020, then pull up the consent of the latest payment"
    assert ("consent by which" in fault_of(text, values, "explicit-multi-step", path, _FRAMES)) is is_circular


@pytest.mark.parametrize(("beside", "number", "is_removed"), [
    ("renewConsent", "5020", True), ("renewConsent", "77", False), ("getConsent", "5020", False),
])  # fmt: skip
def test_of_two_requests_none_removes_what_the_other_acts_on(beside: str, number: str, is_removed: bool) -> None:
    path = ToolPath(tools=("deleteConsent", beside), shape="set")
    values = (
        SampleValue(tool="deleteConsent", parameter="consentId", value="5020"),
        SampleValue(tool=beside, parameter="consentId", value=number),
    )
    text = (
        f"delete consent 5020. Also, see to consent {number}"
        if number != "5020"
        else "delete consent 5020 and see to it"
    )
    frames = {tool: _FRAMES[tool] for tool in path.tools}
    assert ("removes what" in fault_of(text, values, "multi-intent", path, frames)) is is_removed


@pytest.mark.parametrize(
    ("source", "target", "is_done"),
    [
        ("listAttachedVolumes", "attachVolume", True),
        ("listAttachedVolumes", "detachVolume", False),
        ("listNotAttachedVolumes", "attachVolume", False),
        ("listVolumes", "attachVolume", False),
        ("listAttachedVolumes", "getVolume", False),
    ],
)
def test_a_step_does_not_do_what_is_done_already(source: str, target: str, is_done: bool) -> None:
    verb = {"attachVolume": "Attaches", "detachVolume": "Detaches", "getVolume": "Gets"}[target]
    tools = (
        Tool(id=source, name=source, description="Lists the volumes of a server.", parameters=(_id("serverId"),)),
        Tool(id=target, name=target, description=f"{verb} a volume.", parameters=(_id("volumeId"), _id("serverId"))),
    )
    wording = ToolWording(catalogue_of(*tools))
    frames = {tool: wording.frame(tool) for tool in (source, target)}
    edge = PathEdge(
        kind="R-P", source=source, target=target, output="volumes[].id", parameter="volumeId", confidence=1.0, reason=""
    )
    path = ToolPath(tools=(source, target), edges=(edge,))
    value = SampleValue(tool=source, parameter="serverId", value="4711")
    fault = fault_of("find the volume of server 4711", (value,), "explicit-multi-step", path, frames)
    assert ("already" in fault) is is_done
