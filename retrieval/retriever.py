"""The interface ``Retriever``: it returns ranked tools with reasons for a request; and which stages a retriever has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from egotools.values import Response
from retrieval.query.request import Request

DEPENDENCIES = frozenset({"depends_on", "resolved_by", "supplies"})
"""The predicates by which one tool needs another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalConfig:
    """Which stages a retriever runs. How much each ranking feature counts is a weight, not a stage.

    :param typed_values: values in the request are typed, and not matched as words.
    :param phrases: everyday phrases of the tools count, where the catalogue has any.
    :param semantic_entries: the nodes nearest to the request are entry nodes.
    :param ngram_entries: the nodes that the request names are entry nodes.
    :param ego_candidates: the tools of the ensemble of ego graphs are candidates.
    :param text_candidates: the best tools of text search, lexical and semantic, are candidates.
    :param query_decomposition: the clauses of the request are matched too.
    :param resolver_boost: the tools that supply the open inputs of the best tools join the answer.
    :param dependency_expansion: the tools that must be called before the best tools join the answer.
    :param dependency_edges: the edges of :data:`DEPENDENCIES` are used in any stage.
    """

    typed_values: bool = True
    phrases: bool = True
    semantic_entries: bool = True
    ngram_entries: bool = True
    ego_candidates: bool = True
    text_candidates: bool = True
    query_decomposition: bool = True
    resolver_boost: bool = True
    dependency_expansion: bool = True
    dependency_edges: bool = True


DEFAULT = RetrievalConfig()
PAPER = RetrievalConfig(
    typed_values=False,
    phrases=False,
    text_candidates=False,
    query_decomposition=False,
    resolver_boost=False,
    dependency_expansion=False,
)
"""The stages of the paper's algorithm 2 as printed; the graph, its edges between tools included, and the models are ours."""
PLAIN = RetrievalConfig(typed_values=False, phrases=False, query_decomposition=False)
"""A request that is matched as it is, all of it words: for baselines."""


class Retriever(Protocol):
    """Finds the tools that a request needs."""

    @property
    def name(self) -> str:
        """The preset's name: ``paper``, ``default``, ``semantic``, ``bm25``, ``hybrid``, …"""

    def retrieve(self, request: Request) -> Response:
        """The tools that the request needs, best first; ties by tool id. Thread-safe.

        :raises DeadlineError: between two stages, when the deadline has passed or the request was cancelled.
        """
