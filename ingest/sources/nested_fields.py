"""Flatten the fields of named types to dotted paths, for formats with named types (AWS shapes, OData types).

Fields beyond the limits of depth and number are left out, nested fields first. A recursive type is not opened inside itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from ontology.tool import Parameter

__all__ = ["Member", "NestedFields"]


class Member(NamedTuple):
    """A member of a structured type, and the name of the member's type."""

    parameter: Parameter
    type: str


_Inner = tuple[Parameter, ...]


@dataclass(frozen=True, kw_only=True)
class NestedFields:
    """The types of one document.

    :param members: returns the members of a structured type.
    :param element_type: returns the structured type inside the lists and maps of a type: the path to it (``[]``, ``.*``, or empty)
        and its name, or None where there is no structured type.
    :param max_depth: maximum number of levels below the first.
    :param max_fields: maximum number of fields in total.
    :param max_breadth: maximum number of members of one nested type; None for all.
    """

    members: Callable[[str], Sequence[Member]]
    element_type: Callable[[str], tuple[str, str] | None]
    max_depth: int
    max_fields: int
    max_breadth: int | None = None
    _known: dict[tuple[str, str, int, frozenset[str]], _Inner] = field(default_factory=dict)

    def flatten(self, members: Sequence[Member], opened: frozenset[str] = frozenset()) -> Iterator[Parameter]:
        """Yield members and their nested fields; the limit cuts nested fields before members.

        :param opened: types that are not opened again.
        """
        remaining = max(0, self.max_fields - len(members))
        for member, type_ in members[: self.max_fields]:
            nested = self._inside(type_, 1, opened)[:remaining]
            remaining -= len(nested)
            yield member
            yield from (replace(field, name=f"{member.name}{field.name}", location=member.location) for field in nested)

    def _inside(self, type_: str, depth: int, opened: frozenset[str]) -> _Inner:
        """Return the fields inside a value of a type; their names begin with ``.``, ``[]`` or ``.*``."""
        element_type = self.element_type(type_)
        if element_type is None or element_type[1] in opened or depth > self.max_depth:
            return ()
        key = (*element_type, depth, opened)
        if key not in self._known:
            self._known[key] = tuple(islice(self._walk(*element_type, depth, opened), self.max_fields))
        return self._known[key]

    def _walk(self, prefix: str, name: str, depth: int, opened: frozenset[str]) -> Iterator[Parameter]:
        for member, type_ in self.members(name)[: self.max_breadth]:
            path = f"{prefix}.{member.name}"
            yield replace(member, name=path, location="", required=False)
            for inner in self._inside(type_, depth + 1, opened | {name}):
                yield replace(inner, name=f"{path}{inner.name}")
