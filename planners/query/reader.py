"""The seam of readers: a request in words becomes a query graph, by rules or by a chat model."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Protocol

from inference.chat import ChatModel
from ontology.errors import InvalidArgumentError
from planners.query.domain import Domain
from planners.query.query_graph import QueryGraph

__all__ = ["PARSER_NAMES", "ParsedRequest", "Parser", "load_parser", "request_text"]

PARSER_NAMES = ("rules.v1", "llm.v1")
"""The names that :func:`load_parser` knows."""
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


def load_parser(name: str, model: ChatModel | None = None) -> Parser:
    """Load a parser by name.

    :param model: the chat model of ``llm.v1``.
    :raises InvalidArgumentError: when no parser has this name, and when ``llm.v1`` gets no model.
    """
    if name == "rules.v1":
        from planners.query.rules_reader import RulesParser

        return RulesParser()
    if name == "llm.v1" and model is not None:
        from planners.query.llm_reader import LlmParser

        return LlmParser(model)
    if name == "llm.v1":
        raise InvalidArgumentError(
            "the parser llm.v1 needs a chat model", subject="parser", remedy="Name its endpoint, or use rules.v1"
        )
    raise InvalidArgumentError(
        f"there is no parser {name!r}", subject="parser", remedy=f"Use one of: {', '.join(PARSER_NAMES)}"
    )


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
