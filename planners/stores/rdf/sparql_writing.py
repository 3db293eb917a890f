"""The tokens of a SPARQL text written anew, so that no engine can read them as others.

A space stands between all tokens but three functions and their parenthesis, comments are gone, and each string is written with escapes of our own. Prefixes get names of our own too:
some engines read ``SERVICEa:b`` as a word and a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from planners.stores.property_graph import Value
from planners.stores.property_values import checked_properties
from planners.stores.rdf.rdf_terms import RdfTerm, literal_of_value, term_text
from planners.stores.rdf.sparql_tokens import SparqlToken, sparql_fault

__all__ = ["OWN_PREFIXES", "written_pieces"]

OWN_PREFIXES = frozenset({":", "edge:", "rdf:", "xsd:"})
"""Prefixes that the graph declares."""
_CLOSE = frozenset({"BNODE", "COALESCE", "CONCAT"})
"""Functions behind whose names Oxigraph 0.5 takes no space; found by trying each function that is allowed."""
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.?))", re.DOTALL)
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", "\\": "\\", '"': '"', "'": "'"}


def written_pieces(
    tokens: Sequence[SparqlToken], prefixes: Mapping[str, str], parameters: Mapping[str, Value]
) -> tuple[str, list[str]]:
    """Return declarations, and the text of each token, with a space before it where one is needed.

    :param prefixes: other than ours, each with its IRI in ``<>``.
    :param parameters: values of variables that are written ``$name``.
    :raises StatementError: when a prefix is not declared, or a string holds an escape that SPARQL does not have.
    """
    values = {f"${name}": term_text(literal_of_value(value)) for name, value in checked_properties(parameters).items()}
    names = {prefix: f"n{at}:" for at, prefix in enumerate(prefixes)}
    declared = "".join(f"PREFIX {names[prefix]} {iri} " for prefix, iri in prefixes.items())
    names |= {prefix: prefix for prefix in OWN_PREFIXES}
    pieces = list[str]()
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else token
        signed = token.kind == "number" and before.symbol("+", "-") and before.end == token.start
        called = before.word in _CLOSE and token.symbol("(")
        pieces.append(("" if at == 0 or signed or called else " ") + _written(token, names, values))
    return declared, pieces


def _written(token: SparqlToken, names: Mapping[str, str], values: Mapping[str, str]) -> str:
    if token.kind == "variable":
        return values.get(token.text, token.text)
    if token.kind == "string":
        return term_text(RdfTerm("literal", _string_value(token.text)))
    if token.kind == "name":
        prefix, colon, local = token.text.partition(":")
        if prefix + colon not in names:
            raise sparql_fault(
                f"the prefix {prefix[:40]}: is not declared", f"Write PREFIX {prefix[:40]}: <…>, or :name"
            )
        return names[prefix + colon] + local
    return token.text


def _string_value(text: str) -> str:
    quotes = 3 if text.startswith(('"""', "'''")) else 1
    return _ESCAPE.sub(_unescaped, text[quotes:-quotes])


def _unescaped(match: re.Match[str]) -> str:
    if match[3] is not None:
        if match[3] not in _ESCAPED:
            raise sparql_fault(
                f"a string holds the escape {match[0]}", "Write \\\\ for \\, and \\n for the end of a line"
            )
        return _ESCAPED[match[3]]
    code = int(match[1] or match[2], 16)
    if code == 0 or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
        raise sparql_fault(f"the escape {match[0]} is no character of Unicode text", "Leave it out")
    return chr(code)
