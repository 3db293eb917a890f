"""Records of the nodes and edges of the tool graph, without the data that the adjacency stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ontology.tool_graph import Aliases, EdgeAttributes, NodeAttributes, SurfaceForms
from ontology.triple import Provenance

__all__ = ["EdgeRecord", "NodeRecord"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """A node.

    :param type: entity type.
    :param name: canonical name; for a tool its title.
    :param text: the text that is embedded; empty for a tool, whose text comes from its own record.
    :param surface_forms: each form in which documents write it, with its number of occurrences.
    :param aliases: each other name that is declared for it, with its origin.
    """

    type: str
    name: str
    text: str
    surface_forms: SurfaceForms
    aliases: Aliases = ()

    @classmethod
    def of(cls, node: NodeAttributes) -> NodeRecord:
        """Return the record for a node's attributes in the tool graph."""
        text = node["text"] if node["type"] != "tool" else ""
        return cls(
            type=node["type"],
            name=node["name"],
            text=text,
            surface_forms=node["surface_forms"],
            aliases=node.get("aliases", ()),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; ``aliases`` only where there are any."""
        forms = [[form, count] for form, count in self.surface_forms]
        row = {"type": self.type, "name": self.name, "text": self.text, "forms": forms}
        return {**row, "aliases": [list(alias) for alias in self.aliases]} if self.aliases else row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> NodeRecord:
        """Return the record for a JSON form.

        :raises TypeError: when a name is no text; ValueError, KeyError for another form.
        """
        forms = tuple((str(form), int(count)) for form, count in row["forms"])
        aliases = tuple((str(alias), str(origin)) for alias, origin in row.get("aliases", ()))
        if not all(isinstance(row[name], str) for name in ("type", "name", "text")):
            raise TypeError("a name of a node is no text")
        return cls(type=row["type"], name=row["name"], text=row["text"], surface_forms=forms, aliases=aliases)


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeRecord:
    """An edge.

    :param key: distinguishes edges between the same two nodes.
    :param phrases: the words that express it in the documents, where they differ from the predicate's name.
    :param provenance: the places in documents where it was found.
    :param evidence_count: number of these places; ``provenance`` may hold only the first ones.
    :param parameter: for an edge between two tools: the input that is filled, or empty.
    :param output: the output that fills it, or empty.
    :param entity: canonical name of the entity that input and output share, or empty.
    :param field: the field of that entity, or empty.
    """

    key: str
    phrases: tuple[str, ...] = ()
    provenance: tuple[Provenance, ...] = ()
    evidence_count: int | None = None
    parameter: str = ""
    output: str = ""
    entity: str = ""
    field: str = ""

    @classmethod
    def of(cls, key: str, edge: EdgeAttributes) -> EdgeRecord:
        """Return the record for an edge's attributes in the tool graph."""
        return cls(
            key=key,
            phrases=edge["phrases"],
            provenance=edge["provenance"],
            evidence_count=edge["evidence_count"],
            parameter=edge.get("parameter", ""),
            output=edge.get("output", ""),
            entity=edge.get("entity", ""),
            field=edge.get("field", ""),
        )

    def attributes(self) -> dict[str, Any]:
        """Return the attributes in the tool graph; empty ones are left out, except ``phrases`` and ``provenance``."""
        others = {name: getattr(self, name) for name in ("evidence_count", "parameter", "output", "entity", "field")}
        given = {name: value for name, value in others.items() if value not in ("", None)}
        return {"phrases": self.phrases, "provenance": self.provenance, **given}

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, without empty fields."""
        row = {name: value for name, value in self.attributes().items() if value != ()}
        if self.provenance:
            row["provenance"] = [[p.tool_id, p.field, p.extractor, p.start, p.end] for p in self.provenance]
        return {"key": self.key, **row}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> EdgeRecord:
        """Return the record for a JSON form."""
        others = {name: value for name, value in row.items() if name not in ("phrases", "provenance")}
        provenance = tuple(Provenance(*place) for place in row.get("provenance", ()))
        return cls(phrases=tuple(row.get("phrases", ())), provenance=provenance, **others)
