"""What of SPARQL a model may write: an allow-list of words, checked before any engine sees the text.

Queries are SELECT and ASK. Updates are INSERT DATA, DELETE DATA and DELETE … INSERT … WHERE, several with ``;``: they are
evaluated together on a copy. No word leads to another graph, server or file: GRAPH, FROM, WITH, USING, SERVICE, LOAD and
the updates of whole graphs are not on the list. Prefixes are declared by the graph; a declaration of ``:`` is left out.

What goes to the engine is written anew from the tokens (:mod:`planners.stores.rdf.sparql_writing`): it sees what was checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planners.stores.property_graph import Value
from planners.stores.rdf.rdf_terms import PROLOGUE
from planners.stores.rdf.sparql_tokens import SparqlToken, sparql_fault, sparql_tokens
from planners.stores.rdf.sparql_writing import OWN_PREFIXES, written_pieces

__all__ = ["allowed_query", "allowed_update"]

_PATTERNS = frozenset(
    """A AS ASC BIND BY DESC DISTINCT EXISTS FALSE FILTER GROUP HAVING IN LIMIT MINUS NOT OFFSET OPTIONAL ORDER REDUCED SELECT
    SEPARATOR TRUE UNDEF UNION VALUES WHERE""".split()
)
"""Words of patterns and of what follows them, from the grammar of SPARQL 1.1."""
_FUNCTIONS = frozenset(
    """ABS AVG BNODE BOUND CEIL COALESCE CONCAT CONTAINS COUNT DATATYPE DAY ENCODE_FOR_URI FLOOR GROUP_CONCAT HOURS IF IRI ISBLANK
    ISIRI ISLITERAL ISNUMERIC ISURI LANG LANGMATCHES LCASE MAX MIN MINUTES MONTH REGEX REPLACE ROUND SAMETERM SAMPLE SECONDS STR
    STRAFTER STRBEFORE STRDT STRENDS STRLANG STRLEN STRSTARTS SUBSTR SUM TIMEZONE TZ UCASE URI UUID YEAR""".split()
)
"""Functions of SPARQL 1.1 that only compute; without NOW, RAND and STRUUID, whose rows would differ when a run is replayed."""
_QUERIES = frozenset({"SELECT", "ASK"})
_UPDATES = frozenset({"INSERT", "DELETE"})
_READS = _PATTERNS | _FUNCTIONS | _QUERIES
_WRITES = _PATTERNS | _FUNCTIONS | _UPDATES | {"DATA"}


def allowed_query(text: str, parameters: Mapping[str, Value], rows: int) -> str:
    """Check a query, and return what may go to the engine: with prefixes, parameters and a limit.

    :param parameters: values of variables that are written ``$name``.
    :param rows: of the answer at most.
    :raises StatementError: when something is not on the list.
    """
    prefixes, tokens = _without_prefixes(sparql_tokens(text))
    _check_start(tokens, _QUERIES, "a query")
    _check_words(tokens, _READS)
    declared, pieces = written_pieces(tokens, prefixes, parameters)
    if tokens[0].word == "SELECT":
        pieces = _limited(tokens, pieces, rows + 1)
    return PROLOGUE + declared + "".join(pieces)


def allowed_update(text: str, parameters: Mapping[str, Value]) -> str:
    """Check an update, and return what may go to the engine.

    :param parameters: values of variables that are written ``$name``.
    :raises StatementError: when something is not on the list.
    """
    prefixes, tokens = _without_prefixes(sparql_tokens(text))
    starts = [0] + [at + 1 for at, token in enumerate(tokens) if token.symbol(";") and token.depth == 0]
    for start in starts:
        if start == 0 or start < len(tokens):  # a last ";" is allowed
            _check_start(tokens[start:], _UPDATES, "an update")
    _check_words(tokens, _WRITES)
    declared, pieces = written_pieces(tokens, prefixes, parameters)
    return PROLOGUE + declared + "".join(pieces)


def _without_prefixes(tokens: Sequence[SparqlToken]) -> tuple[dict[str, str], list[SparqlToken]]:
    """Return the IRI of each declared prefix that is none of ours, and all other tokens."""
    declared, others, at = dict[str, str](), list[SparqlToken](), 0
    while at < len(tokens):
        if tokens[at].word == "PREFIX" and tokens[at].depth == 0:
            kinds = [token.kind for token in tokens[at + 1 : at + 3]]
            if kinds != ["name", "iri"] or not tokens[at + 1].text.endswith(":"):
                raise sparql_fault("PREFIX is not followed by a prefix and an IRI", "The prefix : is declared already")
            if tokens[at + 1].text not in OWN_PREFIXES:
                declared[tokens[at + 1].text] = tokens[at + 2].text
            at += 3
        else:
            others.append(tokens[at])
            at += 1
    return declared, others


def _check_start(tokens: Sequence[SparqlToken], words: frozenset[str], what: str) -> None:
    if not tokens or tokens[0].word not in words:
        found = repr(tokens[0].text[:40]) if tokens else "nothing"
        raise sparql_fault(f"{what} cannot start with {found}", f"Start with {' or '.join(sorted(words))}")


def _check_words(tokens: Sequence[SparqlToken], allowed: frozenset[str]) -> None:
    for at, token in enumerate(tokens):
        if token.kind == "word" and token.word not in allowed:
            raise sparql_fault(f"{token.text[:40]} is not allowed here", "Use patterns and functions of SPARQL 1.1")
        called = at + 1 < len(tokens) and tokens[at + 1].symbol("(")
        if called and (token.kind == "iri" or (token.kind == "name" and not token.text.startswith("xsd:"))):
            raise sparql_fault(f"{token.text[:80]} is no function on the list", "Use functions of SPARQL 1.1, no lists")


def _limited(tokens: Sequence[SparqlToken], pieces: list[str], most: int) -> list[str]:
    """Return a SELECT that gives at most so many rows."""
    outer = [at for at, token in enumerate(tokens) if token.depth == 0 and token.word in ("LIMIT", "VALUES")]
    for at in outer:
        if tokens[at].word == "LIMIT":
            if at + 1 >= len(tokens) or not tokens[at + 1].text.isdecimal():
                raise sparql_fault("LIMIT is not followed by a number", "Write LIMIT 10")
            return [*pieces[: at + 1], f" {min(int(tokens[at + 1].text), most)}", *pieces[at + 2 :]]
    place = outer[0] if outer else len(pieces)
    return [*pieces[:place], f" LIMIT {most} ", *pieces[place:]]
