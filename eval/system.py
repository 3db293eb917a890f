"""The interface ``System``: anything that ranks tools for a request and can be measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Ranked", "System"]


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

    def ask(self, query: str, *, k: int, timeout_s: float) -> Ranked:
        """Return the best ``k`` tools for a request.

        :raises DeadlineError: when it took longer than ``timeout_s``; the next request may be sent.
        :raises EgotoolsError: when this request cannot be answered. ModelError and NotReadyError mean that the system
            is unavailable.
        """
