"""Associations of OData v2: the target type and the target entity set of a navigation property."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from xml.etree.ElementTree import Element

from ingest.sources.odata.csdl import Navigation
from ingest.sources.odata.xml_elements import children_of

__all__ = ["Associations"]


class Associations:
    """The associations of a document.

    :param qualify: replaces the alias in a name by its namespace.
    """

    def __init__(self, schemas: Sequence[Element], qualify: Callable[[str], str]) -> None:
        self._qualify = qualify
        self._associations = _by_name(schemas, "Association")
        self._types = _by_name(schemas, "EntityType")

    def navigation(self, element: Element) -> Navigation | None:
        """Return a navigation property without its name; None where it has no association (v4)."""
        association = self._associations.get(self._qualify(element.get("Relationship", "")))
        if association is None:
            return None
        here, there = element.get("FromRole", ""), element.get("ToRole", "")
        end = {end.get("Role", ""): end for end in children_of(association, "End")}.get(there)
        columns: dict[str, list[str]] = {}
        for constraint in children_of(association, "ReferentialConstraint"):
            for side in children_of(constraint, "Principal", "Dependent"):
                refs = children_of(side, "PropertyRef")
                columns[side.get("Role", "")] = [ref.get("Name", "") for ref in refs]
        return Navigation(
            name="",
            type=self._qualify(end.get("Type", "")) if end is not None else "",
            many=end is not None and end.get("Multiplicity") == "*",
            pairs=tuple(zip(columns.get(here, ()), columns.get(there, ()), strict=False)),
        )

    def target_sets(self, container: Element) -> dict[str, dict[str, str]]:
        """Map from entity set and navigation property to the target entity set."""
        targets: dict[tuple[str, str, str], str] = {}
        for element in children_of(container, "AssociationSet"):
            name = self._qualify(element.get("Association", ""))
            ends = [(end.get("Role", ""), end.get("EntitySet", "")) for end in children_of(element, "End")]
            targets |= {(name, role, set_): target for role, set_ in ends for other, target in ends if other != role}
        found: dict[str, dict[str, str]] = defaultdict(dict)
        for element in children_of(container, "EntitySet"):
            set_ = element.get("Name", "")
            for type_ in self._lineage(self._qualify(element.get("EntityType", ""))):
                for navigation in children_of(type_, "NavigationProperty"):
                    association = self._qualify(navigation.get("Relationship", ""))
                    target = targets.get((association, navigation.get("FromRole", ""), set_))
                    if target is not None:
                        found[set_][navigation.get("Name", "")] = target
        return found

    def _lineage(self, name: str) -> Iterator[Element]:
        """Yield the type and its base types; a cycle ends the list."""
        seen: set[str] = set()
        while name in self._types and name not in seen:
            seen.add(name)
            yield self._types[name]
            name = self._qualify(self._types[name].get("BaseType", ""))


def _by_name(schemas: Sequence[Element], tag: str) -> dict[str, Element]:
    return {
        f"{schema.get('Namespace')}.{element.get('Name')}": element
        for schema in schemas
        for element in children_of(schema, tag)
    }
