"""A run: one system's answers to one set of requests, on disk line by line, so that a run that stops goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Answer", "Run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answered request.

    :param tools: tool ids, best first; empty when there was no answer.
    :param ms: stage → milliseconds, with ``total``.
    :param error: why there is no answer, or empty.
    """

    query_id: str
    tools: tuple[str, ...]
    ms: Mapping[str, float] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class Run:
    """All answers of one system to one set of requests.

    :param config: what the answers depend on beside the requests; ``config_hash`` is its SHA-256, 12 hex digits.
    :param answers: by query id; a request without an answer is absent or has ``error``: either way it scores 0.
    :param k: how many tools each answer could hold at most.
    :param resources: what it cost: ``build_s``, ``load_s``, ``resident_bytes``, ``tokens``, ``usd``; only what was measured.
    :param died: why the run stopped before its end, or empty.
    """

    system: str
    config: Mapping[str, Any]
    config_hash: str
    snapshot_id: str
    queries_sha256: str
    k: int
    answers: Mapping[str, Answer]
    resources: Mapping[str, float] = field(default_factory=dict)
    died: str = ""
