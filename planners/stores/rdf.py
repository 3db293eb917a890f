"""The property graph of a task as RDF, asked in SPARQL.

- A node is a resource with one type, its label: ``?a a :Author``. A property is a triple with a literal: ``?a :name "Ann"``.
- An edge is a triple between nodes: ``?a :WROTE ?b``. So the simple query finds it.
- Edges with properties, and parallel edges, have a resource each besides: ``?e edge:source ?a ; edge:type :WROTE ;
  edge:target ?b ; :year 1997``.
- Names are IRIs, ``urn:egotools:name:`` and the name, percent-encoded. A text is a plain literal, an integer ``xsd:integer``, a number
  ``xsd:double``, true or false ``xsd:boolean``, a list ``rdf:JSON``.

Typed operations change rows; a query is evaluated by Oxigraph on a copy of their triples in the sandbox, which has neither network nor files.
"""

from __future__ import annotations

import importlib.util
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import quote, unquote

from ontology.errors import MissingExtraError, StatementError
from planners.calls.sandbox import Sandbox
from planners.stores import property_graph as graphs
from planners.stores.property_graph import PropertyRows, QueryLimits, QueryRows

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
NAMES = "urn:egotools:name:"
EDGES = "urn:egotools:edge:"
_PREFIXES = {"": NAMES, "edge": EDGES, "rdf": RDF, "xsd": XSD}
_LIMITS = QueryLimits()
_RESOURCES = "urn:egotools:resource:"
_JSON = f"{RDF}JSON"
_INTEGER = re.compile(
    rf"{re.escape(XSD)}(?:(?:non)?(?:positive|negative)?integer|(?:unsigned)?(?:long|int|short|byte))", re.I
)
_NUMBERS = frozenset(XSD + name for name in ("double", "float", "decimal"))
_ESCAPED = re.compile(r'[\\"\x00-\x1f\x7f]')
_KINDS = {tuple: _JSON, bool: f"{XSD}boolean", int: f"{XSD}integer", float: f"{XSD}double"}
_FAULT_CHARACTERS = 1_000
_PLACE = re.compile(r"^(?:SPARQL parse )?error at \d+:\d+: ")


# Reads a request from stdin and writes one JSON object
_PROGRAM = """\
import itertools, json, signal, sys
from pyoxigraph import BlankNode, Literal, NamedNode, QueryBoolean, QuerySolutions, RdfFormat, Store
request = json.load(sys.stdin)
store = Store()
store.load(request["triples"].encode(), RdfFormat.N_TRIPLES)
signal.setitimer(signal.ITIMER_REAL, request["seconds"])  # the library cannot stop a query: nobody handles this, and the process ends
def term(found):
    if found is None:
        return None
    if isinstance(found, Literal):
        return ["literal", found.value, found.datatype.value]
    if isinstance(found, (NamedNode, BlankNode)):
        return ["resource", found.value, ""]
    raise ValueError("a triple cannot be part of another triple")
try:
    found = store.query(request["text"])
    if isinstance(found, QueryBoolean):
        answer = {"boolean": bool(found)}
    elif isinstance(found, QuerySolutions):
        rows = [[term(each) for each in solution] for solution in itertools.islice(found, request["most"])]
        answer = {"columns": [variable.value for variable in found.variables], "rows": rows}
    else:
        answer = {"fault": "a query begins with SELECT or ASK"}
except (SyntaxError, ValueError, RuntimeError, OSError) as error:
    answer = {"fault": str(error)}
sys.stdout.write(json.dumps(answer))
"""


