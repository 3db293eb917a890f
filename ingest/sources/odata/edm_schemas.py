"""The types of an OData service as JSON Schema: properties, complex types, entities, navigation properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ingest.sources.json_schema.object_schema import object_schema
from ingest.sources.json_schema.self_contained import SelfContained, self_contained
from ingest.sources.odata.csdl import Navigation, Property
from ingest.sources.odata.edm_primitives import flags_pattern, primitive_schema
from ingest.sources.odata.fields import ServiceTypes, is_collection, item_type
from ingest.sources.prose import plain
from ontology.errors import DocumentError
from ontology.json_types import typed_values

__all__ = ["EdmSchemas"]

#: Entities of navigation properties are opened in the body of a create tool up to this number of properties in total.
MAX_DEEP_INSERT = 400
_ANY: Mapping[str, Any] = {}


class EdmSchemas:
    """The JSON Schemas of the types of one service.

    Methods that look up a type raise DocumentError when the type is not defined.
    """

    def __init__(self, types: ServiceTypes) -> None:
        self._types = types
        self._service = types.service
        self._entities: dict[tuple[str, bool], dict[str, Any]] = {}

    def edm_type(self, name: str) -> str:
        """The type that decides how a value is written in a URL: the type under a definition; of a collection none."""
        return "" if is_collection(name) else self._service.aliases.get(name, name)

    def value(self, property_: Property, *, literal: bool = False, nullable: bool | None = None) -> dict[str, Any]:
        """The JSON Schema of a property or a parameter; ``nullable`` says that null is a value.

        :param literal: whether it is part of a URL, not of a JSON text.
        :param nullable: whether null is a value; as the document says where it is None.
        """
        inner = self._item(property_, literal)
        null = property_.nullable if nullable is None else nullable
        if null:
            inner["nullable"] = True
        schema = {"type": "array", "items": inner} if is_collection(property_.type) else inner
        if property_.default is not None and not is_collection(property_.type):
            kind = inner.get("type")
            first = kind[0] if isinstance(kind, list) else kind
            schema["default"] = typed_values((property_.default,), first)[0]
        text = plain(property_.description)
        return {**schema, "description": text} if text else schema

    def entity(self, type_: str, *, expanded: bool = True) -> dict[str, Any]:
        """An entity or a complex value of an answer. Only what the request selects and expands is there, so nothing is required.

        :param expanded: whether navigation properties are fields too.
        """
        key = (type_, expanded)
        if key not in self._entities:
            properties = {each.name: self.value(each) for each in self._types.properties(type_)}
            links = self._types.navigations(type_) if expanded else []
            self._entities[key] = object_schema({**properties, **{link.name: self._link(link) for link in links}})
        return self._entities[key]

    def created(self, type_: str, properties: Sequence[Property]) -> dict[str, Any]:
        """The members of the body that creates an entity: properties, then related entities created with it, by name."""
        links = self._types.navigations(type_)
        try:
            total = sum(len(self._types.properties(link.type)) for link in links)
        except DocumentError:  # a type that is not defined is one of another document
            total = MAX_DEEP_INSERT + 1
        opened = total <= MAX_DEEP_INSERT
        fields = {each.name: self.value(each) for each in properties}
        return {**fields, **{link.name: self._link(link, opened=opened) for link in links if link.name not in fields}}

    def answer(self, type_: str, name: str = "") -> dict[str, Any]:
        """The successful answer that has values of a type, in the envelope of the version.

        :param name: of the function that returns it; empty for an entity set or an entity.
        """
        many, single = is_collection(type_), item_type(type_)
        is_v2 = self._service.version == "v2"
        kind = self._types.service.types.get(single)
        if kind is not None:
            value = self.entity(single)
        else:
            value = self._item(Property(name="value", type=single), literal=False)
        if many:
            items = {"type": "array", "items": value}
            return object_schema({"d": object_schema({"results": items})}) if is_v2 else object_schema({"value": items})
        is_entity = kind is not None and bool(self._types.keys(single))
        if is_v2:
            return object_schema({"d": value if is_entity or not name else object_schema({name: value})})
        return value if kind is not None else object_schema({"value": value})

    def alone(self, schema: Mapping[str, Any], *, output: bool = False) -> SelfContained:
        """A schema with all types that it refers to.

        :raises DocumentError: when a type is not defined.
        """
        return self_contained(schema, self._lookup, output=output)

    def _lookup(self, name: str) -> Mapping[str, Any]:
        return self.entity(name, expanded=False)

    def _item(self, property_: Property, literal: bool) -> dict[str, Any]:
        """The schema of a value, or of an item of a collection."""
        name = item_type(property_.type)
        service = self._service
        name = service.aliases.get(name, name)
        if name in service.enums:
            members = service.enums[name]
            if name in service.flags and members:
                return {"type": "string", "pattern": flags_pattern(members)}
            return {"type": "string", "enum": list(members)} if members else {"type": "string"}
        if name in service.types:
            return {"$ref": name}
        self._types.parameter(property_)  # raises for a type that is defined nowhere
        if name in _OPEN:
            return dict(_OPEN[name])
        return primitive_schema(name, property_, version=service.version, literal=literal)

    def _link(self, link: Navigation, *, opened: bool = False) -> dict[str, Any]:
        """A navigation property: the related entity, whose fields are shown where ``opened``."""
        target: dict[str, Any] = {"type": "object"}
        if opened and link.type in self._service.types:
            fields = self.entity(link.type, expanded=False)["properties"]
            own = self._types.properties(link.type)
            target = object_schema({each.name: fields[each.name] for each in own if each.creatable})
        target["title"] = link.type.rpartition(".")[2]
        if not link.many:
            return target
        lists: dict[str, Any] = {"type": "array", "items": target}
        if self._service.version == "v2" and not opened:  # a link that is not expanded, and the envelope of one that is
            return {"anyOf": [lists, {"type": "object", "properties": {"results": lists}}]}
        return lists


_OPEN: Mapping[str, Mapping[str, Any]] = {
    "Edm.ComplexType": {"type": "object"},
    "Edm.EntityType": {"type": "object"},
    "Edm.Untyped": _ANY,
    "Edm.PrimitiveType": _ANY,
    "Edm.AnyPropertyPath": {"type": "string"},
}
