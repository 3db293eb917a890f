"""Tools that a request names: what is written as a name, and their place in the answer."""

import pytest

from retrieval.engine import Engine
from retrieval.query.context import named_tools, tool_names
from retrieval.query.request import Request
from services.schemas.call_schema import call_name

SAID = {
    "get_order(42)": ("get_order",),
    "Use crm.get_order, please.": ("crm.get_order",),
    "use getOrder": ("getOrder",),
    "use users.messages.list.": ("users.messages.list",),
    "list-open-issues": ("list-open-issues",),
    "with add#190 or get_rate#2, as in C#": ("add#190", "get_rate#2"),  # ids of tools that share a name
    "run the `pay` function": ("pay",),
    'call "get_order"': ("get_order",),
}


def test_names_are_found_as_they_are_written(subtests: pytest.Subtests) -> None:
    for text in SAID:
        with subtests.test(ascii(text)):
            assert tool_names(text) == SAID[text]


def test_plain_words_name_no_tool() -> None:
    assert tool_names('pay the order of customer "search"') == ()


def test_every_tool_is_found_by_each_of_its_names_and_stands_first(engine: Engine) -> None:
    for number, tool in enumerate(engine.snapshot.tools):
        forms = (tool.id, tool.name, call_name(tool), f"{tool.namespace}.{tool.name}", f"`{tool.name}`")
        for name in forms:
            text = f"the amount of purchase orders of supplier Acme, by {name}"
            assert named_tools(engine.snapshot, text, None) == ((number,),), text
            assert engine.retriever().retrieve(Request(query=text, k=1)).tools[0].id == tool.id


def test_a_tool_that_the_caller_may_not_see_or_that_is_done_has_no_name(engine: Engine) -> None:
    hidden, text = "hr/get_employee", "use hr/get_employee or get_employee"
    asked = (
        (engine.restricted({"namespace": ["procurement"]}), Request(query=text)),
        (engine, Request(query=text, filters={"namespace": ["procurement"]})),
        (engine, Request(query=text, done=[hidden])),
    )
    for each, request in asked:
        assert hidden not in {tool.id for tool in each.retriever().retrieve(request).tools}
