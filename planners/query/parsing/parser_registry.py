"""Parsers by their versioned names."""

from __future__ import annotations

from inference.chat import ChatModel
from ontology.errors import InvalidArgumentError
from planners.query.parsing.request_parser import Parser

__all__ = ["PARSER_NAMES", "load_parser"]

PARSER_NAMES = ("rules.v1", "llm.v1")
"""The names that :func:`load_parser` knows."""


def load_parser(name: str, model: ChatModel | None = None) -> Parser:
    """Load a parser by name.

    :param model: the chat model of ``llm.v1``.
    :raises InvalidArgumentError: when no parser has this name, and when ``llm.v1`` gets no model.
    """
    if name == "rules.v1":
        from planners.query.parsing.rules_parser import RulesParser

        return RulesParser()
    if name == "llm.v1" and model is not None:
        from planners.query.parsing.llm_parser import LlmParser

        return LlmParser(model)
    if name == "llm.v1":
        raise InvalidArgumentError(
            "the parser llm.v1 needs a chat model", subject="parser", remedy="Name its endpoint, or use rules.v1"
        )
    raise InvalidArgumentError(
        f"there is no parser {name!r}", subject="parser", remedy=f"Use one of: {', '.join(PARSER_NAMES)}"
    )
