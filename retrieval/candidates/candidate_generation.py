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
        if config.semantic_entries:
            context.entries += semantic_entries(context)
        if config.ngram_entries:
            context.entries += ngram_entries(context)
    with context.stage("ego"):
        found = list(_candidates(context, config))
        context.candidates = np.unique(np.concatenate((np.empty(0, dtype=np.int64), *found)))


def ensemble_tools(
    snapshot: Snapshot, entries: Sequence[EntryNode], allowed: NDArray[np.bool_] | None = None
) -> _Tools:
    """Return the allowed tools of the ensemble (the paper's algorithm 2, lines 6-10), ascending and distinct."""
    if not entries:
        return np.empty(0, dtype=np.int64)
    nodes = sorted({entry.node for entry in entries})
    return np.unique(np.concatenate([snapshot.ego_tools(node, allowed) for node in nodes]))


def _candidates(context: QueryContext, config: RetrievalConfig) -> Iterator[_Tools]:
    if config.ego_candidates:
        yield ensemble_tools(context.snapshot, context.entries, context.allowed)
    if config.text_candidates:
        query = context.query
        only_tools = context.snapshot.only_tools(context.allowed)
        yield _lexical_pool(context, query, "text", POOL)
        yield from (_lexical_pool(context, clause, "whole", CLAUSE_POOL) for clause in query.clauses)
        yield _semantic_pool(context, query, POOL, only_tools)
        yield from (_semantic_pool(context, clause, CLAUSE_POOL, only_tools) for clause in query.clauses)


def _lexical_pool(context: QueryContext, clause: Clause, field: str, size: int) -> _Tools:
    """The best allowed tools by BM25 over one field, in no order; those without any term of the clause are left out."""
    snapshot = context.snapshot
    scores = snapshot.fields[field].scores(clause.weights)
    if context.allowed is not None:
        scores[~context.allowed[: snapshot.tool_count]] = 0.0
    size = min(size, snapshot.tool_count)
    best = np.argpartition(-scores, size - 1)[:size]
    return best[scores[best] > 0].astype(np.int64)


def _semantic_pool(context: QueryContext, clause: Clause, size: int, only_tools: NDArray[np.bool_]) -> _Tools:
    """The tools nearest to a clause by cosine; none where it has no vector."""
    if clause.vector_D is None:
        return np.empty(0, dtype=np.int64)
    snapshot = context.snapshot
    size = min(size, snapshot.tool_count)
    return snapshot.vectors.nearest(clause.vector_D, size, allowed=only_tools, ef_search=_EF_SEARCH)[0]
