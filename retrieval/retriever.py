"""The seam ``Retriever``: a request in, the ranked and explained tools out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from egotools.values import Response
from ontology.errors import DeadlineError, InvalidArgumentError

__all__ = ["MAX_K", "MAX_QUERY_CHARS", "Request", "Retriever"]

MAX_K = 1_000
MAX_QUERY_CHARS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request.

    :param query: the request in plain words, 1 to 20,000 characters with at least one letter or digit.
    :param k: how many tools at most, 1 to 1,000.
    :param auto_k: answer with as few tools as are expected to be enough, and with none where no tool fits.
    :param filters: metadata key → allowed values; a tool must match every key. Applied before matching.
    :param deadline: ``time.monotonic()`` second after which no further stage is started, or None.
    :raises InvalidArgumentError: naming the field.
    """

    query: str
    k: int = 10
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    explain: bool = True
    deadline: float | None = None
    auto_k: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MAX_K:
            raise InvalidArgumentError(f"k must be from 1 to {MAX_K}, not {self.k}", subject="k")
        if len(self.query) > MAX_QUERY_CHARS:
            raise InvalidArgumentError(
                f"the query has {len(self.query)} characters; at most {MAX_QUERY_CHARS} are taken",
                subject="query",
                remedy="Send the request itself, not the conversation",
            )
        if any("\ud800" <= character <= "\udfff" for character in self.query):
            raise InvalidArgumentError("the query is not valid Unicode", subject="query", remedy="Send it as UTF-8")
        if not any(character.isalnum() for character in self.query):
            raise InvalidArgumentError(
                "the query has no letter or digit", subject="query", remedy="Say in words what is needed"
            )

    def check_deadline(self, stage: str) -> None:
        """Raise DeadlineError when the caller's time is over before ``stage``."""
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise DeadlineError("the deadline passed before this stage", subject=stage)


class Retriever(Protocol):
    """Finds the tools that a request needs."""

    @property
    def name(self) -> str:
        """The preset's name: ``paper``, ``default``, ``semantic``, ``bm25-regex-title``, ``hybrid``, …"""

    def retrieve(self, request: Request) -> Response:
        """The tools that the request needs, best first; ties by tool id. Thread-safe.

        :raises DeadlineError: when the request's time is over between two stages.
        """
