"""A property graph with a journal: a replay asks no store, and a run that goes on builds its graph anew by the writes that it made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter

from ontology.errors import EgotoolsError
from planners.journal.journal_index import JournalIndex, request_key
from planners.journal.recorded_faults import fault_json, not_recorded, raise_fault
from planners.journal.run_journal import RunJournal, as_kept
from planners.stores.property_graph import (
    DeleteNode,
    GraphState,
    Language,
    NodeRef,
    Operation,
    PropertyGraph,
    QueryLimits,
    QueryRows,
    Value,
)

__all__ = ["RecordedGraph", "empty_graph", "state_json"]

_GRAPH = "graph"
_LIMITS = QueryLimits()
_STATE: TypeAdapter[GraphState] = TypeAdapter(GraphState)
_ROWS: TypeAdapter[QueryRows] = TypeAdapter(QueryRows)


class RecordedGraph:
    """Writes what a graph answers to a journal: rows, states, and the faults of statements.

    With a graph, the writes of an earlier process are made again, because the graph of a run is begun empty. Its queries are not
    asked again. Each answer is that of the first time, also where the engine gives rows in another order now.

    :param inner: None in a replay, which has no engine.
    :param language: of the graph, in a replay.
    """

    def __init__(
        self,
        inner: PropertyGraph | None,
        journal: RunJournal,
        *,
        language: Language = "cypher",
        index: JournalIndex | None = None,
    ) -> None:
        self._inner = inner
        self._journal = journal
        self._language = language if inner is None else inner.language
        self._index = index or JournalIndex(journal)

    @property
    def language(self) -> Language:
        """See :class:`PropertyGraph`."""
        return self._language

    async def apply(self, operations: Sequence[Operation]) -> None:
        """See :class:`PropertyGraph`."""
        given = [[type(each).__name__, asdict(each)] for each in operations]
        await self._once("apply", given, lambda graph: graph.apply(operations))

    async def query(
        self, text: str, parameters: Mapping[str, Value] | None = None, limits: QueryLimits = _LIMITS
    ) -> QueryRows:
        """See :class:`PropertyGraph`."""
        given = [text, dict(parameters or {}), asdict(limits)]
        return _ROWS.validate_python(
            await self._once("query", given, lambda graph: graph.query(text, parameters, limits), ("result", _ROWS))
        )

    async def state(self) -> GraphState:
        """See :class:`PropertyGraph`."""
        return _STATE.validate_python(await self._once("state", None, lambda graph: graph.state(), ("state", _STATE)))

    async def _once(
        self,
        op: str,
        given: Any,
        ask: Callable[[PropertyGraph], Awaitable[Any]],
        answer: tuple[str, TypeAdapter[Any]] | None = None,
    ) -> Any:
        """Return what the graph answers, as the journal keeps it; a write that it has is made again.

        :param given: what the request is known by.
        :param answer: field of the record, and the form of its payload; None of a write.
        """
        key = request_key([op, given])
        nth = self._index.next(_GRAPH, key)
        earlier = self._index.last(_GRAPH, key, nth)
        if earlier is not None:
            raise_fault(earlier.data)
            if answer is not None:
                return self._journal.payload(earlier.data[answer[0]])
            return await ask(self._inner) if self._inner is not None else None
        if self._inner is None:
            raise not_recorded(f"the journal has no answer of the graph to this {op}", subject="graph")
        try:
            found = await ask(self._inner)
        except EgotoolsError as error:
            self._journal.append("graph_failed", op=op, key=key, nth=nth, **fault_json(error))
            raise
        made = answer[1].dump_python(found, mode="json") if answer is not None else None
        kept = {answer[0]: self._journal.keep(made)} if answer is not None else {}
        self._journal.append("graph_ended", op=op, key=key, nth=nth, **kept)
        return as_kept(made)


def state_json(state: GraphState) -> dict[str, Any]:
    """Return a state as JSON values."""
    made: dict[str, Any] = _STATE.dump_python(state, mode="json")
    return made


async def empty_graph(graph: PropertyGraph) -> None:
    """Delete every node.

    :raises StorageError: when the engine cannot be reached.
    """
    labels = sorted({node.label for node in (await graph.state()).nodes})
    if labels:
        await graph.apply([DeleteNode(node=NodeRef(label=label, key={})) for label in labels])
