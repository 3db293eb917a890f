"""The tokens of a SPARQL text: strings, IRIs and comments respected; what cannot be read is refused.

``<`` begins an IRI, or means "less". Only in round brackets can it mean "less", and only after a value; so there it always does, and
nowhere else. An IRI after a value in round brackets, as in a list, is refused: a declared prefix says the same.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Literal

from ontology.errors import StatementError

__all__ = ["SparqlToken", "sparql_fault", "sparql_tokens"]

_MAX_TEXT = 50_000
"""Characters of a text, as of a Cypher statement."""
_MAX_DEPTH = 40
"""Brackets in brackets: parsers recurse; the deepest query of our tests has 5."""

TokenKind = Literal["iri", "string", "variable", "number", "language", "blank", "name", "word", "symbol"]
# The order of the alternatives is that of the grammar's longest match: a long string before a short one.
_TOKEN = re.compile(
    r"""
    (?P<space> [ \t\r\n]+ | \#[^\r\n]* )
  | (?P<string> \"{3}(?:(?:\"|\"\")?(?:[^"\\]|\\.))*\"{3} | '{3}(?:(?:'|'')?(?:[^'\\]|\\.))*'{3}
              | (?!\"{3}|'{3}) (?: "(?:[^"\\\r\n]|\\.)*" | '(?:[^'\\\r\n]|\\.)*' ) )
  | (?P<variable> [?$]\w+ )
  | (?P<language> @[A-Za-z]+(?:-[A-Za-z0-9]+)* )
  | (?P<blank> _:\w(?:[\w-]|\.(?=[\w-]))* )
  | (?P<name> (?:[^\W\d_](?:[\w-]|\.(?=[\w-]))*)?:
              (?:(?:[\w:]|%[0-9A-Fa-f]{2})(?:[\w:-]|%[0-9A-Fa-f]{2}|\.(?=[\w:%-]))*)? )
  | (?P<number> (?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)? )
  | (?P<word> [^\W\d]\w* )
  | (?P<symbol> \^\^ | && | \|\| | != | <= | >= | [{}()\[\].,;=<>!+*/|^?-] )
    """,
    re.VERBOSE | re.DOTALL,
)
_IRI = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:[\w\-.~:/#%@+?]*>")
"""Absolute, and of letters, digits and these signs: no sign of it ends a string or opens a bracket, whoever reads it as another token."""
_CLOSING = {")": "(", "]": "[", "}": "{"}
_ESCAPED_SIGN = re.compile(r"\\+(?:u00|U000000)(?:0a|0d|22|27|5c)", re.IGNORECASE)
_REIFIED = re.compile(r"<<|>>|\{\||\|\}|~")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparqlToken:
    """A token.

    :param start: its place in the text, in characters.
    :param depth: how many brackets stand open before it.
    """

    kind: TokenKind
    text: str
    start: int
    end: int
    depth: int

    @property
    def word(self) -> str:
        """A word in capitals, else empty."""
        return self.text.upper() if self.kind == "word" else ""

    def symbol(self, *texts: str) -> bool:
        """Say whether it is one of these symbols."""
        return self.kind == "symbol" and self.text in texts


def sparql_tokens(text: str) -> tuple[SparqlToken, ...]:
    """Return the tokens of a text, without comments.

    :raises StatementError: when it is too long, a string or bracket is left open, or a character has no place in SPARQL 1.1.
    """
    if len(text) > _MAX_TEXT:
        raise sparql_fault(f"the text has more than {_MAX_TEXT:,} characters", "Split it")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise sparql_fault("the text holds a character that is none of Unicode text", "Leave it out")
    if hidden := _ESCAPED_SIGN.search(text):  # some engines decode these before they look for the ends of strings
        raise sparql_fault(f"an escape stands for a quote or the end of a line: {hidden[0]}", "Escape it by \\")
    found: list[SparqlToken] = []
    opened: list[str] = []
    at = 0
    while at < len(text):
        match = _iri(text, at, found, opened) or _TOKEN.match(text, at)
        if match is None:
            raise sparql_fault(
                f"the character {text[at]!r} at {at} has no place in SPARQL", "Close quotes; leave it out"
            )
        kind, at = match.lastgroup if match.re is _TOKEN else "iri", match.end()
        if kind == "space" or kind is None:
            continue
        token = match[0]
        if kind == "symbol" and token in _CLOSING and (not opened or opened.pop() != _CLOSING[token]):
            raise sparql_fault(f"a bracket {token} closes none", "Write brackets in pairs")
        found.append(SparqlToken(kind=kind, text=token, start=match.start(), end=at, depth=len(opened)))  # type: ignore[arg-type]
        if kind == "symbol" and token in _CLOSING.values():
            opened.append(token)
    if opened:
        raise sparql_fault(f"a bracket {opened[-1]} is not closed", "Write brackets in pairs")
    _check_shape(text, found)
    return tuple(found)


def _iri(text: str, at: int, before: list[SparqlToken], opened: list[str]) -> re.Match[str] | None:
    """Return the IRI that must begin here; None where none can.

    :raises StatementError: when what begins here is none.
    """
    if text[at] != "<":
        return None
    found = _IRI.match(text, at)
    if opened and opened[-1] == "(" and _is_value(before[-1]):
        if found:
            raise sparql_fault("an IRI stands after a value in round brackets", "Declare a PREFIX, and write a name")
        return None
    if found is None:
        raise sparql_fault(
            f"{text[at : at + 40]!r} begins no IRI that is allowed here",
            "Write an IRI as <scheme:path>, of letters, digits and -._~:/#%@+?; compare in FILTER(?a < ?b)",
        )
    return found


def _is_value(token: SparqlToken) -> bool:
    """Say whether a value may end with a token, so that "less" may follow."""
    if token.kind == "word":
        return token.word != "DISTINCT"
    return token.kind != "symbol" or token.symbol(")", "]", "}")


def _check_shape(text: str, tokens: list[SparqlToken]) -> None:
    if any(token.depth > _MAX_DEPTH for token in tokens):
        raise sparql_fault(f"more than {_MAX_DEPTH} brackets stand in one another", "Write it in parts")
    for before, after in itertools.pairwise(tokens):
        joined = text[before.start : after.end]
        if before.kind == after.kind == "symbol" and _REIFIED.fullmatch(joined):
            raise sparql_fault(f"{joined} is no SPARQL 1.1", "Ask for the properties of an edge by ?e edge:source ?a")


def sparql_fault(problem: str, remedy: str) -> StatementError:
    """Return the error of a text that is refused, or that fails."""
    return StatementError(problem, subject="SPARQL", remedy=remedy)
