"""The tokens of a Cypher statement: strings, comments and quoted names respected; what cannot be read is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ontology.errors import StatementError
from planners.stores.property_values import check_characters

__all__ = ["MAX_STATEMENT", "CypherToken", "TokenKind", "cypher_tokens", "quoted_text"]

MAX_STATEMENT = 50_000
"""Characters of a statement: ten times the longest that our writers produced."""
_MAX_DEPTH = 40
"""Brackets in brackets: the parsers of the engines recurse; the deepest statement of our tests has 6."""

TokenKind = Literal["name", "quoted", "string", "number", "parameter", "symbol"]
_TOKEN = re.compile(
    r"""
    (?P<space> [ \t\r\n\f]+ | //[^\r\n]* | /\*.*?\*/ )
  | (?P<string> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
  | (?P<quoted> `(?:[^`]|``)+` )
  | (?P<number> (?:\d+\.\d+|\d+)(?:[eE][+-]?\d+)?(?![\w]) )
  | (?P<parameter> \$\w+ )
  | (?P<name> [^\W\d]\w* )
  | (?P<symbol> \.\. | <> | <= | >= | =~ | \+= | \|\| | /(?!\*) | [-+*%^=<>()\[\]{},.:;|] )
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {")": "(", "]": "[", "}": "{"}
_HIDDEN_QUOTE = re.compile(r"\\+u+(?:0022|0027|005c|0060)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CypherToken:
    """A token.

    :param text: as it stands; of names without their backticks.
    :param start: its place in the statement, in characters.
    :param depth: how many brackets stand open before it.
    """

    kind: TokenKind
    text: str
    start: int
    end: int
    depth: int

    @property
    def word(self) -> str:
        """The text of an unquoted name in capitals, else empty."""
        return self.text.upper() if self.kind == "name" else ""

    @property
    def is_name(self) -> bool:
        """Whether it is a name, quoted or not."""
        return self.kind in ("name", "quoted")

    def symbol(self, *texts: str) -> bool:
        """Say whether it is one of these symbols."""
        return self.kind == "symbol" and self.text in texts


def cypher_tokens(text: str) -> tuple[CypherToken, ...]:
    """Return the tokens of a statement, without comments.

    :raises StatementError: when it is too long, a string or bracket is left open, or a character has no place in Cypher
        or in Unicode text.
    """
    if len(text) > MAX_STATEMENT:
        raise _fault(f"the statement has more than {MAX_STATEMENT:,} characters", "Split it")
    check_characters(text, "the statement")
    if hidden := _HIDDEN_QUOTE.search(text):
        raise _fault(f"an escape stands for a quote: {hidden[0]}", "Write the character itself, or escape it by \\")
    found: list[CypherToken] = []
    opened: list[str] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _unreadable(text, at)
        at = match.end()
        kind = match.lastgroup
        if kind == "space" or kind is None:
            continue
        token = match[0]
        if kind == "symbol" and token in _CLOSING and (not opened or opened.pop() != _CLOSING[token]):
            raise _fault(f"a bracket {token} closes none", "Write brackets in pairs")
        name = token[1:-1].replace("``", "`") if kind == "quoted" else token
        found.append(CypherToken(kind=kind, text=name, start=match.start(), end=at, depth=len(opened)))  # type: ignore[arg-type]
        if kind == "symbol" and token in _CLOSING.values():
            opened.append(token)
            if len(opened) > _MAX_DEPTH:
                raise _fault(f"more than {_MAX_DEPTH} brackets stand in one another", "Write several statements")
    if opened:
        raise _fault(f"a bracket {opened[-1]} is not closed", "Write brackets in pairs")
    return tuple(found)


def quoted_text(text: str) -> str:
    """Return a text as a Cypher string."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r") + "'"


def _unreadable(text: str, at: int) -> StatementError:
    if text[at] in "'\"`":
        return _fault(f"a quote {text[at]} is not closed", "Close it; write a quote in a string as \\' or \\\"")
    if text.startswith("/*", at):
        return _fault("a comment is not closed", "Leave comments out")
    remedy = "Unequal is <>" if text[at] == "!" else "Leave it out; write odd names in backticks"
    return _fault(f"the character {text[at]!r} at {at} has no place in Cypher", remedy)


def _fault(problem: str, remedy: str) -> StatementError:
    return StatementError(problem, subject="Cypher", remedy=remedy)
