"""The property graph of a task as RDF, asked in SPARQL: embedded, or in a named graph of an endpoint.

Typed operations are planned on the rows of the graph; what differs becomes one update of DELETE DATA and INSERT DATA.
Statements of a model are evaluated on a copy, in a process of their own, and must leave a property graph.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from ontology.errors import StatementError, StorageError
from planners.stores.graph_state import state_of_rows
from planners.stores.property_graph import GraphState, Language, Operation, QueryLimits, QueryRows, Statement, Value
from planners.stores.property_rows import PropertyRows, apply_typed
from planners.stores.rdf.oxigraph_process import EmbeddedEngine, OxigraphProcess, RdfAnswer
from planners.stores.rdf.rdf_layout import RdfRows, rows_of_triples, triples_of_rows
from planners.stores.rdf.rdf_terms import RdfTerm, Triple, name_of_iri, value_of_literal
from planners.stores.rdf.sparql_allow_list import allowed_query, allowed_update
from planners.stores.rdf.sparql_endpoint import EndpointEngine
from planners.stores.statement_effect import check_effect

__all__ = ["RdfGraph", "open_rdf_graph"]

_LIMITS = QueryLimits()
_WRITE_S = 30.0
"""Seconds for one statement: chosen as that of the other stores."""


class RdfEngine(Protocol):
    """What keeps the triples of one graph."""

    async def read(self) -> set[Triple]:
        """Return all triples."""
        ...

    async def change(self, removed: set[Triple], added: set[Triple]) -> None:
        """Remove and add triples: both, or nothing."""
        ...

    async def select(self, text: str, rows: int, seconds: float) -> RdfAnswer:
        """Run a query that was checked."""
        ...

    async def close(self) -> None:
        """Forget the graph."""
        ...


@contextlib.asynccontextmanager
async def open_rdf_graph(url: str | None = None) -> AsyncIterator[RdfGraph]:
    """Open an empty graph; it is gone at the end.

    :param url: of an endpoint; None: embedded.
    :raises InvalidArgumentError: when it is no http or https address.
    :raises MissingExtraError: when pyoxigraph is not installed; an endpoint needs it too, for statements of a model.
    :raises StorageError: when the endpoint cannot be reached.
    """
    process = OxigraphProcess()
    engine: RdfEngine = EmbeddedEngine(process) if url is None else EndpointEngine(url)
    try:
        await engine.read()  # fail at once when the endpoint is down
        yield RdfGraph(engine, process)
    finally:
        await process.close()
        with contextlib.suppress(StorageError):  # a dead endpoint keeps the graph; it is of no other task
            await engine.close()


class RdfGraph:
    """A graph of triples, laid out as :mod:`planners.stores.rdf.rdf_layout` says. :func:`open_rdf_graph` makes it.

    :param engine: keeps the triples.
    :param process: evaluates statements.
    """

    def __init__(self, engine: RdfEngine, process: OxigraphProcess) -> None:
        self._engine = engine
        self._process = process
        self._lock = asyncio.Lock()
        self._seen: tuple[set[Triple], RdfRows, set[Triple]] = (set(), RdfRows(rows=PropertyRows()), set())

    @property
    def language(self) -> Language:
        """SPARQL."""
        return "sparql"

    async def apply(self, operations: Sequence[Operation]) -> None:
        """Apply operations in their order: all, or none where one fails. Calls wait for one another."""
        async with self._lock:
            before, standing = await self._read()
            after = before.copy()
            for operation in operations:
                if isinstance(operation, Statement):
                    after = await self._after_statement(after, operation)
                else:
                    apply_typed(after.rows, operation)
            wanted = triples_of_rows(after)
            await self._engine.change(standing - wanted, wanted - standing)
            self._seen = (wanted, after, wanted)

    async def query(
        self, text: str, parameters: Mapping[str, Value] | None = None, limits: QueryLimits = _LIMITS
    ) -> QueryRows:
        """Read by SELECT or ASK (one row, ``result``). A resource that is a node is given with label and properties."""
        allowed = allowed_query(text, parameters or {}, limits.rows)
        answer = await self._engine.select(allowed, limits.rows, limits.seconds)
        if isinstance(answer, bool):
            return QueryRows(columns=("result",), rows=((answer,),))
        columns, found = answer
        resources: dict[RdfTerm, object] = {}
        if any(term is not None and term.kind == "iri" for row in found for term in row):
            resources = _resource_values((await self._read())[0])
        rows = tuple(tuple(_json(term, resources) for term in row) for row in found[: limits.rows])
        return QueryRows(columns=columns, rows=rows, cut=len(found) > limits.rows)

    async def state(self) -> GraphState:
        """Return the whole graph."""
        return state_of_rows((await self._read())[0].rows)

    async def _read(self) -> tuple[RdfRows, set[Triple]]:
        """Return the graph and its triples as this writes them; what was read before is not taken apart again."""
        triples = await self._engine.read()
        if triples != self._seen[0]:
            rows = rows_of_triples(triples)
            self._seen = (triples, rows, triples_of_rows(rows))
        return self._seen[1].copy(), self._seen[2]

    async def _after_statement(self, before: RdfRows, statement: Statement) -> RdfRows:
        allowed = allowed_update(statement.text, statement.parameters)
        triples = triples_of_rows(before)
        after = rows_of_triples(await self._process.updated(triples, allowed, _WRITE_S), before)
        check_effect(before.node_iris(), after.node_iris())
        return after


def _resource_values(graph: RdfRows) -> dict[RdfTerm, object]:
    """Return what queries give for the nodes and edges that have a resource."""
    rows = graph.rows
    values: dict[RdfTerm, object] = {}
    for key, resource in graph.resources.items():
        if key in rows.nodes:
            node = rows.nodes[key]
            values[resource] = {"label": node.label, "properties": _json_properties(node.properties)}
        else:
            edge = rows.edges[key]
            values[resource] = {"type": edge.type, "properties": _json_properties(edge.properties)}
    return values


def _json_properties(properties: Mapping[str, Value]) -> dict[str, object]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in properties.items()}


def _json(term: RdfTerm | None, resources: Mapping[RdfTerm, object]) -> object:
    if term is None:
        return None
    if term.kind == "literal":
        return _json_literal(term)
    if term in resources:
        return resources[term]
    name = name_of_iri(term)
    return term.value if name is None else name


def _json_literal(term: RdfTerm) -> object:
    """Return the value of a literal; what a query computed and no store keeps is text."""
    try:
        value = value_of_literal(term, "result")
    except StatementError:
        return term.value
    if isinstance(value, float) and not math.isfinite(value):
        return term.value
    return list(value) if isinstance(value, tuple) else value
