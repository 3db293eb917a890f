"""The JSON schemas of arguments that operators share; names are enums of the live schema, handles those of the run.

They go into prompts, so they say each thing once and briefly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planners.graphseek.operators.neighbour_reach import MOST_HOPS
from planners.graphseek.operators.property_filter import filter_schema
from planners.graphseek.operators.table_arguments import MOST_ROWS, object_schema
from planners.graphseek.operators.value_aggregation import aggregation_schema
from planners.stores.graph_schema import GraphSchema

__all__ = ["ArgumentForms"]


class ArgumentForms:
    """Schemas for one graph and the results there are.

    :param handles: of the run.
    """

    def __init__(self, schema: GraphSchema, handles: Sequence[str] = ()) -> None:
        of_nodes = (each.name for type_ in schema.nodes for each in type_.properties)
        of_relationships = {each.name: None for type_ in schema.relationships for each in type_.properties}
        self.handles = handles
        self._started = [each for each in handles if each[:1] in "tg"]
        self.type = _names(sorted({each.name for each in schema.nodes} | {each.name for each in schema.relationships}))
        self.node_type = _names(each.name for each in schema.nodes)
        self.relationship_types = _array(_names(each.name for each in schema.relationships))
        self.property = _names(dict.fromkeys(of_nodes))
        self._relationship_property = _names(of_relationships)
        self.has_relationship_properties = bool(of_relationships) or not schema.nodes

    def handle(self, kinds: str) -> dict[str, Any]:
        """Return the schema of the handle of a result; there may be none yet.

        :param kinds: first letters: ``t`` tables, ``g`` graphs.
        """
        known = [each for each in self.handles if each[:1] in kinds]
        return {"type": "string", "description": "handle of a result", **({"enum": known} if known else {})}

    def filters(self) -> dict[str, Any]:
        """Return the schema of filters on nodes."""
        return _array(filter_schema(self.property))

    def relationship_filters(self) -> dict[str, Any]:
        """Return the schema of filters on relationships."""
        return _array(filter_schema(self._relationship_property))

    def relationship_property(self) -> dict[str, Any]:
        """Return the schema of a property of relationships."""
        return self._relationship_property

    def selection(self) -> dict[str, Any]:
        """Return the schema of a selection: by type and filters, or a result."""
        by_type = object_schema(["type"], type=self.node_type, filters=self.filters())
        if not self._started:
            return by_type
        by_handle = object_schema(
            ["handle"],
            handle={"type": "string", "enum": self._started},
            column={"type": "string"},
            type=self.node_type,
        )
        return {"anyOf": [by_type, by_handle]}

    def selections(self) -> dict[str, Any]:
        """Return the schema of several selections; a handle alone is one."""
        one = self.selection()
        if self._started:
            one = {"anyOf": [*one["anyOf"], {"type": "string", "enum": self._started}]}
        return {"type": "array", "items": one, "minItems": 1, "maxItems": 20}

    def aggregations(self) -> dict[str, Any]:
        """Return the schema of aggregations."""
        return _array(self.aggregation())

    def aggregation(self) -> dict[str, Any]:
        """Return the schema of one aggregation."""
        known = self.property.get("enum")
        name = {"type": "string", "enum": [*known, "*"]} if known else {"type": "string"}
        return aggregation_schema(name)

    def reach(self, *, hops: int = MOST_HOPS, filters: bool = False) -> dict[str, dict[str, Any]]:
        """Return the schemas of what is followed, by name.

        :param hops: the most; 0: the operator looks at one hop.
        :param filters: whether relationships can be filtered.
        """
        forms: dict[str, dict[str, Any]] = {
            "relationship_types": self.relationship_types,
            "direction": {"type": "string", "enum": ["out", "in", "both"]},
        }
        if hops:
            forms["max_hops"] = {"type": "integer", "minimum": 1, "maximum": hops}
        if filters and self.has_relationship_properties:
            forms["relationship_filters"] = self.relationship_filters()
        return forms

    def node_types(self) -> dict[str, Any]:
        """Return the schema of several types."""
        return _array(self.node_type)

    @staticmethod
    def limit(most: int = MOST_ROWS) -> dict[str, Any]:
        """Return the schema of a limit."""
        return {"type": "integer", "minimum": 1, "maximum": most}


def _names(names: Any) -> dict[str, Any]:
    known = list(names)
    return {"type": "string", "enum": known} if known else {"type": "string"}


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1}
