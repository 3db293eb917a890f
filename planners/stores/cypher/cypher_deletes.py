"""Deletions that nothing restricts: legal Cypher, refused, because one statement of a model would empty the graph of a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ontology.errors import StatementError
from planners.stores.cypher.cypher_tokens import CypherToken
from planners.stores.cypher.cypher_words import CLAUSES

__all__ = ["check_deletes"]

_PATTERNS = ("MATCH", "MERGE", "CREATE")


def check_deletes(tokens: Sequence[CypherToken]) -> None:
    """Check what DELETE, REMOVE and ``SET n = …`` change.

    A variable is restricted where its pattern names a label, a type or a property, where a condition names one, or where it
    is joined to one that is.

    :raises StatementError: when a variable is not restricted, or no pattern binds it.
    """
    parts: list[list[CypherToken]] = []
    kept: set[str] = set()
    for word, clause in _clauses(tokens):
        if word == "WITH":
            kept, parts = _projected(clause, _restricted(parts, kept)), []
        elif word in _PATTERNS:
            parts += _parts(clause)
        elif word == "WHERE":
            parts += _conditions(clause)
        else:
            for name in _emptied(word, clause):
                if name not in _restricted(parts, kept):
                    raise StatementError(
                        f"{name[:40]} is deleted, and nothing restricts it",
                        subject="Cypher",
                        remedy="Say which: MATCH (n:Label {property: value}); what deletes everything is refused, so that no run loses"
                        " its graph",
                    )


def _clauses(tokens: Sequence[CypherToken]) -> Iterator[tuple[str, list[CypherToken]]]:
    """Yield the clauses, each with its first word; those in subqueries belong to the one around them."""
    word, clause = "", list[CypherToken]()
    for at, token in enumerate(tokens):
        named = at > 0 and tokens[at - 1].symbol(":", ".", "|")
        if token.depth == 0 and token.word in CLAUSES and not named:
            yield word, clause
            word, clause = token.word, []
        else:
            clause.append(token)
    yield word, clause


def _parts(clause: Sequence[CypherToken]) -> list[list[CypherToken]]:
    """Return what commas outside of brackets separate."""
    parts: list[list[CypherToken]] = [[]]
    for token in clause:
        if token.symbol(",") and token.depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _conditions(clause: Sequence[CypherToken]) -> list[list[CypherToken]]:
    """Return ``variable.property`` and ``variable:Label`` of a condition, each for itself."""
    return [
        list(clause[at - 1 : at + 2])
        for at, token in enumerate(clause)
        if at and token.symbol(".", ":") and clause[at - 1].is_name
    ]


def _emptied(word: str, clause: Sequence[CypherToken]) -> list[str]:
    """Return the variables that a clause deletes, or whose properties it takes away."""
    items = [part for part in _parts(clause) if part]
    if word == "DELETE":
        return [item[0].text for item in items]
    if word == "REMOVE":
        return [item[0].text for item in items if item[0].is_name]
    if word == "SET":
        return [item[0].text for item in items if len(item) > 1 and item[1].symbol("=")]
    return []


def _projected(clause: Sequence[CypherToken], names: set[str]) -> set[str]:
    """Return which variables are restricted after WITH: the others go out of scope, and their names can be bound anew."""
    found: set[str] = set()
    for item in _parts([token for token in clause if token.word != "DISTINCT"]):
        if item[0].symbol("*"):
            found |= names
        elif item[0].text in names and len(item) == 1:
            found.add(item[0].text)
        elif item[0].text in names and len(item) == 3 and item[1].word == "AS":
            found.add(item[2].text)
    return found


def _restricted(parts: Sequence[Sequence[CypherToken]], kept: set[str]) -> set[str]:
    names = set(kept)
    while True:
        more = set(names)
        for part in parts:
            variables = _variables(part)
            if any(token.symbol(":", ".") for token in part) or variables & names:
                more |= variables
        if more == names:
            return names
        names = more


def _variables(part: Sequence[CypherToken]) -> set[str]:
    """Return the names in a part that are no labels, types or properties."""
    return {
        token.text
        for at, token in enumerate(part)
        if token.is_name
        and not (at and part[at - 1].symbol(":", ".", "|"))
        and not (at + 1 < len(part) and part[at + 1].symbol(":") and at and part[at - 1].symbol("{", ","))
    }
