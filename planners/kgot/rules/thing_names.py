"""What things are called: in the graph by their properties, in requests for tools by their nouns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ontology.names import words
from planners.graphs.property_graph import GraphNode, Scalar, Value
from planners.kgot.asked import AskedVariable
from planners.kgot.rules.shape_names import identifier_of

__all__ = ["as_held", "identifiers", "naming_properties", "noun_of", "once", "reference_of", "said_identifier"]

_NAME = "name"
_NO_NAMES = ("first", "last", "file", "user", "middle", "trading")


def naming_properties(variable: AskedVariable, nodes: Sequence[GraphNode]) -> tuple[tuple[str, ...], ...]:
    """Return the properties that name a thing: its name, else its parts, at last its identifier."""
    held = {name for node in nodes for name in node.properties}
    own = sorted(
        (name for name in held if name.casefold().endswith(_NAME) and not name.casefold().startswith(_NO_NAMES)),
        key=lambda name: (name != _NAME, len(name), name),
    )
    parts = [("firstName", "lastName")] if {"firstName", "lastName"} <= held else []
    last = [(variable.identifier,)] if variable.identifier else []
    return tuple([*((name,) for name in own if "_" not in name), *parts, *last])


def identifiers(variable: AskedVariable, nodes: Sequence[GraphNode]) -> tuple[str, ...]:
    """Return the identifier of each node."""
    return tuple(str(node.properties.get(variable.identifier, "")) for node in nodes)


def as_held(held: Sequence[Value], value: Scalar) -> Scalar:
    """Return a value as the property has it: a number where all of its values are numbers."""
    if (
        isinstance(value, str)
        and held
        and all(isinstance(each, int | float) and not isinstance(each, bool) for each in held)
    ):
        try:
            return int(value) if value.lstrip("-").isdigit() else float(value)
        except ValueError:
            return value
    return value


def once(nodes: Iterable[GraphNode]) -> list[GraphNode]:
    """Return nodes without their repetitions."""
    return list({node.id: node for node in nodes}.values())


def reference_of(path: str) -> str:
    """Return the field whose edge leads to the thing: ``accountOwner`` of ``accountOwner.employeeId``."""
    owner, _, last = path.rpartition(".")
    return owner.rpartition(".")[2] if owner and identifier_of(last) is not None else last


def noun_of(variable: AskedVariable) -> str:
    """Return what one such thing is called."""
    return (variable.nouns or (variable.label,))[0].casefold()


def said_identifier(identifier: str) -> str:
    """Return the words of an identifier."""
    return " ".join(words(identifier)).casefold()
