"""The property graph of a task as RDF, asked in SPARQL.

- A node is a resource with one type, its label: ``?a a :Author``. A property is a triple with a literal: ``?a :name "Ann"``.
- An edge is a triple between nodes: ``?a :WROTE ?b``. So the simple query finds it.
- Edges with properties, and parallel edges, have a resource each besides: ``?e edge:source ?a ; edge:type :WROTE ;
  edge:target ?b ; :year 1997``. A triple between nodes without such a resource is one edge without properties.
- Names are IRIs, ``urn:egotools:name:`` and the name, percent-encoded. A text is a plain literal, an integer ``xsd:integer``, a number
  ``xsd:double``, true or false ``xsd:boolean``, a list ``rdf:JSON``. Read is more: decimals are numbers, dates and texts with a language
  are texts, and several literals of one property are a list in the order of their values.

Typed operations are planned on rows. What a model writes in SPARQL is evaluated by Oxigraph in a process of its own, which has no
network: updates on a copy, which must leave a property graph.
What a model deletes takes the rest along: an edge without its simple triple its resource, a node without triples its edges.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import itertools
import json
import math
import re
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote, unquote

from ontology.errors import MissingExtraError, StatementError
from planners.stores.engine import EngineEndedError, EngineProcess
from planners.stores.property_graph import (
    GraphState,
    Language,
    Operation,
    Properties,
    PropertyRows,
    QueryLimits,
    QueryRows,
    Statement,
    Value,
    apply_typed,
    check_effect,
    checked_properties,
    checked_value,
    state_of_rows,
    value_key,
)
from planners.stores.statements import EDGES, NAMES, RDF, XSD, allowed_sparql

__all__ = ["RdfGraph", "open_rdf_graph"]

_LIMITS = QueryLimits()
_OWN_S = 30.0
"""Seconds for one statement, as in the other stores."""
_JSON = f"{RDF}JSON"
_INTEGER = re.compile(
    rf"{re.escape(XSD)}(?:(?:non)?(?:positive|negative)?integer|(?:unsigned)?(?:long|int|short|byte))", re.I
)
_NUMBERS = frozenset(XSD + name for name in ("double", "float", "decimal"))
# The letter after a backslash is escaped too: an engine that decodes \u before it looks for strings must find nothing to decode.
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\\u": r"\\\u0075", "\\U": r"\\\u0055"}
_ESCAPED = re.compile(r'\\[uU]|[\\"\x00-\x1f\x7f]')
_KINDS = {tuple: _JSON, bool: f"{XSD}boolean", int: f"{XSD}integer", float: f"{XSD}double"}
_SECRET, _NUMBERS_OF_RESOURCES = uuid.uuid4().hex, itertools.count()
_PLACE = re.compile(r"^(?:SPARQL parse )?error at \d+:\d+: ")


class RdfTerm(NamedTuple):
    """A term: ``iri``, ``literal`` or ``blank``; the datatype of a literal is empty for text. A tuple, for the hashes of thousands."""

    kind: str
    value: str
    datatype: str = ""


Triple: TypeAlias = tuple[RdfTerm, RdfTerm, RdfTerm]
_TYPE = RdfTerm("iri", f"{RDF}type")
_PARTS = tuple(RdfTerm("iri", EDGES + name) for name in ("source", "type", "target"))


def _term(kind: str, value: str, datatype: str) -> RdfTerm:
    return RdfTerm(kind, value, "" if datatype.endswith(("#string", "#langString")) else datatype)


@lru_cache(maxsize=1_000)  # a graph has some dozens of names
def _iri_of(name: str) -> RdfTerm:
    return RdfTerm("iri", NAMES + "".join(c if c.isalnum() or c in "_-" else quote(c, safe="") for c in name))


@lru_cache(maxsize=1_000)
def _name_of(term: RdfTerm) -> str | None:
    """Return the name that an IRI stands for, or None where it stands for none."""
    if term.kind == "iri" and term.value.startswith(NAMES):
        with contextlib.suppress(UnicodeDecodeError):
            return unquote(term.value.removeprefix(NAMES), errors="strict")
    return None


def _checked_name_of(term: RdfTerm) -> str:
    name = _name_of(term)
    if name is None:
        remedy = "Write types and predicates with the prefix that is declared already: :name"
        raise _fault(f"{_text(term)} is no name of this graph", remedy)
    return name


def _literal_of(value: Value) -> RdfTerm:
    if isinstance(value, str):
        return RdfTerm("literal", value)
    return RdfTerm("literal", json.dumps(value, ensure_ascii=False), _KINDS[type(value)])


def _checked_value_of(term: RdfTerm, name: str) -> Value:
    value: object = term.value
    try:
        if _INTEGER.fullmatch(term.datatype):
            value = int(term.value)
        elif term.datatype in _NUMBERS:
            value = float(term.value.replace("INF", "inf"))
        elif term.datatype == f"{XSD}boolean":
            value = term.value in ("true", "1")
        elif term.datatype == _JSON and isinstance(read := json.loads(term.value), list | str | int | float | bool):
            value = read
        return checked_value(value, name)
    except (ValueError, RecursionError):
        problem = f"the literal {term.value[:80]!r} is not of its type {term.datatype}"
        remedy = 'Write numbers and texts as they are: 1, 2.5, true, "text"'
        raise StatementError(problem, subject=name, remedy=remedy) from None


def _text(term: RdfTerm) -> str:
    """Return a term as N-Triples, which SPARQL reads too."""
    if term.kind != "literal":
        return f"<{term.value}>" if term.kind == "iri" else f"_:{term.value}"
    text = _ESCAPED.sub(lambda match: _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04X}", term.value)
    return f'"{text}"^^<{term.datatype}>' if term.datatype else f'"{text}"'


def _triples_text(triples: Iterable[Triple]) -> str:
    return "".join(sorted(f"{_text(s)} {_text(p)} {_text(o)} .\n" for s, p, o in triples))


def _new_resource() -> RdfTerm:
    """Return a resource that no model can guess; their order is that in which they were made."""
    return RdfTerm("iri", f"urn:egotools:node:{_SECRET}:{next(_NUMBERS_OF_RESOURCES):012}")


def _fault(problem: str, remedy: str) -> StatementError:
    return StatementError(problem, subject="SPARQL", remedy=remedy)


def _triples_of(rows: PropertyRows) -> set[Triple]:
    """Return the triples of a graph. Its ids are resources: new rows are given some, and edges that need none have none."""
    triples: set[Triple] = set()

    def describe(key: int, properties: Properties) -> RdfTerm:
        resource: RdfTerm = rows.ids.setdefault(key, _new_resource())
        triples.update((resource, _iri_of(name), _literal_of(value)) for name, value in properties.items())
        return resource

    for key, node in rows.nodes.items():
        triples.add((describe(key, node.properties), _TYPE, _iri_of(node.label)))
    between: dict[Triple, list[int]] = defaultdict(list)
    for key, edge in rows.edges.items():
        between[rows.ids[edge.source], _iri_of(edge.type), rows.ids[edge.target]].append(key)
    for ends, keys in between.items():
        triples.add(ends)
        if len(keys) == 1 and not rows.edges[keys[0]].properties:
            rows.ids.pop(keys[0], None)
            continue
        for key in keys:
            resource = describe(key, rows.edges[key].properties)
            triples.update((resource, part, end) for part, end in zip(_PARTS, ends, strict=True))
    return triples


def _rows_of(triples: Iterable[Triple], before: PropertyRows) -> PropertyRows:
    """Return the graph that a statement left of the one before: what it deleted of nodes and edges goes as a whole.

    :raises StatementError: when the triples are no property graph.
    """
    about: dict[RdfTerm, dict[RdfTerm, list[RdfTerm]]] = defaultdict(lambda: defaultdict(list))
    blanks: dict[RdfTerm, RdfTerm] = {}
    for triple in sorted(triples):
        s, p, o = (blanks.setdefault(term, _new_resource()) if term.kind == "blank" else term for term in triple)
        about[s][p].append(o)
    rows, keys = PropertyRows(), dict[RdfTerm, int]()
    described = {resource for resource, found in about.items() if not found.keys().isdisjoint(_PARTS)}
    for resource, found in about.items():
        if resource not in described:
            keys[resource] = _add_node(rows, resource, found)
    known = {before.ids[key] for key in (*before.nodes, *before.edges) if key in before.ids}
    gone = known - about.keys()
    plain = _plain_edges(about, keys, gone)
    told: set[Triple] = set()
    for resource in sorted(described):
        found = about[resource]
        parts = [found.get(part, []) for part in _PARTS]
        if any(len(part) != 1 for part in parts):
            problem = f"the edge {_text(resource)} has not one source, one type and one target"
            raise _fault(problem, "Delete an edge by its own triple: ?a :TYPE ?b")
        ends = (parts[0][0], parts[1][0], parts[2][0])
        if not gone.isdisjoint(ends) or (resource in known and ends not in plain):
            continue
        if ends[0] not in keys or ends[2] not in keys:
            raise _fault(f"the edge {_text(resource)} has an end that is no node", "Insert both nodes before it")
        told.add(ends)
        kind, properties = _checked_name_of(ends[1]), _properties(found, _PARTS)
        rows.ids[rows.add_edge(kind, keys[ends[0]], keys[ends[2]], properties)] = resource
    for source, kind_term, target in plain:
        if (source, kind_term, target) not in told:
            rows.add_edge(_checked_name_of(kind_term), keys[source], keys[target], {})
    return rows


_About: TypeAlias = Mapping[RdfTerm, list[RdfTerm]]


def _add_node(rows: PropertyRows, resource: RdfTerm, found: _About) -> int:
    labels = found.get(_TYPE, [])
    if len(labels) != 1:
        shown = " and ".join(sorted(map(_text, labels))) or "no type"
        remedy = "Give each node exactly one: ?x a :Label; delete a node with all of its triples: ?x ?p ?o"
        raise _fault(f"the node {_text(resource)} has {shown}", remedy)
    key = rows.add_node(_checked_name_of(labels[0]), _properties(found, (_TYPE,)))
    rows.ids[key] = resource
    return key


def _plain_edges(
    about: Mapping[RdfTerm, _About], keys: Mapping[RdfTerm, int], gone: set[RdfTerm]
) -> dict[Triple, None]:
    """Return the triples between nodes; those to a node that was deleted are left out."""
    plain: dict[Triple, None] = {}
    for source in keys:
        for kind, objects in about[source].items():
            for target in objects:
                if kind == _TYPE or target.kind != "iri" or target in gone:
                    continue
                if target not in keys:
                    what = "an edge" if target in about else "no node: it has no type"
                    raise _fault(f"the object {_text(target)} is {what}", f"Insert {_text(target)} a :Label")
                plain[source, kind, target] = None
    return plain


def _properties(found: _About, without: Sequence[RdfTerm]) -> dict[str, Value]:
    properties: dict[str, Value] = {}
    for predicate, objects in found.items():
        literals = [term for term in objects if term.kind == "literal"]
        if literals and predicate not in without:
            name = _checked_name_of(predicate)
            values = sorted((_checked_value_of(term, name) for term in literals), key=value_key)
            properties[name] = values[0] if len(values) == 1 else checked_value(tuple(values), name)
    return properties


class OxigraphProcess:
    """SPARQL in a process of its own: the library cannot stop a query, so what takes too long ends with its process, which is started
    again for the next request. Bounded are seconds, address space, and the characters of an answer.

    :raises MissingExtraError: when pyoxigraph is not installed.
    """

    def __init__(self) -> None:
        if importlib.util.find_spec("pyoxigraph") is None:
            raise MissingExtraError("graphs of tasks as RDF", extra="rdf")
        self._process: EngineProcess | None = None
        self._lock = asyncio.Lock()
        self._loaded: object = None

    async def ask(self, do: str, triples: set[Triple], text: str, seconds: float, rows: int = 0) -> dict[str, Any]:
        """Evaluate a ``query`` on triples, or an ``update`` on a copy of them, in turn; the time runs from its own turn.

        :raises StatementError: when it fails, or takes too long.
        :raises StorageError: when no process can be started.
        """
        remedy = "Ask for less; the graph is as before"
        async with self._lock:
            # Whatever ends this call, an answer to nobody must not be read by another.
            process, self._process = self._process, None
            try:
                if process is None or process.has_ended:
                    process, self._loaded = await EngineProcess.start("oxigraph"), None
                request = {"do": do, "text": text, "rows": rows}
                if self._loaded is not triples:
                    request["triples"] = _triples_text(triples)
                answer = await process.ask(request, seconds)
            except TimeoutError:
                raise _fault(f"it takes longer than {seconds:g} s", "Ask for less, or join fewer patterns") from None
            except EngineEndedError as error:
                if error.signal_name == "SIGABRT":  # it aborts where memory is refused
                    raise _fault("it takes more memory than is allowed", remedy) from None
                raise _fault(f"the engine has ended while it ran this {error.signal_name}".rstrip(), remedy) from None
            self._process, self._loaded = process, triples if do == "query" else None
        if "fault" in answer:
            problem = str(answer["fault"])
            if place := _PLACE.match(problem):  # the places that its parser names are mostly the end of the text
                problem = f"this is no SPARQL 1.1: {problem[place.end() :].splitlines()[0][:200]}"
            raise _fault(problem.rstrip("."), "Correct it; the graph is as before")
        return answer

    async def close(self) -> None:
        """End the process."""
        async with self._lock:
            process, self._process = self._process, None
            if process is not None:
                await process.end()


@contextlib.asynccontextmanager
async def open_rdf_graph() -> AsyncIterator[RdfGraph]:
    """Open an empty graph; it is gone at the end.

    :raises MissingExtraError: when pyoxigraph is not installed.
    """
    process = OxigraphProcess()
    try:
        yield RdfGraph(process)
    finally:
        await process.close()


class RdfGraph:
    """A graph of triples. :func:`open_rdf_graph` makes it."""

    def __init__(self, process: OxigraphProcess) -> None:
        self._process = process
        self._lock = asyncio.Lock()
        self._rows, self._triples = PropertyRows(), set[Triple]()

    @property
    def language(self) -> Language:
        """SPARQL."""
        return "sparql"

    async def apply(self, operations: Sequence[Operation]) -> None:
        """Apply operations in their order: all, or none where one fails. Calls wait for one another."""
        async with self._lock:
            after = self._rows.copy()
            for operation in operations:
                if isinstance(operation, Statement):
                    after = await self._after_statement(after, operation)
                else:
                    apply_typed(after, operation)
            self._rows, self._triples = after, _triples_of(after)

    async def query(
        self, text: str, parameters: Mapping[str, Value] | None = None, limits: QueryLimits = _LIMITS
    ) -> QueryRows:
        """Read by SELECT or ASK (one row, ``result``). A resource that is a node is given with label and properties."""
        allowed = allowed_sparql(text, _terms(parameters or {}), write=False)
        rows, triples = self._rows, self._triples
        answer = await self._process.ask("query", triples, allowed, limits.seconds, limits.rows)
        if "boolean" in answer:
            return QueryRows(columns=("result",), rows=((answer["boolean"],),))
        found = [[None if term is None else _term(*term) for term in row] for row in answer["rows"]]
        keys = {resource: key for key, resource in rows.ids.items()}
        shown = tuple(tuple(_json(term, rows, keys) for term in row) for row in found[: limits.rows])
        return QueryRows(columns=tuple(answer["columns"]), rows=shown, cut=len(found) > limits.rows)

    async def state(self) -> GraphState:
        """Return the whole graph."""
        return state_of_rows(self._rows)

    async def _after_statement(self, before: PropertyRows, statement: Statement) -> PropertyRows:
        allowed = allowed_sparql(statement.text, _terms(statement.parameters), write=True)
        answer = await self._process.ask("update", _triples_of(before), allowed, _OWN_S)
        triples = {(_term(*s), _term(*p), _term(*o)) for s, p, o in answer["rows"]}
        after = _rows_of(triples, before)
        check_effect(before, after)
        return after


def _terms(parameters: Mapping[str, Value]) -> dict[str, str]:
    return {name: _text(_literal_of(value)) for name, value in checked_properties(parameters).items()}


def _json(term: RdfTerm | None, rows: PropertyRows, keys: Mapping[RdfTerm, int]) -> object:
    """Return a term as a JSON value; what a query computed and no store keeps is text."""
    if term is None:
        return None
    if term.kind != "literal":
        key = keys.get(term, 0)
        if node := rows.nodes.get(key):
            return {"label": node.label, "properties": _lists(node.properties)}
        if edge := rows.edges.get(key):
            return {"type": edge.type, "properties": _lists(edge.properties)}
        name = _name_of(term)
        return term.value if name is None else name
    try:
        value = _checked_value_of(term, "result")
    except StatementError:
        return term.value
    if isinstance(value, float) and not math.isfinite(value):
        return term.value
    return list(value) if isinstance(value, tuple) else value


def _lists(properties: Properties) -> dict[str, object]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in properties.items()}
