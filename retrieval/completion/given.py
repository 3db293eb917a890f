"""Which inputs a request gives: those that a typed value of it fits, so that no tool need supply them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ontology.names import words
from retrieval.completion.needs import Need
from retrieval.index.analysis import terms
from retrieval.query.typed_values import TypedValue

__all__ = ["GivenInputs"]

_IDENTIFIERS = frozenset({"identifier", "uuid", "arn", "hex digest"})
"""Kinds of value that identify something; which entity, the kind does not say."""
_MARKS = frozenset({"id", "identifier", "number", "no", "nr", "code", "key", "ref", "reference", "#"})
"""Words before a value that make it an identifier, whatever its kind. Found on the sets gtc and sealtools."""
_NAMES = frozenset({"name", "title"})
"""Fields that a request states in words: of 130 such inputs of needed tools, over 17 sets, another tool supplied 3."""
_SECRET = "token"
"""The field of a session: no request states its value."""
_BEFORE = 4
"""Words before a value that say what it identifies: "purchase order number 4711". Chosen, not tuned."""


class GivenInputs:
    """The inputs that the values of one request give.

    A value that has a shape of the snapshot, or whose noun is before it ("order 4711"), gives the inputs of its entity. An identifier of
    which neither is known gives one input of the tool that is asked for in its clause.

    :param text: the request.
    :param values: its typed values.
    """

    def __init__(self, text: str, values: Sequence[TypedValue]) -> None:
        self.terms = frozenset(terms(text))
        self._entities: set[str] = set()
        self._uses: set[tuple[int, str]] = set()
        self._kinds = {value.kind for value in values}
        self._nouns: set[str] = set()
        self._loose: list[TypedValue] = []
        for value in values:
            exact = [match for match in value.matches if not match.shape.kind]
            self._uses.update((use.tool, use.parameter) for match in value.matches for use in match.uses)
            own = {use.entity for match in exact for use in match.uses if use.entity and not use.is_widened}
            self._entities |= own
            before = words(text[: value.start])[-_BEFORE:]
            if not own and (value.kind in _IDENTIFIERS or not _MARKS.isdisjoint(before[-2:])):
                self._nouns.update(terms(" ".join(before)))
                self._loose.append(value)

    def gives(self, tool: int, need: Need) -> bool:
        """Whether a value of known entity fits this input of a tool."""
        if not need.parameter or need.field == _SECRET:
            return False
        if need.field in _NAMES:
            return True
        return (
            (tool, need.parameter) in self._uses
            or need.entity in self._entities
            or need.field in self._kinds
            or bool(need.entity and terms(need.entity)[-1:] and terms(need.entity)[-1] in self._nouns)
        )

    def loose(self, clause: str) -> int:
        """The number of identifiers in a part of the request whose entity is not known."""
        return sum(value.text in clause for value in self._loose)

    def speaks_of(self, need: Need) -> bool:
        """Whether the request has a word of the entity or of the name of an input."""
        return not self.terms.isdisjoint(terms(f"{need.entity} {need.parameter}"))

    def open_needs(self, tool: int, needs: Sequence[Need], clauses: Collection[str]) -> list[Need]:
        """The needs of a tool that the request leaves open.

        :param clauses: the parts of the request that the tool answers; none for a tool that only supplies another.
        """
        loose = max((self.loose(clause) for clause in clauses), default=0)
        found: list[Need] = []
        for need in needs:
            if self.gives(tool, need) or not (need.required or self.speaks_of(need)):
                continue
            if loose and need.parameter and need.field != _SECRET:
                loose -= 1
                continue
            found.append(need)
        return found
