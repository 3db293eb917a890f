"""The seam of readers: a request in words becomes a query graph, by rules or by a chat model."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Protocol

from ontology.errors import InvalidArgumentError
from planners.query.domain import Domain
from planners.query.query_graph import QueryGraph

__all__ = ["ParsedRequest", "Parser", "request_text"]

_MAX_CHARS = 1_000


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

    def parse(self, request: str, domain: Domain, today: date, *, best_effort: bool = False) -> ParsedRequest:
        """Return the graph of a request; it has no faults under the domain, and each of its dates can be read.

        :param best_effort: whether a graph that lacks a part of the request is returned too, with what was left out.
        :raises InvalidArgumentError: when a word of the request is not known, or no graph without faults was found.
        :raises ModelError: when a model is needed and there is none.
        """
        ...


def request_text(request: str) -> str:
    """A request with single blanks.

    :raises InvalidArgumentError: when it is empty or a novel.
    """
    text = " ".join(request.split())
    if not text or len(text) > _MAX_CHARS:
        raise InvalidArgumentError(
            f"a request has 1 to {_MAX_CHARS} characters", subject="request", remedy="Write one sentence"
        )
    return text
