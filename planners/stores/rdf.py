"""The property graph of a task as RDF, asked in SPARQL.

- A node is a resource with one type, its label: ``?a a :Author``. A property is a triple with a literal: ``?a :name "Ann"``.
- An edge is a triple between nodes: ``?a :WROTE ?b``. So the simple query finds it.
- Edges with properties, and parallel edges, have a resource each besides: ``?e edge:source ?a ; edge:type :WROTE ;
  edge:target ?b ; :year 1997``.
- Names are IRIs, ``urn:egotools:name:`` and the name, percent-encoded. A text is a plain literal, an integer ``xsd:integer``, a number
  ``xsd:double``, true or false ``xsd:boolean``, a list ``rdf:JSON``.

Typed operations change rows; a query is evaluated on their triples by Oxigraph in a process of its own, which has no network.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from ontology.errors import MissingExtraError, StatementError
from planners.stores import property_graph as graphs
from planners.stores.engine import EngineEndedError, EngineProcess
from planners.stores.property_graph import PropertyRows, QueryLimits, QueryRows, Value
from planners.stores.statements import EDGES, NAMES, RDF, XSD, allowed_sparql

_LIMITS = QueryLimits()
_RESOURCES = "urn:egotools:resource:"
_JSON = f"{RDF}JSON"
_INTEGER = re.compile(
    rf"{re.escape(XSD)}(?:(?:non)?(?:positive|negative)?integer|(?:unsigned)?(?:long|int|short|byte))", re.I
)
_NUMBERS = frozenset(XSD + name for name in ("double", "float", "decimal"))
_ESCAPED = re.compile(r'[\\"\x00-\x1f\x7f]')
_KINDS = {tuple: _JSON, bool: f"{XSD}boolean", int: f"{XSD}integer", float: f"{XSD}double"}
_PLACE = re.compile(r"^(?:SPARQL parse )?error at \d+:\d+: ")


@contextlib.asynccontextmanager
async def open_rdf_graph() -> AsyncIterator[RdfGraph]:
    """Open an empty graph; it is gone at the end.

    :raises MissingExtraError: when pyoxigraph is not installed.
    """
    if importlib.util.find_spec("pyoxigraph") is None:
        raise MissingExtraError("graphs of tasks as RDF", extra="rdf")
    graph = RdfGraph()
    try:
        yield graph
    finally:
        await graph.close()


class RdfGraph(graphs.RowsGraph):
    """A graph of triples. :func:`open_rdf_graph` makes it.

    The library cannot stop a query, so what takes too long ends with its process, which is started again for the next one.
    """

    language: graphs.Language = "sparql"

    def __init__(self) -> None:
        super().__init__()
        self._lock = asyncio.Lock()
        self._process: EngineProcess | None = None
        self._loaded: PropertyRows | None = None

    async def query(self, text: str, limits: QueryLimits = _LIMITS) -> QueryRows:
        """Read by SELECT or ASK (one row, ``result``). A resource that is a node is given with label and properties."""
        allowed = allowed_sparql(text)
        async with self._lock:  # the time runs from the query's own turn
            rows = self.rows
            answer = await self._asked(allowed, rows, limits)
        if "boolean" in answer:
            return QueryRows(columns=("result",), rows=((answer["boolean"],),))
        found = answer["rows"]
        shown = tuple(tuple(_shown(term, rows) for term in row) for row in found[: limits.rows])
        return QueryRows(columns=tuple(answer["columns"]), rows=shown, cut=len(found) > limits.rows)

    async def close(self) -> None:
        """End the process."""
        async with self._lock:
            process, self._process = self._process, None
            if process is not None:
                await process.end()

    async def _asked(self, text: str, rows: PropertyRows, limits: QueryLimits) -> dict[str, Any]:
        # Whatever ends this call, an answer to nobody must not be read by another.
        process, self._process = self._process, None
        try:
            if process is None or process.has_ended:
                process, self._loaded = await EngineProcess.start("oxigraph"), None
            request: dict[str, Any] = {"do": "query", "text": text, "rows": limits.rows}
            if self._loaded is not rows:
                request["triples"] = "".join(sorted(_triples(rows)))
            answer = await process.ask(request, limits.seconds)
        except TimeoutError:
            raise _fault(f"it takes longer than {limits.seconds:g} s", "Ask for less, or join fewer patterns") from None
        except EngineEndedError as error:
            problem = f"the engine has ended while it ran this {error.signal_name}".rstrip()
            if error.signal_name == "SIGABRT":  # it aborts where memory is refused
                problem = "it takes more memory than is allowed"
            raise _fault(problem, "Ask for less; the graph is as before") from None
        self._process, self._loaded = process, rows
        if "fault" in answer:
            problem = str(answer["fault"])
            if place := _PLACE.match(problem):  # the places that its parser names are mostly the end of the text
                problem = f"this is no SPARQL 1.1: {problem[place.end() :].splitlines()[0][:200]}"
            raise _fault(problem.rstrip("."), "Correct it; the graph is as before")
        return answer


def _triples(rows: PropertyRows) -> Iterator[str]:
    """Yield the triples of a graph, N-Triples with their ends of lines; one between two nodes may come twice."""
    for key, node in rows.nodes.items():
        yield f"{_resource(key)} <{RDF}type> {_name(node.label)} .\n"
        yield from _described(key, node.properties)
    parallel = Counter(edge[:3] for edge in rows.edges.values())
    for ends in parallel:
        kind, source, target = ends
        yield f"{_resource(source)} {_name(kind)} {_resource(target)} .\n"
    for key, edge in rows.edges.items():
        if parallel[edge[:3]] > 1 or edge.properties:
            yield from _described(key, edge.properties)
            parts = {"source": _resource(edge.source), "type": _name(edge.type), "target": _resource(edge.target)}
            for part, end in parts.items():
                yield f"{_resource(key)} <{EDGES}{part}> {end} .\n"


def _described(key: int, properties: graphs.Properties) -> Iterator[str]:
    for name, value in properties.items():
        yield f"{_resource(key)} {_name(name)} {_literal(value)} .\n"


def _resource(key: int) -> str:
    return f"<{_RESOURCES}{key:012}>"


def _name(name: str) -> str:
    return f"<{NAMES}{''.join(c if c.isalnum() or c in '_-' else quote(c, safe='') for c in name)}>"


def _literal(value: Value) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    escaped = _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04X}", text)
    return f'"{escaped}"' if isinstance(value, str) else f'"{escaped}"^^<{_KINDS[type(value)]}>'


def _shown(term: Sequence[str] | None, rows: PropertyRows) -> object:
    """Return a term of an answer, its kind, value and datatype, as a JSON value; what a query computed and no store keeps is text."""
    if term is None:
        return None
    kind, value, datatype = term
    if kind == "literal":
        return _value(value, datatype)
    if value.startswith(_RESOURCES):
        key = int(value.removeprefix(_RESOURCES))
        if node := rows.nodes.get(key):
            return {"label": node.label, "properties": _lists(node.properties)}
        edge = rows.edges[key]
        return {"type": edge.type, "properties": _lists(edge.properties)}
    return unquote(value.removeprefix(NAMES)) if value.startswith(NAMES) else value


def _value(text: str, datatype: str) -> object:
    try:
        if _INTEGER.fullmatch(datatype):
            return int(text)
        if datatype in _NUMBERS:
            number = float(text.replace("INF", "inf"))
            return number if math.isfinite(number) else text
        if datatype == f"{XSD}boolean":
            return text in ("true", "1")
        if datatype == _JSON:
            value: object = json.loads(text)
            return value
    except (ValueError, RecursionError):  # of a type that it does not keep
        pass
    return text


def _lists(properties: Mapping[str, Value]) -> dict[str, object]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in properties.items()}


def _fault(problem: str, remedy: str) -> StatementError:
    return StatementError(problem, subject="SPARQL", remedy=remedy)
