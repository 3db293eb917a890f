"""Fields inside the values of named types, by dotted path: for formats that name their types (AWS shapes, OData types).

What lies too deep or beyond the limit of fields is left out, the outer fields staying. A type inside itself is not opened again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from ontology.tool import Parameter

__all__ = ["Member", "NestedFields"]


class Member(NamedTuple):
    """A member of a type, and the name of its own type."""

    parameter: Parameter
    type: str


_Inner = tuple[Parameter, ...]


@dataclass(frozen=True, kw_only=True)
class NestedFields:
    """The types of one document.

    :param members: the members of a structured type.
    :param core: through lists and maps to what a type holds: the path there (``[]``, ``.*``, or empty) and the name of the
        structured type, or None where it holds no fields.
    :param max_depth: levels that are opened below the top.
    :param max_fields: fields taken in all.
    :param max_breadth: members taken of one inner type; None for all.
    """

    members: Callable[[str], Sequence[Member]]
    core: Callable[[str], tuple[str, str] | None]
    max_depth: int
    max_fields: int
    max_breadth: int | None = None
    _known: dict[tuple[str, str, int, frozenset[str]], _Inner] = field(default_factory=dict)

    def flatten(self, tops: Sequence[Member], opened: frozenset[str] = frozenset()) -> Iterator[Parameter]:
        """Members and the fields inside them, the members first in line for the limit.

        :param opened: types that are not opened again.
        """
        room = max(0, self.max_fields - len(tops))
        for top, type_ in tops[: self.max_fields]:
            inner = self._inside(type_, 1, opened)[:room]
            room -= len(inner)
            yield top
            yield from (replace(each, name=f"{top.name}{each.name}", location=top.location) for each in inner)

    def _inside(self, type_: str, depth: int, opened: frozenset[str]) -> _Inner:
        """The fields inside a value of a type, their names beginning with ``.``, ``[]`` or ``.*``."""
        core = self.core(type_)
        if core is None or core[1] in opened or depth > self.max_depth:
            return ()
        key = (*core, depth, opened)
        if key not in self._known:
            self._known[key] = tuple(islice(self._walk(*core, depth, opened), self.max_fields))
        return self._known[key]

    def _walk(self, step: str, name: str, depth: int, opened: frozenset[str]) -> Iterator[Parameter]:
        for member, type_ in self.members(name)[: self.max_breadth]:
            at = f"{step}.{member.name}"
            yield replace(member, name=at, location="", required=False)
            for inner in self._inside(type_, depth + 1, opened | {name}):
                yield replace(inner, name=f"{at}{inner.name}")
