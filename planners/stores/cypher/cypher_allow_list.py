"""What of Cypher a model may write: an allow-list of clauses and functions, checked before any engine sees the text.

Refused are: clauses and functions that are not on the list (files, networks, procedures, schemas, settings), several
statements in one text, several labels of one node, and deletions that nothing restricts. A word stands for itself where the
grammar allows nothing else: ``(c:Call)`` and ``c.load`` are names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ontology.errors import StatementError
from planners.stores.cypher.cypher_deletes import check_deletes
from planners.stores.cypher.cypher_patterns import closing
from planners.stores.cypher.cypher_tokens import CypherToken, cypher_tokens
from planners.stores.cypher.cypher_words import CLAUSES, FUNCTIONS, REFUSED, STARTS, WORDS, WRITES

__all__ = ["AllowedCypher", "allowed_cypher"]

_MAX_TOKENS = 10_000
_MAX_RANGE = 100_000
"""A bound of ``range``: a list of that length takes Ladybug 10 ms; one of 10⁹ members took all memory."""
_MAX_PREFIXES = 20
"""NOT or signs in a row: parsers recurse on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedCypher:
    """A statement that was admitted.

    :param text: without comments and the closing semicolon: send this, not what came in.
    :param tokens: of this text.
    """

    text: str
    tokens: tuple[CypherToken, ...]


def allowed_cypher(text: str, *, write: bool) -> AllowedCypher:
    """Check a statement, and return what may go to the engine.

    :param write: whether it may change the graph.
    :raises StatementError: when something is not on the list; the problem is written for whoever wrote the statement.
    """
    tokens = _without_semicolon(cypher_tokens(text))
    if not tokens:
        raise _refused("the statement is empty", "Write one")
    if len(tokens) > _MAX_TOKENS:
        raise _refused(f"the statement has more than {_MAX_TOKENS:,} words and signs", "Split it")
    if tokens[0].word not in STARTS:
        raise _refused(
            f"a statement cannot start with {tokens[0].text[:40]!r}", f"Start with {', '.join(sorted(STARTS))}"
        )
    for at, token in enumerate(tokens):
        _check_word(tokens, at, write=write)
        _check_neighbours(tokens, at)
        if token.is_name and at + 1 < len(tokens) and tokens[at + 1].symbol("("):
            _check_function(tokens, at)
    _check_prefixes(tokens)
    _check_labels(tokens)
    if write:
        check_deletes(tokens)
    clean = _without_comments(text, tokens)
    return AllowedCypher(text=clean, tokens=_without_semicolon(cypher_tokens(clean)))


def _without_semicolon(tokens: tuple[CypherToken, ...]) -> tuple[CypherToken, ...]:
    return tokens[:-1] if tokens and tokens[-1].symbol(";") else tokens


def _without_comments(text: str, tokens: Sequence[CypherToken]) -> str:
    """Return the tokens as they stand, with one space where there was any between them."""
    parts: list[str] = []
    end = tokens[0].start
    for token in tokens:
        parts += [" " if token.start > end else "", text[token.start : token.end]]
        end = token.end
    return "".join(parts)


def in_name_position(tokens: Sequence[CypherToken], at: int) -> bool:
    """Say whether a token can only be a label, a type, a property or the key of a map."""
    before = tokens[at - 1] if at else None
    if before is None:
        return False
    if before.symbol(":", "."):
        return True
    if before.symbol("|"):
        return at >= 3 and tokens[at - 2].is_name and (tokens[at - 3].symbol(":") or in_name_position(tokens, at - 2))
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    return before.symbol("{", ",") and after is not None and after.symbol(":") and tokens[at].depth > 0


