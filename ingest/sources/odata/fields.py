"""Convert properties of OData types to parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ingest.sources.nested_fields import Member, NestedFields
from ingest.sources.odata.csdl import Navigation, Property, Service, StructuredType
from ingest.sources.prose import plain
from ontology.errors import DocumentError
from ontology.tool import Parameter

__all__ = ["MAX_FIELDS", "ServiceTypes", "is_collection", "item_type", "key_parameter"]

#: Maximum number of fields of one input or output.
MAX_FIELDS = 150
#: Maximum nesting of complex types below an entity's own properties.
MAX_DEPTH = 3

_PRIMITIVES = {
    "Boolean": ("boolean", ""),
    "Byte": ("integer", "uint8"),
    "SByte": ("integer", "int8"),
    "Int16": ("integer", "int16"),
    "Int32": ("integer", "int32"),
    "Int64": ("integer", "int64"),
    "Single": ("number", "float"),
    "Double": ("number", "double"),
    "Float": ("number", "double"),
    "Decimal": ("number", "decimal"),
    "String": ("string", ""),
    "Guid": ("string", "uuid"),
    "DateTime": ("string", "date-time"),
    "DateTimeOffset": ("string", "date-time"),
    "Date": ("string", "date"),
    "Time": ("string", "time"),
    "TimeOfDay": ("string", "time"),
    "Duration": ("string", "duration"),
    "Binary": ("string", "binary"),
    "Stream": ("string", "binary"),
}
_OPEN = frozenset({"Edm.ComplexType", "Edm.EntityType", "Edm.Untyped", "Edm.PrimitiveType", "Edm.AnyPropertyPath"})


def item_type(name: str) -> str:
    """Return the item type of a collection type: ``X`` for ``Collection(X)``; another type is returned unchanged."""
    return name.removeprefix("Collection(").removesuffix(")").strip()


def is_collection(name: str) -> bool:
    """Whether a type is ``Collection(X)``."""
    return name.startswith("Collection(")


class ServiceTypes:
    """The types of one service: base types, keys, and fields by dotted path.

    Every method that looks up a type raises DocumentError when the type is not defined.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self._lineages: dict[str, tuple[StructuredType, ...]] = {}
        self._nested = NestedFields(
            members=lambda name: self._members(self.properties(name)),
            element_type=self._element_type,
            max_depth=MAX_DEPTH,
            max_fields=MAX_FIELDS,
        )

    def lineage(self, name: str) -> tuple[StructuredType, ...]:
        """Return the type and its base types, the type first; a cycle ends the list."""
        if name not in self._lineages:
            found: dict[str, StructuredType] = {}
            current = name
            while (current or not found) and current not in found and current not in _OPEN:
                if current not in self.service.types:
                    raise _undefined(current)
                found[current] = self.service.types[current]
                current = found[current].base
            self._lineages[name] = tuple(found.values())
        return self._lineages[name]

    def properties(self, name: str) -> list[Property]:
        """Return all properties, inherited ones first; a later property replaces an earlier one of the same name."""
        return list({p.name: p for type_ in reversed(self.lineage(name)) for p in type_.properties}.values())

    def navigations(self, name: str) -> list[Navigation]:
        """Return all navigation properties, inherited ones first."""
        return list({n.name: n for type_ in reversed(self.lineage(name)) for n in type_.navigations}.values())

    def keys(self, name: str) -> list[Property]:
        """Return the key properties; a v4 key that is a path into a complex property has the type ``Edm.String``."""
        names = next((type_.keys for type_ in self.lineage(name) if type_.keys), ())
        known = {p.name: p for p in self.properties(name)}
        return [known.get(key) or Property(name=key, type="Edm.String", required=True) for key in names]

    def parameters(
        self, properties: Sequence[Property], *, prefix: str = "", location: str = "", required: bool = False
    ) -> tuple[Parameter, ...]:
        """Return properties and their nested fields, at most :data:`MAX_FIELDS`; the limit cuts nested fields first.

        :param required: whether properties that must not be null are required.
        """
        members = self._members(properties, prefix=prefix, location=location, required=required)
        return tuple(self._nested.flatten(members))

    def parameter(
        self, property_: Property, *, prefix: str = "", location: str = "", required: bool = False
    ) -> Parameter:
        """Return one property without its nested fields."""
        many = is_collection(property_.type)
        type_, format_, enum = self._json_type(item_type(property_.type))
        return Parameter(
            name=f"{prefix}{property_.name}",
            type="array" if many else type_,
            description=plain(property_.description),
            required=required and property_.required,
            enum=enum,
            location=location,
            format="" if many else format_,
            pattern=property_.pattern,
            example=property_.example,
        )

    def is_structured(self, type_: str) -> bool:
        """Whether a type has fields of its own."""
        return item_type(type_) in self.service.types

    def _members(
        self, properties: Sequence[Property], *, prefix: str = "", location: str = "", required: bool = False
    ) -> list[Member]:
        return [
            Member(self.parameter(p, prefix=prefix, location=location, required=required), p.type) for p in properties
        ]

    def _element_type(self, type_: str) -> tuple[str, str] | None:
        name = item_type(type_)
        return ("[]" if is_collection(type_) else "", name) if name in self.service.types else None

    def _json_type(self, name: str) -> tuple[str, str, tuple[str, ...]]:
        """Return JSON type, format and allowed values of a type that is no collection."""
        if name in self.service.enums:
            return "string", "", self.service.enums[name]
        if name in self.service.aliases:
            underlying = self.service.aliases[name]
            return self._json_type(underlying) if underlying.startswith("Edm.") else ("string", "", ())
        if name in self.service.types or name in _OPEN:
            return "object", "", ()
        namespace, _, short = name.rpartition(".")
        if namespace != "Edm":
            raise _undefined(name)
        if short.startswith(("Geography", "Geometry")):
            return "object", short.lower(), ()
        return (*_PRIMITIVES.get(short, ("string", short.lower())), ())


def key_parameter(types: ServiceTypes, key: Property, name: str, noun: str) -> Parameter:
    """Return a key of an entity as an input in the path.

    :param name: the name of the input.
    :param noun: name of the entity, used to describe a key without a description.
    """
    parameter = types.parameter(replace(key, required=True), location="path", required=True)
    return replace(parameter, name=name, description=parameter.description or f"{key.name} of the {noun}")


def _undefined(name: str) -> DocumentError:
    problem = f"The type {name!r} is not defined; define it in the document"
    return DocumentError(problem, subject=name, reason="dangling-type")
