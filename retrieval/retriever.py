"""The interface ``Retriever``: it returns ranked tools with reasons for a request."""

from __future__ import annotations

from typing import Protocol

from egotools.values import Response
from retrieval.query.request import Request

__all__ = ["Retriever"]


class Retriever(Protocol):
    """Finds the tools that a request needs."""

    @property
    def name(self) -> str:
        """The preset's name: ``paper``, ``default``, ``semantic``, ``bm25-regex-title``, ``hybrid``, …"""

    def retrieve(self, request: Request) -> Response:
        """The tools that the request needs, best first; ties by tool id. Thread-safe.

        :raises DeadlineError: between two stages, when the deadline has passed or the request was cancelled.
        """
