"""The engine of a caller that sees a part of a catalogue. It is prepared at its first use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from egotools.tool_plan import ToolPlan
from egotools.values import CatalogInfo, EgoGraph, NamespaceSummary
from ontology.tool import Tool
from retrieval.engine import Engine
from retrieval.query.plan_request import PlanRequest
from retrieval.retriever import Retriever

__all__ = ["RestrictedEngine"]


class RestrictedEngine:
    """The implementation of :class:`retrieval.engine.Engine` over the visible part of another. Thread-safe.

    :param snapshot_id: the id of the snapshot, which is that of the whole.
    :param make: makes the engine of the visible part; called once, by the first call that needs it.
    """

    def __init__(self, snapshot_id: str, make: Callable[[], Engine]) -> None:
        self.snapshot_id = snapshot_id
        self._make = make
        self._made: Engine | None = None
        self._lock = threading.Lock()

    @property
    def _engine(self) -> Engine:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def retriever(self, preset: str = "") -> Retriever:
        """Return the retriever with this name over the visible tools."""
        return self._engine.retriever(preset)

    def plan(self, request: PlanRequest) -> ToolPlan:
        """Return the calls that lead to goal tools, of visible tools; a hidden goal is not found."""
        return self._engine.plan(request)

    def tool(self, tool_id: str) -> Tool:
        """Return a visible tool; a hidden one is not found."""
        return self._engine.tool(tool_id)

    def neighbors(self, node: str, *, predicates: Sequence[str] = (), limit: int = 100) -> EgoGraph:
        """Return the visible part of the ego graph of a node."""
        return self._engine.neighbors(node, predicates=predicates, limit=limit)

    def catalog(self) -> CatalogInfo:
        """Return the description of the snapshot, with the counts of what is visible."""
        return self._engine.catalog()

    def namespaces(self) -> tuple[NamespaceSummary, ...]:
        """Return what the visible tools of each namespace are about."""
        return self._engine.namespaces()

    def tool_ids(self, offset: int, limit: int) -> Sequence[str]:
        """Return up to ``limit`` ids of visible tools from position ``offset`` among these."""
        return self._engine.tool_ids(offset, limit)

    def known_terms(self, text: str) -> frozenset[str]:
        """Return the index terms of a text that visible tools have."""
        return self._engine.known_terms(text)

    def restricted(self, filters: Mapping[str, Sequence[str]]) -> Engine:
        """Return the engine of a part of the visible part."""
        return RestrictedEngine(self.snapshot_id, lambda: self._engine.restricted(filters))
