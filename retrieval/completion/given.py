"""Which inputs a request gives: those that a typed value of it fits, so that no tool need supply them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ontology.names import words
from retrieval.completion.needs import RESOLVED_BY, Need
from retrieval.index.analysis import terms
from retrieval.query.query import Clause, Query

__all__ = ["GivenInputs"]

_IDENTIFIERS = frozenset({"identifier", "uuid", "arn", "hex digest"})
"""Kinds of value that identify something; which entity, the kind does not say."""
_MARKS = frozenset({"id", "identifier", "number", "no", "nr", "code", "key", "ref", "reference"})
"""Words before a value that make it an identifier, whatever its kind. Found on the sets gtc and sealtools."""
_NAMES = frozenset({"name", "title"})
"""Fields that a request states in words: of 109 such inputs of needed tools, over 17 sets, another needed tool supplied 3."""
_ADDRESSES = frozenset({"arn", "domain", "email", "iban", "ip", "phone"})
"""Kinds of value that are the field of an entity. Chosen, not tuned."""
_SECRET = "token"
"""The field of a session: no request states its value."""
_BEFORE = 4
"""Words before a value that say what it identifies: "purchase order number 4711". Chosen, not tuned."""
_BEFORE_CHARS = 80


class GivenInputs:
    """The inputs that the values of one request give.

    A value that has a shape of the snapshot, or whose noun is before it ("order 4711"), gives the inputs of its entity. An identifier of
    which neither is known gives one input of the tool that is asked for in its clause.
    """

    def __init__(self, query: Query, *, named: bool = False) -> None:
        self.named = named
        self._terms = frozenset(query.terms)
        self._entities: set[str] = set()
        self._uses: set[tuple[int, str]] = set()
        self._addresses = _ADDRESSES & {value.kind for value in query.values}
        self._nouns: set[str] = set()
        self._loose: set[int] = set()
        for value in query.values:
            self._uses.update((use.tool, use.parameter) for match in value.matches for use in match.uses)
            exact = [match for match in value.matches if not match.shape.kind]
            own = {use.entity for match in exact for use in match.uses if use.entity and not use.is_widened}
            self._entities |= own
            before = words(query.text[max(0, value.start - _BEFORE_CHARS) : value.start])[-_BEFORE:]
            if not own and (value.kind in _IDENTIFIERS or not _MARKS.isdisjoint(before[-2:])):
                self._nouns.update(terms(" ".join(before)))
                self._loose.add(value.start)

    def gives(self, tool: int, need: Need) -> bool:
        """Whether a value of known entity fits this input of a tool."""
        if not need.parameter or need.field == _SECRET:
            return False
        if need.field in _NAMES:
            return True
        return (
            (tool, need.parameter) in self._uses
            or need.entity in self._entities
            or need.field in self._addresses
            or bool(need.entity and terms(need.entity)[-1:] and terms(need.entity)[-1] in self._nouns)
        )

    def speaks_of(self, need: Need) -> bool:
        """Whether the request has a word of the entity or of the name of an input, or a name that a resolver takes."""
        if self.named and need.suppliers[0].predicate == RESOLVED_BY:
            return True
        return not self._terms.isdisjoint(terms(f"{need.entity} {need.parameter}"))

    def loose(self, parts: Collection[Clause]) -> int:
        """How many identifiers of unknown entity one of some clauses has at most: each gives one input."""
        return max((sum(value.start in self._loose for value in part.values) for part in parts), default=0)

    def open_needs(self, tool: int, needs: Sequence[Need], parts: Collection[Clause]) -> list[Need]:
        """The needs of a tool that the request leaves open.

        :param parts: the clauses that the tool answers; none for a tool that only supplies another.
        """
        loose = self.loose(parts)
        found: list[Need] = []
        for need in needs:
            if self.gives(tool, need) or not (need.required or self.speaks_of(need)):
                continue
            if loose and need.parameter and need.field != _SECRET:
                loose -= 1
                continue
            found.append(need)
        return found
