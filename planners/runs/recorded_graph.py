"""A property graph with a journal: a replay asks no store, and a run that goes on builds its graph anew by the writes that it made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter

from ontology.errors import EgotoolsError, InvalidArgumentError
from planners.graphs.property_graph import (
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
from planners.runs.journal_index import JournalIndex, request_key
from planners.runs.recorded_faults import fault_json, raise_fault
from planners.runs.run_journal import RunJournal, RunRecord, as_kept

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
        key, nth, earlier = self._request("apply", given)
        if earlier is not None:
            raise_fault(earlier.data)
            if self._inner is not None:
                await self._inner.apply(operations)
            return
        graph = self._graph("apply")
        try:
            await graph.apply(operations)
        except EgotoolsError as error:
            self._failed("apply", key, nth, error)
            raise
        self._journal.append("graph_ended", op="apply", key=key, nth=nth)

    async def query(
        self, text: str, parameters: Mapping[str, Value] | None = None, limits: QueryLimits = _LIMITS
    ) -> QueryRows:
        """See :class:`PropertyGraph`."""
        given = [text, dict(parameters or {}), asdict(limits)]
        key, nth, earlier = self._request("query", given)
        if earlier is not None:
            raise_fault(earlier.data)
            return _ROWS.validate_python(self._journal.payload(earlier.data["result"]))
        graph = self._graph("query")
        try:
            rows = await graph.query(text, parameters, limits)
        except EgotoolsError as error:
            self._failed("query", key, nth, error)
            raise
        made = _ROWS.dump_python(rows, mode="json")
        self._journal.append("graph_ended", op="query", key=key, nth=nth, result=self._journal.keep(made))
        return _ROWS.validate_python(as_kept(made))

    async def state(self) -> GraphState:
        """See :class:`PropertyGraph`."""
        key, nth, earlier = self._request("state", None)
        if earlier is not None:
            raise_fault(earlier.data)
            return _STATE.validate_python(self._journal.payload(earlier.data["state"]))
        graph = self._graph("state")
        try:
            state = await graph.state()
        except EgotoolsError as error:
            self._failed("state", key, nth, error)
            raise
        made = state_json(state)
        self._journal.append("graph_ended", op="state", key=key, nth=nth, state=self._journal.keep(made))
        return _STATE.validate_python(as_kept(made))

    def _request(self, op: str, given: Any) -> tuple[str, int, RunRecord | None]:
        key = request_key([op, given])
        nth = self._index.next(_GRAPH, key)
        return key, nth, self._index.last(_GRAPH, key, nth)

    def _graph(self, op: str) -> PropertyGraph:
        if self._inner is None:
            raise InvalidArgumentError(
                f"the journal has no answer of the graph to this {op}",
                subject="graph",
                remedy="Replay with the release that wrote it",
            )
        return self._inner

    def _failed(self, op: str, key: str, nth: int, error: EgotoolsError) -> None:
        self._journal.append("graph_failed", op=op, key=key, nth=nth, **fault_json(error))


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
