"""Rerankers by name, for the server, the command and the jobs."""

from __future__ import annotations

from inference.reranker import Reranker
from retrieval.ranking.weights import FUSION

__all__ = ["open_reranker"]


def open_reranker(name: str) -> Reranker | None:
    """The reranker with this name; None for the fusion of features, which needs no model."""
    if name == FUSION:
        return None
    from inference import load_reranker

    return load_reranker(name)
