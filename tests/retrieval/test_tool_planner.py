"""Plans of calls over a snapshot: the order of the calls, where each input comes from, and what is left to ask."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from egotools.values import PlanInput, Response, ToolPlan
from inference import HashingEncoder
from ontology import Dependency, Parameter, Tool
from ontology.errors import DeadlineError, InvalidArgumentError, NotFoundError
from ontology.tool import CONTEXT_PARAMETERS
from retrieval.engine import Engine, open_engine
from retrieval.query.request import PlanRequest, Request
from retrieval.retriever import Retriever
from retrieval.tool_planner import ToolPlanner
from services.jobs.build import build_snapshot


def _tool(
    name: str,
    *inputs: str,
    gives: tuple[str, ...] = (),
    needs: tuple[Dependency, ...] = (),
    context: tuple[str, ...] = (),
) -> Tool:
    return Tool(
        id=f"shop/{name}",
        name=name,
        description=f"{name.replace('_', ' ').capitalize()}.",
        parameters=tuple(
            Parameter(name=each.rstrip("?"), type="string", description=f"The {each}", required=not each.endswith("?"))
            for each in inputs
        ),
        returns=tuple(Parameter(name=each, type="string", required=True) for each in gives),
        depends_on=needs,
        metadata={CONTEXT_PARAMETERS: list(context)} if context else {},
    )


TOOLS = (
    _tool("search_customers", "query", gives=("customers[].customer_id",)),
    _tool("list_orders", "customer_id", gives=("orders[].order_id",)),
    _tool(
        "refund_order", "order_id", "amount", "tenant", context=("tenant",), needs=(Dependency(tool="shop/sign_in"),)
    ),
    _tool("sign_in", "password"),
    _tool("open_lock", "key_id", needs=(Dependency(tool="shop/make_key"),), gives=("lock_id",)),
    _tool("make_key", "lock_id", needs=(Dependency(tool="shop/open_lock"),), gives=("key_id",)),
    _tool("add_filter", "filter?", "filter.field", "note?"),
    _tool("set_price", "price", "price.amount", "price.currency"),
)


BROKER = (
    replace(
        _tool("place_order", "symbol"),
        description="Place an order.",
        returns=(
            Parameter(name="order_id", type="integer", description="ID of the newly placed order."),
            Parameter(name="status", type="string", description="Initial status of the order."),
            Parameter(name="parts[].order_id", type="integer", description="ID of the newly placed order."),
            Parameter(name="message", type="string", description="What happened."),
        ),
    ),
    replace(
        _tool("get_order_details"),
        description="Get the details of an order.",
        parameters=(Parameter(name="order_id", type="integer", description="ID of the order.", required=True),),
    ),
    _tool("write_note", "message", "order_id?"),
    _tool("book_room", "guest.email", "guest.name"),
)


def _engine(folder: Path, tools: Sequence[Tool]) -> Engine:
    (folder / "tools.jsonl").write_text("\n".join(json.dumps(tool.to_json()) for tool in tools))
    build_snapshot([str(folder / "tools.jsonl")], folder / "store", encoder=HashingEncoder())
    return open_engine(folder / "store")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return _engine(tmp_path_factory.mktemp("shop"), TOOLS)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return _engine(tmp_path_factory.mktemp("broker"), BROKER)


def _inputs(plan: ToolPlan, tool: str) -> Mapping[str, PlanInput]:
    return {each.parameter: each for step in plan.steps if step.tool_id == f"shop/{tool}" for each in step.inputs}


def _names(plan: ToolPlan) -> list[str]:
    return [each.removeprefix("shop/") for each in plan.tool_ids]


def test_a_goal_supplies_before_a_lookup(tmp_path: Path) -> None:
    tools = (*TOOLS[:2], _tool("create_customer", "name", gives=("customer_id",)))
    plan = _engine(tmp_path, tools).plan(PlanRequest(goals=["shop/create_customer", "shop/list_orders"]))
    assert plan.steps[1].bindings() == ("step 2.customer_id ← step 1.customer_id",)


def test_a_chain_is_planned_back_to_what_the_user_knows(shop: Engine) -> None:
    plan = shop.plan(PlanRequest(goals=["shop/refund_order"]))
    assert _names(plan) == ["sign_in", "search_customers", "list_orders", "refund_order"]
    effects = "change", "read", "read", "change"
    assert [(step.number, step.effect) for step in plan.steps] == [*enumerate(effects, 1)]
    assert [step.kind for step in plan.steps][::3] == ["depends_on", "goal"]
    assert plan.steps[2].bindings() == ("step 3.customer_id ← step 2.customers[].customer_id",)
    assert plan.steps[3].bindings() == ("step 4.order_id ← step 3.orders[].order_id",)
    filled = _inputs(plan, "refund_order")
    assert filled["order_id"].supplier == "shop/list_orders" and 0 < filled["order_id"].confidence <= 1
    assert (filled[""].step, filled[""].kind) == (1, "depends_on")
    assert (filled["amount"].source, filled["tenant"].source) == ("ask", "context")
    assert [(each.parameter, each.source, each.steps) for each in plan.open_inputs] == [
        ("password", "ask", (1,)),
        ("query", "ask", (2,)),
        ("amount", "ask", (4,)),
        ("tenant", "context", (4,)),
    ]
    assert plan.open_inputs[2].description == "The amount"
    assert plan.fallbacks == () and plan.snapshot_id == shop.snapshot_id


def test_known_values_and_executed_tools_shorten_a_plan(shop: Engine) -> None:
    goal = ["shop/refund_order"]
    known = shop.plan(PlanRequest(goals=goal, have={"customer": "C-17", "tenant": "acme"}))
    assert _names(known) == ["sign_in", "list_orders", "refund_order"]
    assert _inputs(known, "refund_order")["tenant"].source == "have"
    assert known.fallbacks == ()
    unused = PlanRequest(goals=goal, have={"customer": "C-17", "colour": "red"})
    assert shop.plan(unused).fallbacks == ("no step takes the given value 'colour'",)
    assert known.steps[1].bindings() == ("step 2.customer_id ← C-17",)
    done = shop.plan(PlanRequest(goals=goal, done=["shop/list_orders", "shop/sign_in", "shop/gone"]))
    assert _names(done) == ["refund_order"]
    taken = _inputs(done, "refund_order")["order_id"]
    assert (taken.source, taken.step, taken.supplier) == ("done", 0, "shop/list_orders")
    assert done.fallbacks == ("done: the catalogue has no tool shop/gone",)
    assert _names(shop.plan(PlanRequest(goals=goal, done=goal)))[-1] == "refund_order", "a goal is called again"
    assert "the plan has no place for it" in shop.plan(PlanRequest(goals=["shop/open_lock"])).fallbacks[0]


def test_an_identifier_that_an_executed_tool_has_answered_is_known_without_an_edge(broker: Engine) -> None:
    goal = ["shop/get_order_details"]
    assert _names(broker.plan(PlanRequest(goals=goal))) == ["get_order_details"], "nobody places an order to look it up"
    taken = _inputs(broker.plan(PlanRequest(goals=goal, done=["shop/place_order"])), "get_order_details")["order_id"]
    assert (taken.source, taken.supplier, taken.output) == ("done", "shop/place_order", "order_id")
    for value, source, left in (("17", "have", ()), ("O-1", "done", ("no step takes the given value 'order'",))):
        stated = broker.plan(PlanRequest(goals=goal, done=["shop/place_order"], have={"order": value}))
        assert (_inputs(stated, "get_order_details")["order_id"].source, stated.fallbacks) == (source, left)
    # what a name does not identify is not handed on, and neither is what the tool can do without
    noted = _inputs(broker.plan(PlanRequest(goals=["shop/write_note"], done=["shop/place_order"])), "write_note")
    assert {name: each.source for name, each in noted.items()} == {"message": "ask"}


def test_values_of_the_request_are_used_and_the_best_tool_is_the_goal(shop: Engine) -> None:
    plan = shop.plan(PlanRequest(query="refund order 4711 of tenant T-17"))
    assert _inputs(plan, "refund_order")["tenant"].value == "T-17"
    assert _names(plan) == ["sign_in", "refund_order"]
    order = _inputs(plan, "refund_order")["order_id"]
    assert (order.source, order.value) == ("request", "4711")
    assert "order_id" not in {each.parameter for each in plan.open_inputs}


@pytest.mark.parametrize(("query", "source"), [("book a room", "ask"), ("book a room, a@b.org pays", "request")])
def test_a_value_that_would_be_written_out_is_asked_for_where_it_is_not(
    broker: Engine, query: str, source: str
) -> None:
    inputs = _inputs(broker.plan(PlanRequest(query=query, goals=["shop/book_room"])), "book_room")
    assert {name: each.source for name, each in inputs.items()} == {"guest.email": source, "guest.name": "request"}


class _Doubtful:
    """Finds what another retriever finds, and says that nothing fits."""

    name = "doubtful"

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever

    def retrieve(self, request: Request) -> Response:
        answer = self._retriever.retrieve(request)
        if request.needs:  # the last one
            *served, last = answer.need_results
            return replace(answer, need_results=(*served, replace(last, probability=0.05, unserved=True)))
        return replace(answer, answerable_probability=0.05, unanswerable=True)


def test_nothing_is_planned_where_nothing_fits_if_so_asked(shop: Engine) -> None:
    planner, doubtful = ToolPlanner(shop.snapshot), _Doubtful(shop.retriever())
    query = "refund order 4711"
    none = planner.plan(PlanRequest(query=query, abstain=True), doubtful)
    assert (none.steps, none.open_inputs, none.unanswerable, none.answerable_probability) == ((), (), True, 0.05)
    assert "no tool fits the request" in none.fallbacks
    made = planner.plan(PlanRequest(query=query), doubtful)
    assert made.unanswerable and made.doubt == "may not fit: probability 0.05"
    goals = ["shop/refund_order"]
    named = planner.plan(PlanRequest(goals=goals, query=query, abstain=True), doubtful)
    assert [step.confidence for step in named.steps if step.kind == "goal"] == [1.0] and not named.doubt, (
        "the goal is given"
    )
    assert planner.plan(PlanRequest(query=query, abstain=True), shop.retriever()).steps, "some tool fits"
    needs = ["refund an order", "set a price"]
    for abstain, found in ((False, ["refund_order", "set_price"]), (True, ["refund_order"])):
        made = planner.plan(PlanRequest(needs=needs, abstain=abstain), doubtful)
        assert [step.tool_id.split("/")[1] for step in made.steps if step.kind == "goal"] == found
        assert [each for each in made.fallbacks if "nothing fits the need 'set a price'" in each]


def test_a_hidden_supplier_is_asked_for_instead(shop: Engine) -> None:
    part = shop.restricted({"id": ["*", "!shop/search_customers"]})
    plan = part.plan(PlanRequest(goals=["shop/list_orders"]))
    assert _names(plan) == ["list_orders"]
    asked = _inputs(plan, "list_orders")["customer_id"]
    assert (asked.source, asked.alternatives) == ("ask", ())


def test_bad_requests_are_named(shop: Engine) -> None:
    with pytest.raises(NotFoundError, match="shop/none"):
        shop.plan(PlanRequest(goals=["shop/none"]))
    with pytest.raises(InvalidArgumentError, match="preset"):
        shop.plan(PlanRequest(goals=["shop/sign_in"], preset="nope"))
    with pytest.raises(InvalidArgumentError, match="neither"):
        PlanRequest()
    with pytest.raises(DeadlineError):
        shop.plan(PlanRequest(query="refund an order", deadline=0.0))
