"""LangGraph keeps what a conversation found in its state."""

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from egotools.integrations.langgraph import create_agent
from tests.egotools.integrations.conftest import World
from tests.egotools.integrations.http_models import ChatOpenAI

REFUND = ("shop__refundOrder", {"order_id": "O1", "amount": 5})
FIND = ("retrieve_tools", {"query": "refund an order"})


def test_an_interrupted_call_is_resumed_by_another_process(world: World) -> None:
    """The second graph and source know nothing but the checkpoint."""
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "1"}}

    def graph() -> Any:
        return create_agent(ChatOpenAI(), world.source(search_name="retrieve_tools")).compile(checkpointer=saver)

    world.chat.say(FIND, REFUND, "Refunded.")
    state = graph().invoke({"messages": [("user", "refund O1")]}, config)
    assert state["__interrupt__"][0].value["arguments"] == REFUND[1]
    state = graph().invoke(Command(resume=True), config)
    assert state["messages"][-1].content == "Refunded."
    assert state["done_tool_ids"] == ["shop/refundOrder"] and state["known_values"] == {"ok": ""}
    assert len(world.api.arrived) == 1


def test_of_two_calls_only_the_one_that_changes_waits(world: World) -> None:
    """And resuming it does not repeat the other one."""
    both = ChatOpenAI()
    graph = create_agent(both, world.source()).compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    world.chat.say(("search_tools", {"query": "find a customer by name, refund an order"}), "Found.")
    state = graph.invoke({"messages": [("user", "refund O1 of Acme")]}, config)
    assert {"shop/findCustomer", "shop/refundOrder"} <= set(state["selected_tool_ids"])
    calls = [
        {"name": name, "args": arguments, "id": name, "type": "tool_call"}
        for name, arguments in (("shop__findCustomer", {"name": "Acme"}), REFUND)
    ]
    graph.update_state(
        config, {"messages": [{"role": "assistant", "content": "", "tool_calls": calls}]}, as_node="agent"
    )
    world.chat.say("Refunded.")
    graph.invoke(None, config)
    assert [arrived.method for arrived in world.api.arrived] == ["GET"]
    state = graph.invoke(Command(resume=True), config)
    assert [arrived.method for arrived in world.api.arrived] == ["GET", "POST"]
    assert state["messages"][-1].content == "Refunded."
