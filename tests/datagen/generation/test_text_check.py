"""The check of generated texts: each fault, and texts without one."""

from __future__ import annotations

import pytest

from datagen.generation.text_check import fault_of
from datagen.synthetic_request import SampleValue
from datagen.tool_path import ToolPath

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