def _check_word(tokens: Sequence[CypherToken], at: int, *, write: bool) -> None:
    token = tokens[at]
    if token.symbol(";"):
        raise _refused("several statements stand in one text", "Give them one by one")
    word = token.word
    if not word or in_name_position(tokens, at):
        return
    if word in REFUSED:
        raise _refused(f"{word} is not allowed", f"Use {', '.join(sorted(CLAUSES))}; quote a name as `{token.text}`")
    if word in WRITES and not write:
        raise _refused(f"{word} changes the graph, and this is a query", "Read with MATCH and RETURN")
    if word == "CREATE" and not _creates_pattern(tokens, at):
        raise _refused("CREATE of something else than nodes and relationships is not allowed", "CREATE (n:Label {…})")


def _creates_pattern(tokens: Sequence[CypherToken], at: int) -> bool:
    after = tokens[at + 1 : at + 3]
    if not after:
        return False
    if after[0].symbol("("):
        return True
    named = len(after) == 2 and after[0].is_name and after[1].symbol("=")
    return named or (after[0].word == "SET" and at > 0 and tokens[at - 1].word == "ON")


def _check_neighbours(tokens: Sequence[CypherToken], at: int) -> None:
    """Two operands in a row belong to a clause that is not on the list."""
    if at and _is_operand(tokens, at) and (_is_operand(tokens, at - 1) or tokens[at - 1].symbol(")", "]", "}")):
        raise _refused(
            f"{tokens[at].text[:40]!r} cannot follow {tokens[at - 1].text[:40]!r}", "Use clauses of openCypher"
        )


def _is_operand(tokens: Sequence[CypherToken], at: int) -> bool:
    token = tokens[at]
    if token.kind == "symbol":
        return False
    return token.word not in WORDS or in_name_position(tokens, at)


def _check_function(tokens: Sequence[CypherToken], at: int) -> None:
    token = tokens[at]
    if token.word in WORDS and not in_name_position(tokens, at):
        return
    if at and tokens[at - 1].symbol("."):
        raise _refused(f"the function …{token.text[:40]} has a dotted name", "Use functions of openCypher")
    if token.text.lower() not in FUNCTIONS:
        raise _refused(
            f"the function {token.text[:40]} is not on the list", "Use functions of openCypher that compute values"
        )
    if token.text.lower() == "range":
        _check_range(tokens, at)


def _check_range(tokens: Sequence[CypherToken], at: int) -> None:
    """Bounds of ``range`` are small numbers, or sizes: it builds the whole list."""
    end = closing(tokens, at + 1)
    place = at + 2
    while place < end:
        token = tokens[place]
        if token.word == "SIZE" and tokens[place + 1].symbol("("):
            place = closing(tokens, place + 1)
        elif not token.symbol("-", "+", ","):
            if token.kind != "number" or not token.text.isdecimal() or int(token.text) > _MAX_RANGE:
                problem = f"a bound of range is neither a number up to {_MAX_RANGE:,} nor a size"
                raise _refused(problem, "Write the number")
        place += 1


def _check_prefixes(tokens: Sequence[CypherToken]) -> None:
    run = 0
    for token in tokens:
        run = run + 1 if token.word in ("NOT", "CASE") or token.symbol("-", "+") else 0
        if run > _MAX_PREFIXES:
            raise _refused(f"more than {_MAX_PREFIXES} NOT or signs stand in a row", "Leave them out")


def _check_labels(tokens: Sequence[CypherToken]) -> None:
    """A node has one label, for ever: ``(n:A:B)`` means all of them to one engine, and any of them to another."""
    clause = ""
    for at, token in enumerate(tokens):
        if token.word in CLAUSES and not in_name_position(tokens, at):
            clause = token.word
        if not token.symbol(":"):
            continue
        if at >= 2 and tokens[at - 1].is_name and tokens[at - 2].symbol(":"):
            raise _refused("a node has one label", "Use :A or, to match any of several, :A|B")
        if clause in ("SET", "REMOVE") and token.depth == 0:
            raise _refused("the label of a node cannot be changed", "Create another node, or set a property")


def _refused(problem: str, remedy: str) -> StatementError:
    return StatementError(problem, subject="Cypher", remedy=remedy)
