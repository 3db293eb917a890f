"""Candidate generation: the tools that are ranked at all, from the ego graphs and from text search."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrieval.index.phrases import PHRASES_FIELD
from retrieval.index.vectors import Nearest
from retrieval.query.context import EntryNode, QueryContext
from retrieval.query.query import Clause

SEMANTIC_ENTRIES = 10  # paper: the top-10 most similar nodes


def semantic_entries(context: QueryContext, *, tools: Nearest | None = None) -> list[EntryNode]:
    """Return the ten allowed nodes of any type nearest to the request, best first; none where the query has no
    vector. ``tools``: the nearest tools, ten or more, where they are known."""
    query_D, allowed = context.query.vector_D, context.allowed
    if query_D is None:
        return []
    nodes, scores = context.snapshot.vectors.nearest(query_D, SEMANTIC_ENTRIES, allowed=allowed, tools=tools)
    return [EntryNode(int(node), "semantic", "", float(score)) for node, score in zip(nodes, scores, strict=True)]


def ngram_entries(context: QueryContext) -> list[EntryNode]:
    """Return every allowed node whose canonical name is a unigram, bigram or trigram of the request, longest n-gram first."""
    snapshot, allowed, ngrams = context.snapshot, context.allowed, context.query.ngrams
    found: dict[int, EntryNode] = {}
    for ngram, nodes in zip(ngrams, snapshot.ngrams.many(ngrams), strict=True):
        for node in map(int, nodes):
            if node in found or (allowed is not None and not allowed[node]):
                continue
            found[node] = EntryNode(node, "ngram", ngram, snapshot.idf(node))
    return list(found.values())


POOL = 100  # how many of the best tools of each text search become candidates
CLAUSE_POOL = 25  # the same for each clause
PHRASE_POOL = 60  # how many of the best tools by the words of everyday phrases become candidates
# How many tools of ego graphs become candidates, those of the rarest entry nodes first: a hub of real documents has a
# quarter of all tools. Chosen for its time; between 400 and 5,000 no set changes at 10.
EGO_TOOLS = 400

_Tools: TypeAlias = NDArray[np.int64]


def generate_candidates(context: QueryContext) -> None:
    """Find the entry nodes and the candidates of a request, and record both in its context."""
    config, query, allowed = context.config, context.query, context.allowed
    with context.stage("entry"):
        # The nearest tools are candidates and may be entry nodes: one search finds them for both.
        tools = _nearest_tools(context, query, POOL) if config.text_candidates else None
        if config.semantic_entries:
            context.entries += semantic_entries(context, tools=tools)
        if config.ngram_entries:
            context.entries += ngram_entries(context)
    with context.stage("ego"):
        found: list[_Tools] = [np.empty(0, dtype=np.int64), *(np.asarray(named, np.int64) for named in context.named)]
        if config.ego_candidates:
            limit = EGO_TOOLS if config.text_candidates else None  # the algorithm as printed has none
            found.append(ensemble_tools(context, allowed, limit=limit))
        if config.text_candidates:
            fields = context.snapshot.fields
            found.append(fields["text"].best(query.weights, POOL, allowed=allowed))
            found += [fields["whole"].best(clause.weights, CLAUSE_POOL, allowed=allowed) for clause in query.clauses]
            nearest = (tools, *(_nearest_tools(context, clause, CLAUSE_POOL) for clause in query.clauses))
            found += [each[0] for each in nearest if each is not None]
            support = context.support_by_values(query.values)
            fitting = [tool for tool in support if allowed is None or allowed[tool]]
            fitting.sort(key=lambda tool: (-support[tool], tool))
            found.append(np.asarray(fitting[:CLAUSE_POOL], dtype=np.int64))
            parts = ((query, PHRASE_POOL), *((clause, CLAUSE_POOL) for clause in query.clauses))
            for part, size in parts if context.phrases is not None else ():
                found.append(fields[PHRASES_FIELD].best(part.weights, size, allowed=allowed))
        context.candidates = np.unique(np.concatenate(found))


def ensemble_tools(
    context: QueryContext, allowed: NDArray[np.bool_] | None = None, *, limit: int | None = None
) -> _Tools:
    """Return the allowed tools of the ensemble (the paper's algorithm 2, lines 6-10), ascending and distinct."""
    degrees = context.snapshot.tool_degrees
    found = np.zeros(context.snapshot.tool_count, dtype=bool)
    number = 0
    for node in sorted({entry.node for entry in context.entries}, key=lambda node: (int(degrees[node]), node)):
        tools = context.ego_tools(node)
        more = tools[~found[tools] & (True if allowed is None else allowed[tools])]
        if limit is not None and number + len(more) > limit:
            break
        found[more] = True
        number += len(more)
    return np.flatnonzero(found)


def _nearest_tools(context: QueryContext, clause: Clause, size: int) -> Nearest | None:
    """The tools nearest to a clause by cosine; None where it has no vector."""
    if clause.vector_D is None:
        return None
    vectors = context.snapshot.vectors
    return vectors.nearest_tools(clause.vector_D, size, allowed=context.allowed)
