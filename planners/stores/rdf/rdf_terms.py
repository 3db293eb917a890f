"""Terms of RDF as a property graph uses them: names as IRIs, values as literals, and both as N-Triples text.

==========  ==================================================================
name        ``urn:egotools:name:`` and the name; what is neither letter, digit, ``_`` nor ``-`` is percent-encoded
text        a plain literal
integer     ``xsd:integer``
number      ``xsd:double``, its shortest exact decimal form
true/false  ``xsd:boolean``
list        ``rdf:JSON``, so that order, repetitions and types are kept
==========  ==================================================================

Read is more than is written: decimals are numbers, dates and texts with a language are texts, and several literals of one
property are a list in the order of their values.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Literal, NamedTuple
from urllib.parse import quote, unquote

from ontology.errors import StatementError
from planners.stores.property_graph import Value
from planners.stores.property_values import checked_value

__all__ = [
    "EDGE_SOURCE",
    "EDGE_TARGET",
    "EDGE_TYPE",
    "NAMES",
    "PROLOGUE",
    "RDF_TYPE",
    "RdfTerm",
    "Triple",
    "change_text",
    "iri",
    "iri_of_name",
    "literal_of_value",
    "name_of_iri",
    "term_text",
    "triples_text",
    "value_of_literal",
]

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_XSD = "http://www.w3.org/2001/XMLSchema#"
NAMES = "urn:egotools:name:"
_EDGES = "urn:egotools:edge:"
PROLOGUE = f"PREFIX : <{NAMES}> PREFIX edge: <{_EDGES}> PREFIX rdf: <{_RDF}> PREFIX xsd: <{_XSD}>\n"
"""Stands before each query and statement, on a line of its own."""

_STRING, _JSON = f"{_XSD}string", f"{_RDF}JSON"
_INTEGERS = frozenset(
    _XSD + name
    for name in """integer int long short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger
    unsignedLong unsignedInt unsignedShort unsignedByte""".split()
)
_NUMBERS = frozenset(_XSD + name for name in ("double", "float", "decimal"))
# The letter after a backslash is escaped too: an engine that decodes \u before it looks for strings must find nothing to decode.
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\u": r"\\\u0075", "\\U": r"\\\u0055"}
_ESCAPED = re.compile(r'\\[uU]|[\\"\x00-\x1f\x7f]')


class RdfTerm(NamedTuple):
    """A term: a tuple, because graphs are sets of thousands of them, and their hashes are most of the work.

    :param value: of an IRI the IRI, of a literal its lexical form, of a blank node its label.
    :param datatype: of a literal; empty for plain text.
    """

    kind: Literal["iri", "literal", "blank"]
    value: str
    datatype: str = ""


Triple = tuple[RdfTerm, RdfTerm, RdfTerm]


def iri(value: str) -> RdfTerm:
    """Return an IRI as a term."""
    return RdfTerm("iri", value)


RDF_TYPE = iri(f"{_RDF}type")
EDGE_SOURCE, EDGE_TYPE, EDGE_TARGET = (iri(_EDGES + name) for name in ("source", "type", "target"))


@lru_cache(maxsize=1_000)  # a graph has some dozens of names
def iri_of_name(name: str) -> RdfTerm:
    """Return the IRI of a label, a type or the name of a property."""
    return iri(NAMES + "".join(c if c.isalnum() or c in "_-" else quote(c, safe="") for c in name))


@lru_cache(maxsize=1_000)
def name_of_iri(term: RdfTerm) -> str | None:
    """Return the name that an IRI stands for, or None where it stands for none."""
    if term.kind != "iri" or not term.value.startswith(NAMES):
        return None
    try:
        return unquote(term.value.removeprefix(NAMES), errors="strict")
    except UnicodeDecodeError:
        return None


def literal_of_value(value: Value) -> RdfTerm:
    """Return a value as a literal."""
    if isinstance(value, tuple):
        return RdfTerm("literal", json.dumps(value, ensure_ascii=False), _JSON)
    if isinstance(value, bool):
        return RdfTerm("literal", "true" if value else "false", f"{_XSD}boolean")
    if isinstance(value, int):
        return RdfTerm("literal", str(value), f"{_XSD}integer")
    if isinstance(value, float):
        return RdfTerm("literal", repr(value), f"{_XSD}double")
    return RdfTerm("literal", value)


def value_of_literal(term: RdfTerm, name: str) -> Value:
    """Return the value of a literal.

    :param name: of the property, for errors.
    :raises StatementError: when it is no value that stores keep.
    """
    try:
        return checked_value(_python_value(term), name)
    except (ValueError, RecursionError):
        raise StatementError(
            f"the literal {term.value[:80]!r} is not of its type {term.datatype}",
            subject=name,
            remedy='Write numbers and texts as they are: 1, 2.5, true, "text"',
        ) from None


def _python_value(term: RdfTerm) -> object:
    if term.datatype in _INTEGERS:
        return int(term.value)
    if term.datatype in _NUMBERS:
        return float(term.value.replace("INF", "inf"))
    if term.datatype == f"{_XSD}boolean":
        return term.value in ("true", "1")
    if term.datatype == _JSON:
        value = json.loads(term.value)
        return value if isinstance(value, list | str | int | float | bool) else term.value
    return term.value


def term_text(term: RdfTerm) -> str:
    """Return a term as N-Triples, which SPARQL reads too."""
    if term.kind == "iri":
        return f"<{term.value}>"
    if term.kind == "blank":
        return f"_:{term.value}"
    text = _ESCAPED.sub(lambda match: _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04X}", term.value)
    suffix = f"^^<{term.datatype}>" if term.datatype not in ("", _STRING) else ""
    return f'"{text}"{suffix}'


def triples_text(triples: set[Triple]) -> str:
    """Return triples as N-Triples, in the order of their text."""
    return "".join(sorted(f"{term_text(s)} {term_text(p)} {term_text(o)} .\n" for s, p, o in triples))


def change_text(removed: set[Triple], added: set[Triple], graph: str | None = None) -> str:
    """Return the update that removes and adds triples.

    :param graph: IRI of the named graph; None: the default graph.
    """
    opening, closing = (f"GRAPH <{graph}> {{", "}") if graph else ("", "")
    return " ;\n".join(
        f"{verb} DATA {{ {opening}\n{triples_text(triples)}{closing} }}"
        for verb, triples in (("DELETE", removed), ("INSERT", added))
        if triples
    )
