"""The interface ``System``: anything that ranks tools for a request and can be measured; and the ways in which it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["ASKED", "NEEDS", "NEEDS_ALONE", "WHOLE", "Ranked", "System", "asked_name"]

WHOLE, NEEDS, NEEDS_ALONE = "whole", "needs", "needs-alone"
ASKED: Mapping[str, str] = {
    WHOLE: "the whole request",
    NEEDS: "its recorded needs, with the request as context",
    NEEDS_ALONE: "its recorded needs alone",
}
"""What a system is sent of a request."""


def asked_name(system: str, asked: str) -> str:
    """The name of a system that is asked in this way: ``default`` for whole requests, ``default@needs``, ``default@needs-alone``."""
    return system if asked == WHOLE else f"{system}@{asked}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One answer.

    :param tools: tool ids, best first, distinct.
    :param ms: map from stage to milliseconds; always has ``total``.
    :param fallbacks: parts that the system left out, and why.
    :param abstained: whether it says that no tool serves the request; it may return tools all the same.
    """

    tools: tuple[str, ...]
    ms: Mapping[str, float]
    fallbacks: tuple[str, ...] = ()
    abstained: bool = False


class System(Protocol):
    """Answers requests. Not shared between threads."""

    @property
    def name(self) -> str:
        """The name in the tables: ``default``, ``bm25-regex-title``, ``grpc:127.0.0.1:50051/paper``, …"""

    @property
    def config(self) -> Mapping[str, Any]:
        """Everything that its answers depend on in addition to the request, as JSON values; its hash is stored with results."""

    def ask(self, query: str, *, k: int, timeout_s: float, needs: Sequence[str] = ()) -> Ranked:
        """Return the best ``k`` tools for a request.

        :param query: the request; empty where it is asked by its needs alone.
        :param needs: what it needs, a phrase each; only given where the system is measured on needs.

        :raises DeadlineError: when it took longer than ``timeout_s``; the next request may be sent.
        :raises EgotoolsError: when this request cannot be answered. ModelError and NotReadyError mean that the system
            is unavailable.
        """
