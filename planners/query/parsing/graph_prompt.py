"""The prompt of the ``llm`` parser, rendered from a domain. No data of the user is in it.

Its first message is the same for every request of a domain, so that a server that keeps the beginning of a prompt reads it once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from inference.chat import Message
from ontology.yaml_data import read_yaml
from planners.query.domain import Domain
from planners.query.parsing.written_graph import WrittenGraph
from planners.query.request_set import GoldRequest

__all__ = ["repair_message", "request_messages"]

_TEXTS: Mapping[str, str] = read_yaml(Path(__file__).parent / "prompt.yaml")


def request_messages(request: str, domain: Domain, shown: Sequence[GoldRequest]) -> list[Message]:
    """The conversation that asks for a graph: the domain, worked examples, then the request."""
    variables = {entity.kind: entity.variable for entity in domain.types.values()}
    system = _render(
        "instructions", domain=domain, user=variables.get("self", ""), dates=variables.get("date", ""), shown=shown
    )
    messages = [Message(role="system", content=system)]
    for each in shown:
        messages.append(Message(role="user", content=each.request))
        messages.append(Message(role="assistant", content=WrittenGraph.of(each.graph).text()))
    return [*messages, Message(role="user", content=request)]


def repair_message(request: str, faults: Sequence[str]) -> Message:
    """The message that hands the faults of a graph back, with the request again: small models lose it from sight."""
    return Message(role="user", content=_render("repair", request=request, faults=faults))


def _render(name: str, **values: object) -> str:
    text: str = _template(name).render(**values)
    return text.strip()


@cache
def _template(name: str) -> Any:
    # A prompt is no HTML.
    return Environment(undefined=StrictUndefined, autoescape=False, trim_blocks=False).from_string(_TEXTS[name])
