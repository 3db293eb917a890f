"""The kind of a fallback, for counting: the sentence itself may contain ids that a caller sent."""

from __future__ import annotations

__all__ = ["FALLBACK_KINDS", "fallback_kind"]

_BEGINNINGS = {
    "no semantic matching": "encoder",
    "no query model": "query-model",
    "query model": "query-needs",
    "no reranking": "reranker",
    "reranked by": "reranker",
    "reranked the best": "reranker-limit",
    "no tool passes": "filters",
    "no tool fits": "unanswerable",
    "done:": "unknown-done",
    "auto_k:": "no-estimate",
    "abstain:": "no-estimate",
}
_OTHER = "other"
FALLBACK_KINDS = (*dict.fromkeys(_BEGINNINGS.values()), _OTHER)
"""Every kind. ``encoder``, ``reranker`` and ``query-model``: the model is down or late; ``query-needs``: it wrote none, or unusable ones."""


def fallback_kind(sentence: str) -> str:
    """Return the kind of a sentence of ``RetrieveResponse.fallbacks``."""
    return next((kind for beginning, kind in _BEGINNINGS.items() if sentence.startswith(beginning)), _OTHER)
