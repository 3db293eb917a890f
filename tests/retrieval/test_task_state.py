"""Tools that were executed already: they are not returned, and what comes after them gains."""

import pytest

from ontology.errors import InvalidArgumentError
from retrieval.engine import Engine
from retrieval.query.request import Request
from retrieval.query.typed_values import known_value
from tests.retrieval.test_retrievers import PRESETS

TASK = "find the supplier Acme and create a purchase order for it, then give Jan a spot award"
SEARCH, ORDER = "procurement/search_suppliers", "procurement/create_purchase_order"


@pytest.mark.parametrize("preset", PRESETS)
def test_executed_tools_are_not_returned_and_the_answer_stays_as_long(engine: Engine, preset: str) -> None:
    before = [tool.id for tool in engine.retriever(preset).retrieve(Request(query=TASK, k=6, explain=False)).tools]
    request = Request(query=TASK, k=len(before) - 1, explain=False, done=(before[0],))
    answer = engine.retriever(preset).retrieve(request)
    assert before[0] not in [tool.id for tool in answer.tools]
    assert len(answer.tools) == len(before) - 1 and answer.fallbacks == ()


def test_what_takes_an_output_of_an_executed_tool_and_its_system_gain(engine: Engine) -> None:
    def scores(done: tuple[str, ...]) -> dict[str, float]:
        request = Request(query="give Jan a spot award and buy something", k=6, explain=False, done=done)
        return {tool.id: tool.score for tool in engine.retriever().retrieve(request).tools}

    before, after = scores(()), scores((SEARCH,))
    gains = {tool: after[tool] - before[tool] for tool in after}
    assert gains[ORDER] > gains["procurement/query_purchase_order_items"] > gains["hr/get_employee"]


def test_an_unknown_executed_tool_is_named_and_changes_nothing_else(engine: Engine) -> None:
    ids = [f"gone/{number}" for number in range(7)]
    answer = engine.retriever().retrieve(Request(query=TASK, explain=False, done=ids))
    usual = engine.retriever().retrieve(Request(query=TASK, explain=False))
    assert answer.tools == usual.tools
    assert answer.fallbacks == ("done: the catalogue has no tool gone/0, gone/1, gone/2, gone/3, gone/4 and 2 more",)


def test_all_tools_executed_is_an_empty_answer(engine: Engine) -> None:
    every = [engine.snapshot.tool_id(number) for number in range(engine.snapshot.tool_count)]
    for preset in PRESETS:
        assert (
            engine.retriever(preset).retrieve(Request(query=TASK, done=every, auto_k=preset == "default")).tools == ()
        )


@pytest.mark.parametrize(
    ("others", "subject"),
    [
        ({"done": [""]}, "done"),
        ({"done": ["x" * 4_097]}, "done"),
        ({"done": ["x"] * 1_001}, "done"),
        ({"done": ["\ud800"]}, "done"),
        ({"have": {"": "x"}}, "have"),
        ({"have": {"x" * 257: ""}}, "have"),
        ({"have": {f"n{number}": "" for number in range(65)}}, "have"),
        ({"have": {"order": "x" * 4_001}}, "have.order"),
        ({"have": {"order": "\udfff"}}, "have.order"),
    ],
)
def test_what_no_request_may_say(others: dict[str, object], subject: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        Request(query="x", **others)  # type: ignore[arg-type]
    assert caught.value.subject == subject


KNOWN: list[tuple[str, str, bool]] = [
    ("customer_id", "customerId", True),
    ("customer", "customer_id", True),
    ("Customers", "filter.items[].customer_number", True),
    ("customer", "customer_group_id", False),
    ("customer", "id", False),
    ("id", "customer_id", False),
    ("—", "—", False),
    ("travel_from", "travelFrom", True),
    ("travel_from", "travel_to", False),
    ("travel", "travel_to", True),
    ("id_of_customer", "customer", False),
    ("customer", "id_of_customer", True),
    ("a", "a", True),
    ("a", "to", False),
]


def test_a_known_value_fills_the_inputs_of_its_name(subtests: pytest.Subtests) -> None:
    for name, parameter, is_known in KNOWN:
        with subtests.test(ascii(name)):
            assert (known_value({name: "C-17"}, parameter) == "C-17") == is_known


def test_what_the_caller_has_or_has_fetched_pulls_no_supplier(engine: Engine) -> None:
    def boost(**others: object) -> float:
        request = Request(query="create a purchase order with Acme", k=6, **others)  # type: ignore[arg-type]
        tools = {tool.id: tool for tool in engine.retriever().retrieve(request).tools}
        return tools[SEARCH].reasons.features["resolver_boost"] if SEARCH in tools else 0.0

    assert boost() > 0
    assert boost(have={"supplier": "S-17"}) == 0 == boost(have={"supplierId": ""})
    assert boost(have={"amount": "500"}) == boost()
