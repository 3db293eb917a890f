"""Which parameters have values of which shape: the rows of a snapshot's index of shapes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ingest.linking.documented_shapes import ShownShape, is_possible, shown_shapes
from ingest.linking.identifiers import GENERIC_NAMES, Identifier, IdentifierReader
from ingest.linking.observed_values import ObservedShapes
from ontology.ontology import Ontology
from ontology.pattern_shape import facts_of
from ontology.tool import Parameter, Tool
from ontology.value_shape import ShapeUse, ValueShape

__all__ = ["shape_uses"]

_Field: TypeAlias = tuple[str, str, str]
"""Namespace, entity and field of an identifier."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A parameter of a tool, and what it identifies."""

    tool: Tool
    parameter: Parameter
    output: bool
    shapes: tuple[ShownShape, ...]
    identifier: Identifier | None
    name: str

    @property
    def field(self) -> _Field | None:
        known = self.identifier
        return (self.tool.namespace, known.entity, known.field) if known and known.entity not in GENERIC_NAMES else None


def shape_uses(tools: Sequence[Tool], ontology: Ontology, observed: ObservedShapes | None = None) -> list[ShapeUse]:
    """Return the parameters whose values have a specific shape, sorted.

    Where a document shows an identifier once, other inputs of the same identifier in its namespace have the same shape, unless what the
    document says of them contradicts it.
    A number without given digits is only kept for an identifier: elsewhere it is a time, a size or a position.
    """
    found: list[ShapeUse] = []
    shown_of: defaultdict[_Field, dict[ShownShape, None]] = defaultdict(dict)
    silent: list[tuple[_Field, _Place]] = []
    for place in _places(tools, ontology, observed or ObservedShapes()):
        shapes = [shown for shown in place.shapes if place.identifier is not None or not _is_bare_number(shown.shape)]
        found.extend(_use(place, shown, shown.source) for shown in shapes)
        if place.field is not None:
            shown_of[place.field].update(dict.fromkeys(shown for shown in shapes if shown.source != "kind"))
            if not place.output and all(shown.source == "kind" for shown in shapes):
                silent.append((place.field, place))
    for field, place in silent:
        possible = (shown for shown in shown_of[field] if is_possible(shown.shape, place.parameter))
        found.extend(_use(place, shown, "entity") for shown in possible)
    return sorted(set(found), key=_order)


def _is_bare_number(shape: ValueShape) -> bool:
    facts = facts_of(shape)
    return facts.digits_only and not facts.prefix


def _places(tools: Iterable[Tool], ontology: Ontology, observed: ObservedShapes) -> Iterator[_Place]:
    for tool in tools:
        reader = IdentifierReader(tool, ontology)
        for output, parameters in ((False, tool.parameters), (True, tool.returns)):
            for parameter in parameters:
                shapes = shown_shapes(parameter)
                if output and not shapes and not observed:
                    continue
                identifier = reader.identifier(parameter)
                seen = observed.of(tool, parameter, identifier.entity if identifier else "")
                name = reader.names.canonical(parameter.name.replace("[]", "").rsplit(".", 1)[-1])
                yield _Place(tool, parameter, output, (*shapes, *seen), identifier, name)


def _use(place: _Place, shown: ShownShape, source: str) -> ShapeUse:
    return ShapeUse(
        shape=shown.shape,
        tool=place.tool.id,
        parameter=place.parameter.name,
        entity=place.identifier.entity if place.identifier else place.name,
        output=place.output,
        source=source,
        is_widened=shown.is_widened,
    )


def _order(use: ShapeUse) -> tuple[str, str, str, bool, str]:
    return use.shape.pattern, use.tool, use.parameter, use.output, use.source
