"""Why a tool was returned, in one line for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ["format_reasons"]

_SHOWN = 2


class _Match(Protocol):
    @property
    def node(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def text(self) -> str: ...


class _Edge(Protocol):
    @property
    def head(self) -> str: ...
    @property
    def predicate(self) -> str: ...
    @property
    def tail(self) -> str: ...


class _Binding(Protocol):
    @property
    def parameter(self) -> str: ...
    @property
    def supplier(self) -> str: ...
    @property
    def kind(self) -> str: ...


class _Reasons(Protocol):
    """The reasons of an answer, as the retriever makes them and as the client reads them."""

    @property
    def entries(self) -> Sequence[_Match]: ...
    @property
    def edges(self) -> Sequence[_Edge]: ...
    @property
    def bindings(self) -> Sequence[_Binding]: ...


def format_reasons(tool_id: str, reasons: _Reasons) -> str:
    """The words that matched, the edges they led along, and who supplies the inputs."""
    node = f"tool:{tool_id}"
    parts = []
    words = [f'"{match.text}"' for match in reasons.entries if match.kind == "ngram"]
    if words:
        parts.append("says " + ", ".join(dict.fromkeys(words[:_SHOWN])))
    elif any(match.node == node for match in reasons.entries):
        parts.append("near in meaning")
    edges = [
        f"{edge.predicate} {(edge.tail if edge.head == node else edge.head).partition(':')[2]}"
        for edge in reasons.edges
    ]
    if edges:
        parts.append("via " + ", ".join(dict.fromkeys(edges[:_SHOWN])))
    supplied = [
        f"{binding.parameter or 'it'} from {binding.supplier}" for binding in reasons.bindings if binding.supplier
    ]
    if supplied:
        parts.append("gets " + ", ".join(supplied[:_SHOWN]))
    missing = [binding.parameter for binding in reasons.bindings if not binding.supplier]
    if missing:
        parts.append("asks for " + ", ".join(missing[:_SHOWN]))
    return "; ".join(parts) or "near in text"
