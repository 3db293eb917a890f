"""Candidate generation: the tools that are ranked at all, from the ego graphs and from text search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrieval.candidates.entry_nodes import ngram_entries, semantic_entries
from retrieval.config import RetrievalConfig
from retrieval.query.context import EntryNode, QueryContext
from retrieval.query.query import Clause
from retrieval.snapshot.reader import Snapshot

__all__ = ["CLAUSE_POOL", "EF_SEARCH", "EGO_TOOLS", "POOL", "ensemble_tools", "generate_candidates"]

POOL = 100
"""How many of the best tools of each text search become candidates."""
CLAUSE_POOL = 25
"""The same for each clause."""
EGO_TOOLS = 5_000
"""How many tools of ego graphs become candidates. Chosen, not tuned: a hub of real documents has a quarter of all tools."""
EF_SEARCH = 160  # lower than the default of the index: a tool missed at the end of the pool is rarely in the answer

_Tools: TypeAlias = NDArray[np.int64]


def generate_candidates(context: QueryContext, config: RetrievalConfig) -> None:
    """Find the entry nodes and the candidates of a request, and record both in its context."""
    with context.stage("entry"):
        if config.semantic_entries:
            context.entries += semantic_entries(context)
        if config.ngram_entries:
            context.entries += ngram_entries(context)
    with context.stage("ego"):
        found = list(_candidates(context, config))
        context.candidates = np.unique(np.concatenate((np.empty(0, dtype=np.int64), *found)))


def ensemble_tools(
    snapshot: Snapshot,
    entries: Sequence[EntryNode],
    allowed: NDArray[np.bool_] | None = None,
    *,
    limit: int | None = None,
) -> _Tools:
    """Return the allowed tools of the ensemble (the paper's algorithm 2, lines 6-10), ascending and distinct.

    :param limit: with it the rarest entry nodes come first, and those with which there would be more tools are left out.
    """
    degrees = snapshot.tool_degrees
    found = np.empty(0, dtype=np.int64)
    nodes = sorted({entry.node for entry in entries}, key=lambda node: (int(degrees[node]), node))
    if limit is None or sum(int(degrees[node]) + 1 for node in nodes) <= limit:
        return np.unique(np.concatenate([found, *(snapshot.ego_tools(node, allowed) for node in nodes)]))
    for node in nodes:
        more = np.union1d(found, snapshot.ego_tools(node, allowed))
        if len(more) > limit:
            break
        found = more
    return found


def _candidates(context: QueryContext, config: RetrievalConfig) -> Iterator[_Tools]:
    if config.ego_candidates:
        limit = EGO_TOOLS if config.text_candidates else None  # the algorithm as printed has none
        yield ensemble_tools(context.snapshot, context.entries, context.allowed, limit=limit)
    if config.text_candidates:
        query = context.query
        yield _lexical_pool(context, query, "text", POOL)
        yield from (_lexical_pool(context, clause, "whole", CLAUSE_POOL) for clause in query.clauses)
        yield _semantic_pool(context, query, POOL)
        yield from (_semantic_pool(context, clause, CLAUSE_POOL) for clause in query.clauses)


def _lexical_pool(context: QueryContext, clause: Clause, field: str, size: int) -> _Tools:
    """The best allowed tools by BM25 over one field; those without any term of the clause are left out."""
    return context.snapshot.fields[field].best(clause.terms, size, allowed=context.allowed)


def _semantic_pool(context: QueryContext, clause: Clause, size: int) -> _Tools:
    """The tools nearest to a clause by cosine; none where it has no vector."""
    if clause.vector_D is None:
        return np.empty(0, dtype=np.int64)
    vectors = context.snapshot.vectors
    return vectors.nearest_tools(clause.vector_D, size, allowed=context.allowed, ef_search=EF_SEARCH)[0]
