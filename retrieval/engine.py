"""The seam ``Engine``: all that a server asks of one loaded snapshot, and the values it answers with.

An engine never changes: another snapshot is another engine, so whoever holds one reference for the time of a call
answers from one snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from egotools.values import CatalogInfo, EgoGraph
from ontology.tool import Tool
from retrieval.retriever import Retriever

__all__ = ["Engine"]


class Engine(Protocol):
    """One loaded snapshot, ready to answer. Every method is thread-safe."""

    @property
    def snapshot_id(self) -> str:
        """The snapshot's id: its content hash."""

    def retriever(self, preset: str = "") -> Retriever:
        """The retriever of that name; an empty name means the default preset.

        :raises InvalidArgumentError: with subject ``preset``, listing the presets, when there is none of that name.
        """

    def tool(self, tool_id: str) -> Tool:
        """The tool of that id.

        :raises NotFoundError: when there is none.
        """

    def neighbors(self, node: str, *, predicates: Sequence[str] = (), limit: int = 100) -> EgoGraph:
        """The ego graph of a node.

        :param node: a node key (``type:name``) or a tool id.
        :param predicates: only edges of these; empty means all.
        :param limit: how many edges at most, 1 or more.
        :raises NotFoundError: when there is no such node.
        """

    def catalog(self) -> CatalogInfo:
        """What the snapshot holds."""

    def tool_ids(self, offset: int, limit: int) -> Sequence[str]:
        """Up to ``limit`` tool ids from position ``offset``, in the snapshot's order; empty past the end."""
