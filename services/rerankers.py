"""The reranker that a server, the command or a job asks, by its name."""

from __future__ import annotations

from inference.reranker import Reranker
from retrieval.snapshot.weights import FUSION

__all__ = ["open_reranker"]


def open_reranker(name: str) -> Reranker | None:
    """The reranker of this name; None for the embedded fusion, which ranks with the snapshot's own indexes."""
    if name == FUSION:
        return None
    from inference import load_reranker

    return load_reranker(name)