class RdfGraph(graphs.RowsGraph):
    """A graph of triples; queries run in ``sandbox``. Raises MissingExtraError when pyoxigraph is not installed."""

    language: graphs.Language = "sparql"

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        super().__init__()
        if importlib.util.find_spec("pyoxigraph") is None:
            raise MissingExtraError("graphs of tasks as RDF", extra="rdf")
        self._sandbox = sandbox or Sandbox()

    async def query(self, text: str, limits: QueryLimits = _LIMITS) -> QueryRows:
        """Read by SELECT or ASK (one row, ``result``). A resource that is a node is given with label and properties."""
        graphs.check_characters(text, "the SPARQL query")
        rows = self.rows
        prefixes = "".join(f"PREFIX {name}: <{address}>\n" for name, address in _PREFIXES.items())
        triples = "".join(sorted(_triples(rows)))
        request = {"triples": triples, "text": prefixes + text, "most": limits.rows + 1, "seconds": limits.seconds}
        ended = await self._sandbox.run(_PROGRAM, stdin=json.dumps(request).encode())
        if ended.ended in ("killed", "timeout"):
            problem = f"it takes longer than {limits.seconds:g} s, or more memory than is allowed"
            raise _fault(problem, "Ask for less, or join fewer patterns")
        if ended.ended != "ok":
            problem = "its answer is too long" if ended.ended == "output" else ended.stderr.strip()[-_FAULT_CHARACTERS:]
            raise _fault(problem, "Ask for less; the graph is as before")
        answer = json.loads(ended.stdout)
        if "fault" in answer:
            problem = str(answer["fault"])
            if place := _PLACE.match(problem):  # the places that its parser names are mostly the end of the text
                problem = f"this is no SPARQL 1.1: {problem[place.end() :].splitlines()[0][:200]}"
            raise _fault(problem.rstrip("."), "Correct it; the graph is as before")
        if "boolean" in answer:
            return QueryRows(columns=("result",), rows=((answer["boolean"],),))
        found = answer["rows"]
        shown = tuple(tuple(_shown(term, rows) for term in row) for row in found[: limits.rows])
        return QueryRows(columns=tuple(answer["columns"]), rows=shown, cut=len(found) > limits.rows)


def _triples(rows: PropertyRows) -> Iterator[str]:
    """Yield the triples of a graph, N-Triples with their ends of lines; one between two nodes may come twice."""

    def described(key: int, properties: graphs.Properties) -> Iterator[str]:
        for name, value in properties.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            escaped = _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04X}", text)
            datatype = "" if isinstance(value, str) else f"^^<{_KINDS[type(value)]}>"
            yield f'{_resource(key)} {_name(name)} "{escaped}"{datatype} .\n'

    for key, node in rows.nodes.items():
        yield f"{_resource(key)} <{RDF}type> {_name(node.label)} .\n"
        yield from described(key, node.properties)
    parallel = Counter(edge[:3] for edge in rows.edges.values())
    for kind, source, target in parallel:
        yield f"{_resource(source)} {_name(kind)} {_resource(target)} .\n"
    for key, edge in rows.edges.items():
        if parallel[edge[:3]] > 1 or edge.properties:
            yield from described(key, edge.properties)
            parts = {"source": _resource(edge.source), "type": _name(edge.type), "target": _resource(edge.target)}
            for part, end in parts.items():
                yield f"{_resource(key)} <{EDGES}{part}> {end} .\n"


def _resource(key: int) -> str:
    return f"<{_RESOURCES}{key:012}>"


def _name(name: str) -> str:
    return f"<{NAMES}{''.join(c if c.isalnum() or c in '_-' else quote(c, safe='') for c in name)}>"


def _shown(term: Sequence[str] | None, rows: PropertyRows) -> object:
    """Return a term of an answer, its kind, value and datatype, as a JSON value; what a query computed and no store keeps is text."""
    if term is None:
        return None
    kind, value, datatype = term
    if kind == "literal":
        return _value(value, datatype)
    if value.startswith(_RESOURCES):
        key = int(value.removeprefix(_RESOURCES))
        own = {"label": rows.nodes[key].label} if key in rows.nodes else {"type": rows.edges[key].type}
        properties = (rows.nodes[key] if key in rows.nodes else rows.edges[key]).properties
        lists = {name: list(each) if isinstance(each, tuple) else each for name, each in properties.items()}
        return {**own, "properties": lists}
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


def _fault(problem: str, remedy: str) -> StatementError:
    return StatementError(problem, subject="SPARQL", remedy=remedy)
