"""A small shop: four tools, one of which says nothing of what it gives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import SyntheticRequest
from datagen.tool_path import PathEdge, ToolPath
from inference.openai_chat import OpenAIChat
from inference.retry import RetryPolicy
from ontology import Parameter, Tool, load_ontology
from tests.harness.chat import ChatServer

QUICK = RetryPolicy(max_retries=0, base_delay_s=0.01, max_delay_s=0.02)


def _inputs(*names: str, required: bool = True) -> tuple[Parameter, ...]:
    return tuple(Parameter(name=name, required=required) for name in names)


FIND = Tool(
    id="shop/find_orders",
    name="find_orders",
    description="Orders of a customer.",
    parameters=(*_inputs("customer_name"), *_inputs("page", "$filter", required=False)),
    returns=_inputs("orders[].order_id", "orders[].state", required=False),
    metadata={"title": "Find orders"},
)
SHIP = Tool(
    id="shop/ship_order",
    name="ship_order",
    description="Sends an order out on a day.",
    parameters=(*_inputs("order_id", "ship_date"), Parameter(name="carrier", enum=("north", "south"))),
    metadata={"title": "Ship order"},
)
TRACK = Tool(
    id="shop/track_shipment",
    name="track_shipment",
    description="Where a shipment is.",
    parameters=_inputs("shipment_id"),
    returns=_inputs("place", required=False),
)
PING = Tool(id="shop/ping", name="ping", description="Says whether the shop is up.", returns=_inputs("up"))

EDGE = PathEdge(
    kind="R-P", source=FIND.id, target=SHIP.id, output="orders[].order_id", parameter="order_id", confidence=0.9
)
CHAIN = ToolPath(tools=(FIND.id, SHIP.id), edges=(EDGE,), shape="chain")


def catalogue(*tools: Tool) -> ProfiledCatalogue:
    return ProfiledCatalogue(snapshot_id="s", tools=tools or (FIND, PING, SHIP, TRACK), ontology=load_ontology())


def chat(server: ChatServer, **options: Any) -> OpenAIChat:
    given = {"policy": QUICK, "timeout_s": 5.0, "max_tokens": 400, **options}
    return OpenAIChat("test", base_url=server.base_url, api_key="k", **given)


class Named:
    """A chat model that goes by another's name, as one server does after a restart."""

    def __init__(self, model: OpenAIChat, name: str) -> None:
        self.name = name
        self.complete = model.complete


def outputs(*rows: tuple[str, float]) -> str:
    return json.dumps({"outputs": [{"name": name, "reason": "It gives it.", "confidence": c} for name, c in rows]})


def request(text: str = "send Ada's order on Friday", label: str = "implicit-multi-step") -> SyntheticRequest:
    return SyntheticRequest(id="1", text=text, request_class=label, path=CHAIN)


def bodies(requests: Sequence[Mapping[str, Any]]) -> list[str]:
    """The last message of each call."""
    return [str(one["messages"][-1]["content"]) for one in requests]
