"""Words to a typed query graph over a domain: the graph and its faults, the domain, dates, and the readers by rules and by a model."""

from __future__ import annotations

from inference.chat import ChatModel
from ontology.errors import InvalidArgumentError
from planners.query.query_graph import Parser

__all__ = ["PARSER_NAMES", "load_parser"]

PARSER_NAMES = ("rules.v1", "llm.v1")  # the names that load_parser knows


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
    problem, remedy = f"there is no parser {name!r}", f"Use one of: {', '.join(PARSER_NAMES)}"
    if name == "llm.v1":
        problem, remedy = "the parser llm.v1 needs a chat model", "Name its endpoint, or use rules.v1"
    raise InvalidArgumentError(problem, subject="parser", remedy=remedy)
