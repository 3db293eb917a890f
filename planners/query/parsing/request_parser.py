"""The seam of parsers: a request in words becomes a query graph."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Protocol

from planners.query.domain import Domain
from planners.query.query_graph import QueryGraph

__all__ = ["ParsedRequest", "Parser"]


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A graph without faults under its domain.

    :param notes: what was assumed or left out, and how each date was read; one sentence each.
    :param left_out: of these, what names or narrows something and is not in the graph.
    """

    graph: QueryGraph
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


class Parser(Protocol):
    """Turns words into graphs. May be used by several threads at once."""

    @property
    def name(self) -> str:
        """The versioned name."""
        ...

    def parse(self, request: str, domain: Domain, today: date) -> ParsedRequest:
        """Return the graph of a request; it has no faults under the domain, and each of its dates can be read.

        :raises InvalidArgumentError: when the request says nothing that the domain knows, or no graph without faults was found.
        :raises ModelError: when a model is needed and there is none.
        """
        ...
