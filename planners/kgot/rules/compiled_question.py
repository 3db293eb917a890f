"""A resolved question as a query in the language of a graph."""

from __future__ import annotations

import json
from collections.abc import Callable

from planners.graphs.property_graph import Language
from planners.kgot.rules.cypher_question import cypher_of
from planners.kgot.rules.python_question import python_of
from planners.kgot.rules.resolved_question import ResolvedQuestion
from planners.kgot.rules.sparql_question import sparql_of

__all__ = ["compiled", "compiled_sum"]

_LANGUAGES: dict[Language, Callable[[ResolvedQuestion], str]] = {
    "cypher": cypher_of,
    "python": python_of,
    "sparql": sparql_of,
}
"""Language → who writes it."""


def compiled(question: ResolvedQuestion, language: Language) -> str:
    """Return the query."""
    return _LANGUAGES[language](question)


def compiled_sum(expression: str, language: Language) -> str:
    """Return a query that hands an expression on to who computes it: nothing of it stands in the graph."""
    text = json.dumps(expression)
    if language == "python":
        return f'result = [{{"expression": {text}}}]'
    return f"RETURN {text} AS expression" if language == "cypher" else f"SELECT ({text} AS ?expression) WHERE {{}}"
