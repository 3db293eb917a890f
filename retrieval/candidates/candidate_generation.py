"""Candidate generation: the tools that are ranked at all, from the ego graphs and from text search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrieval.candidates.entry_nodes import ngram_entries, semantic_entries
from retrieval.config import RetrievalConfig
from retrieval.index.vectors import Nearest
from retrieval.query.context import QueryContext
from retrieval.query.query import Clause

__all__ = ["CLAUSE_POOL", "POOL", "ensemble_tools", "generate_candidates"]

POOL = 100
"""How many of the best tools of each text search become candidates."""
CLAUSE_POOL = 25
"""The same for each clause."""
_EF_SEARCH = 160  # lower than the default of the index: a tool missed at the end of the pool is rarely in the answer

_Tools: TypeAlias = NDArray[np.int64]


def generate_candidates(context: QueryContext, config: RetrievalConfig) -> None:
    """Find the entry nodes and the candidates of a request, and record both in its context."""
    with context.stage("entry"):
        # The nearest tools are candidates and may be entry nodes: one search finds them for both.
        tools = _nearest_tools(context, context.query, POOL) if config.text_candidates else None
        if config.semantic_entries:
            context.entries += semantic_entries(context, tools=tools)
        if config.ngram_entries:
            context.entries += ngram_entries(context)
    with context.stage("ego"):
        found = list(_candidates(context, config, tools))
        context.candidates = np.unique(np.concatenate((np.empty(0, dtype=np.int64), *found)))


def ensemble_tools(context: QueryContext, allowed: NDArray[np.bool_] | None = None) -> _Tools:
    """Return the allowed tools of the ensemble (the paper's algorithm 2, lines 6-10), ascending and distinct."""
    found = np.zeros(context.snapshot.tool_count, dtype=bool)
    for node in {entry.node for entry in context.entries}:
        found[context.ego_tools(node)] = True
    return np.flatnonzero(found if allowed is None else found & allowed[: len(found)])


def _candidates(context: QueryContext, config: RetrievalConfig, tools: Nearest | None) -> Iterator[_Tools]:
    if config.ego_candidates:
        yield ensemble_tools(context, context.allowed)
    if config.text_candidates:
        query = context.query
        yield _lexical_pool(context, query, "text", POOL)
        yield from (_lexical_pool(context, clause, "whole", CLAUSE_POOL) for clause in query.clauses)
        nearest = (tools, *(_nearest_tools(context, clause, CLAUSE_POOL) for clause in query.clauses))
        yield from (found[0] for found in nearest if found is not None)


def _lexical_pool(context: QueryContext, clause: Clause, field: str, size: int) -> _Tools:
    """The best allowed tools by BM25 over one field; those without any term of the clause are left out."""
    return context.snapshot.fields[field].best(clause.weights, size, allowed=context.allowed)


def _nearest_tools(context: QueryContext, clause: Clause, size: int) -> Nearest | None:
    """The tools nearest to a clause by cosine; None where it has no vector."""
    if clause.vector_D is None:
        return None
    vectors = context.snapshot.vectors
    return vectors.nearest_tools(clause.vector_D, size, allowed=context.allowed, ef_search=_EF_SEARCH)
