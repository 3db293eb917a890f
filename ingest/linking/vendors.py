"""The vendor of each document: edges between documents join those of one vendor only.

The vendor is told by the registered label of the server's host (``calendar.googleapis.com`` and ``pubsub.googleapis.com``), by the protocol of AWS, or by the
first word of the service's title. Found on the discovery documents of Google, the AWS models and examples/enterprise/catalog. A
catalogue in which at most one vendor is known is taken for one company's.
"""

from __future__ import annotations

from collections.abc import Sequence

from ontology.hosts import registered_label
from ontology.tool import Tool

__all__ = ["Vendors"]


class Vendors:
    """The vendors of a catalogue's tools."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        by_namespace: dict[str, str] = {}
        for tool in tools:
            if tool.namespace not in by_namespace or not by_namespace[tool.namespace]:
                by_namespace[tool.namespace] = _vendor(tool)
        self._one = len(set(filter(None, by_namespace.values()))) <= 1
        self._by_namespace = {} if self._one else by_namespace

    def of(self, tool: Tool) -> str:
        """Return the vendor of a tool; its namespace where the vendor is unknown; empty in a catalogue of one vendor."""
        return "" if self._one else self._by_namespace[tool.namespace] or f"namespace {tool.namespace}"


def _vendor(tool: Tool) -> str:
    call = tool.call
    if call is None:
        return ""
    if call.protocol == "aws":
        return "aws"
    return next(filter(None, map(registered_label, call.servers)), "")
