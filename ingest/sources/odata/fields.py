"""Convert properties of OData types to parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from egotools.call import Argument, Call
from ingest.sources.json_schema.object_schema import object_schema
from ingest.sources.json_schema.self_contained import SelfContained, self_contained
from ingest.sources.nested_fields import Member, NestedFields
from ingest.sources.odata.csdl import Navigation, Property, Service, StructuredType
from ingest.sources.prose import plain
from ingest.sources.source import CallInput, arguments_schema
from ontology.errors import DocumentError
from ontology.json_values import typed_values
from ontology.tool import Parameter

__all__ = [
    "EdmSchemas",
    "ServiceTypes",
    "body_inputs",
    "call_of",
    "filter_inputs",
    "first_of_each_name",
    "input_schema_of",
    "is_collection",
    "item_type",
    "key_inputs",
    "key_parameter",
    "option_inputs",
    "parameter_inputs",
    "primitive_schema",
]

_DATE, _TIME = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d(:\d\d(\.\d+)?)?"
_ZONE = r"(Z|[+-]\d\d:\d\d)"
_TICKS = r"/Date\(-?\d+([+-]\d+)?\)/"
_TEXT: Mapping[str, Any] = {"type": "string"}
_DURATION: Mapping[str, Any] = {"type": "string", "format": "duration"}
_BYTES: Mapping[str, Any] = {"type": "string", "contentEncoding": "base64"}
_INTEGERS = {"Byte": (0, 255), "SByte": (-128, 127), "Int16": (-(2**15), 2**15 - 1), "Int32": (-(2**31), 2**31 - 1)}
_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    **{name: {"type": "integer", "minimum": low, "maximum": high} for name, (low, high) in _INTEGERS.items()},
    "Boolean": {"type": "boolean"},
    "Int64": {"type": "integer", "format": "int64"},
    "Single": {"type": "number", "format": "float"},
    "Double": {"type": "number", "format": "double"},
    "Float": {"type": "number", "format": "double"},
    "Decimal": {"type": "number"},
    "String": _TEXT,
    "Guid": {"type": "string", "format": "uuid"},
    "DateTimeOffset": {"type": "string", "format": "date-time"},
    "Date": {"type": "string", "format": "date"},
    "TimeOfDay": {"type": "string", "pattern": f"^{_TIME}$"},
    "Duration": _DURATION,
    "Time": _DURATION,
    "DateTime": {"type": "string", "pattern": f"^{_DATE}(T{_TIME})?$"},
    "Binary": _BYTES,
    "Stream": _BYTES,
}
# What version 2 writes otherwise in JSON; in URLs it writes the values as above, with marks that the request adds.
_JSON_V2: Mapping[str, Mapping[str, Any]] = {
    "Int64": {"type": "string", "pattern": r"^-?\d+$"},
    "Single": {"type": ["number", "string"]},
    "Double": {"type": ["number", "string"]},
    "Decimal": {"type": "string", "pattern": r"^-?\d+(\.\d+)?$"},
    "DateTime": {"type": "string", "pattern": f"^({_TICKS}|{_DATE}T{_TIME})$"},
    "DateTimeOffset": {"type": "string", "pattern": f"^({_TICKS}|{_DATE}T{_TIME}{_ZONE})$"},
}
#: Powers of ten up to this one are exact as floating-point numbers.
_MAX_EXACT = 22


def primitive_schema(edm_type: str, facets: Property, *, version: str, literal: bool = False) -> dict[str, Any]:
    """The JSON Schema of a value of ``Edm.…``; of an unknown primitive type any value is accepted.

    :param facets: its limits.
    :param literal: whether it is part of a URL (a key, a filter, a parameter of a function), not of a JSON text.
    """
    name = edm_type.rpartition(".")[2]
    is_v2_json = version == "v2" and not literal
    schema = dict((_JSON_V2.get(name) if is_v2_json else None) or _SCHEMAS.get(name) or _other(name, literal))
    if name == "String" and facets.max_length is not None:
        schema["maxLength"] = facets.max_length
    if name == "String" and facets.pattern:
        schema["pattern"] = facets.pattern
    if name == "String" and facets.example:
        schema["examples"] = [facets.example]
    if name == "Decimal" and facets.precision is not None and facets.scale is not None:
        schema |= _decimal(facets.precision, facets.scale, text=schema["type"] == "string")
    return schema


def _other(name: str, literal: bool) -> dict[str, Any]:
    if name.startswith(("Geography", "Geometry")) and not literal:
        return {"type": "object", "format": name.lower()}
    return {"type": "string", "format": name.lower()} if literal else {}


def _decimal(precision: int, scale: int, *, text: bool) -> dict[str, Any]:
    """The limits of a decimal. A number with a fraction gets no ``multipleOf``: 0.07 is no multiple of 0.01 in binary."""
    whole = max(precision - scale, 0)
    if text:
        fraction = rf"(\.\d{{1,{scale}}})?" if scale else ""
        return {"pattern": rf"^-?\d{{1,{max(whole, 1)}}}{fraction}$"}
    limits: dict[str, Any] = {}
    if whole <= _MAX_EXACT:
        limits |= {"exclusiveMinimum": -(10**whole), "exclusiveMaximum": 10**whole}
    return {**limits, **({"multipleOf": 1} if scale == 0 else {})}


def flags_pattern(members: tuple[str, ...]) -> str:
    """The regular expression of a combination of members of an enumeration, separated by commas."""
    either = "|".join(map(re.escape, members))
    return f"^({either})(, ?({either}))*$"


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
        if name in _OPEN_TYPE:
            return dict(_OPEN_TYPE[name])
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


_OPEN_TYPE: Mapping[str, Mapping[str, Any]] = {
    "Edm.ComplexType": {"type": "object"},
    "Edm.EntityType": {"type": "object"},
    "Edm.Untyped": _ANY,
    "Edm.PrimitiveType": _ANY,
    "Edm.AnyPropertyPath": {"type": "string"},
}


_JSON = "application/json"
_COUNTS = ("$top", "$skip")


def key_inputs(schemas: EdmSchemas, keys: Iterable[Property]) -> list[CallInput]:
    """Keys of entities, as parts of the path; the type of each says how its literal is written."""
    return [_literal(schemas, key, "path", required=True) for key in keys]


def filter_inputs(schemas: EdmSchemas, properties: Iterable[Property]) -> list[CallInput]:
    """Properties to compare with, which the request joins to one ``$filter``."""
    return [_literal(schemas, each, "filter") for each in properties]


def option_inputs(options: Iterable[Parameter]) -> list[CallInput]:
    """Query options: ``$select``, ``$top``, …"""
    return [
        CallInput(
            argument=Argument(name=option.name, location="query"),
            schema={
                "type": option.type,
                **({"minimum": 0} if option.name in _COUNTS else {}),
                "description": option.description,
            },
        )
        for option in options
    ]


def parameter_inputs(schemas: EdmSchemas, parameters: Iterable[Property], location: str) -> list[CallInput]:
    """Parameters of a function, as literals of the URL."""
    return [_literal(schemas, each, location, required=each.required) for each in parameters]


def body_inputs(fields: Mapping[str, Mapping[str, Any]], required: Iterable[str] = ()) -> list[CallInput]:
    """Members of a JSON body."""
    needed = frozenset(required)
    return [
        CallInput(argument=Argument(name=name, location="body"), schema=schema, required=name in needed)
        for name, schema in fields.items()
    ]


def input_schema_of(schemas: EdmSchemas, inputs: Sequence[CallInput]) -> SelfContained:
    """The JSON Schema of the arguments.

    :raises DocumentError: when a type is not defined.
    """
    return schemas.alone(arguments_schema(inputs))


def call_of(method: str, path: str, inputs: Sequence[CallInput], *, version: str, servers: tuple[str, ...]) -> Call:
    """The call of a tool.

    :param version: ``v2`` or ``v4``.
    """
    has_body = any(each.argument.location == "body" for each in inputs)
    return Call(
        protocol="odata",
        service=version,
        servers=servers,
        method=method,
        path=path,
        media_type=_JSON if has_body else "",
        accept=_JSON,
        arguments=tuple(each.argument for each in inputs),
    )


def first_of_each_name(inputs: Iterable[CallInput]) -> list[CallInput]:
    """Of two inputs of one name the first: a key that stands in the path twice, a field of the body that the path states."""
    found: dict[str, CallInput] = {}
    for each in inputs:
        found.setdefault(each.argument.name, each)
    return list(found.values())


def _literal(schemas: EdmSchemas, property_: Property, location: str, *, required: bool = False) -> CallInput:
    return CallInput(
        argument=Argument(name=property_.name, location=location, style=schemas.edm_type(property_.type)),
        schema=schemas.value(property_, literal=True, nullable=False),
        required=required,
    )
