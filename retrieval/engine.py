"""The interface ``Engine``: what a server needs from one loaded snapshot.

An engine never changes: another snapshot is another engine. A caller that holds one reference during a call gets all its
results from one snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from egotools.tool_plan import ToolPlan
from egotools.values import CatalogInfo, EgoGraph, NamespaceSummary
from ontology.tool import Tool
from retrieval.query.plan_request import PlanRequest
from retrieval.retriever import Retriever

__all__ = ["Engine"]


class Engine(Protocol):
    """One loaded snapshot. Every method is thread-safe."""

    @property
    def snapshot_id(self) -> str:
        """The snapshot's id: its content hash."""

    def retriever(self, preset: str = "") -> Retriever:
        """Return the retriever with this name; an empty name means the default preset.

        :raises InvalidArgumentError: for an unknown name, with subject ``preset`` and the list of presets.
        """

    def plan(self, request: PlanRequest) -> ToolPlan:
        """Return the calls that lead to goal tools, in order.

        :raises NotFoundError: naming a goal that the catalogue does not have.
        :raises InvalidArgumentError: for an unknown preset.
        :raises DeadlineError: between two stages, when the caller no longer waits.
        """

    def tool(self, tool_id: str) -> Tool:
        """Return the tool with this id.

        :raises NotFoundError: for an unknown id.
        """

    def neighbors(self, node: str, *, predicates: Sequence[str] = (), limit: int = 100) -> EgoGraph:
        """Return the ego graph of a node.

        :param node: a node key (``type:name``) or a tool id.
        :param predicates: only edges with these predicates; empty means all.
        :param limit: maximum number of edges, 1 or more.
        :raises NotFoundError: for an unknown node.
        """

    def catalog(self) -> CatalogInfo:
        """Return the description of the snapshot: models, counts and presets."""

    def namespaces(self) -> tuple[NamespaceSummary, ...]:
        """Return what the tools of each namespace are about; see :attr:`egotools.values.CatalogInfo.namespaces`."""

    def tool_ids(self, offset: int, limit: int) -> Sequence[str]:
        """Return up to ``limit`` tool ids from position ``offset``, in the snapshot's order; empty past the end."""

    def known_terms(self, text: str) -> frozenset[str]:
        """Return the index terms of a text that documents of the catalogue have."""

    def restricted(self, filters: Mapping[str, Sequence[str]]) -> Engine:
        """Return the engine of the tools that pass filters: for whoever asks it, no other tool exists.

        It is returned at once, and prepared at its first use, which is to be on a worker.

        :param filters: as in :attr:`egotools.values.Query.filters`; a value that no tool has lets no tool pass.
        """
