"""The description of an OData service: types, entity sets, operations; and the JSON Schemas of its types, which tools are made from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ingest.sources.json_schema.schema import FLAT, object_schema
from ingest.sources.prose import name_words, plain
from ontology.errors import DocumentError
from ontology.json_values import typed_values
from ontology.tool import Dependency

VERBS = ("query", "read", "create", "update", "delete")
# Map from term to value; a term is vocabulary and name: ``Core.Description``, ``Capabilities.InsertRestrictions``
Annotations: TypeAlias = Mapping[str, Any]


def item_type(name: str) -> str:
    """Return the item type of a collection type: ``X`` for ``Collection(X)``; another type is returned unchanged."""
    return name.removeprefix("Collection(").removesuffix(")").strip()


def is_collection(name: str) -> bool:
    """Whether a type is ``Collection(X)``."""
    return name.startswith("Collection(")


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A property of a type, or a parameter of an operation."""

    name: str
    type: str  # qualified, ``Edm.String``, ``Collection(NS.Address)``
    required: bool = False  # whether creation of the entity, or the call, needs a value
    description: str = ""
    creatable: bool = True
    updatable: bool = True
    filterable: bool = True
    nullable: bool = True  # whether the value may be null; of a collection: whether its items may
    max_length: int | None = None  # maximum number of characters or bytes; None without a limit
    precision: int | None = None  # maximum number of decimal digits; None without a limit
    scale: int | None = None  # maximum number of digits after the point; None without a limit
    default: str | None = None  # the value that an absent property has, as text; None without one
    pattern: str = ""  # regular expression of a value (``Validation.Pattern``), or empty
    example: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Navigation:
    """A navigation property: a link from one entity to another."""

    name: str
    type: str  # qualified name of the target type
    many: bool = False  # whether the target is a collection
    contained: bool = False  # whether the target entities exist only inside this entity (``ContainsTarget``)
    pairs: tuple[tuple[str, str], ...] = ()  # (own property, property of the target) that a constraint makes equal
    target: str = ""  # of version 2: the entity set that it leads to
    annotations: Annotations = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredType:
    """An entity type or a complex type, without inherited members."""

    name: str
    base: str = ""
    keys: tuple[str, ...] = ()
    properties: tuple[Property, ...] = ()
    navigations: tuple[Navigation, ...] = ()
    label: str = ""
    description: str = ""
    annotations: Annotations = field(default_factory=dict)


def entity_noun(type_: str) -> str:
    """The name of one entity of a qualified type in words."""
    return name_words(type_.rpartition(".")[2].removesuffix("Type"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A collection of entities, or a single entity, with its own path."""

    id: str  # unique in the service: ``users``, ``users_messages``
    type: str  # qualified type of the entities
    name: str  # last part of the path
    path: str
    single: bool = False  # whether it is a single entity, without a key
    label: str = ""  # its label in the document, or empty
    description: str = ""
    owner: str = ""  # name of the entity that contains it (``user``), or empty
    owner_keys: tuple[Property, ...] = ()  # the owner's keys, under the names of the inputs
    depends_on: tuple[Dependency, ...] = ()  # dependencies on the tools that return the owner's keys
    bindings: Mapping[str, str]  # map from navigation property to its target
    limits: tuple[Annotations, ...]  # capability annotations, the most specific first
    verbs: tuple[str, ...]  # of the tools that it may have
    linked: bool = False  # whether it is behind a link that does not contain it: its entities have no path below it

    @property
    def noun(self) -> str:
        """The name of one entity in words: *purchase order item*."""
        short = self.type.rpartition(".")[2]
        return name_words(self.name if short.removesuffix("Type") == self.name else short)

    @property
    def taken(self) -> frozenset[str]:
        """The names of the inputs that its path has already."""
        return frozenset(key.name for key in self.owner_keys)

    def allows(self, restrictions: str, key: str) -> bool:
        """Whether no annotation forbids a capability: ``allows("InsertRestrictions", "Insertable")``."""
        return self.capability(restrictions, key) in (None, True)

    def capability(self, term: str, key: str = "") -> Any:
        """Return the most specific value of a capability term, or of one of its properties; None without an annotation."""
        for terms in self.limits:
            value = terms.get(f"Capabilities.{term}")
            if key:
                value = value.get(key) if isinstance(value, Mapping) else None
            if value is not None:
                return value
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ODataOperation:
    """A function import, a function or an action."""

    name: str
    method: str
    qualified: str = ""  # the name by which a bound operation is called; empty for a function import of v2
    parameters: tuple[Property, ...] = ()
    binding: str = ""  # type of the binding parameter (the first) of a bound operation, or empty
    returns: str = ""  # return type, or empty
    description: str = ""


_DATE, _TIME = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d(:\d\d(\.\d+)?)?"
_ZONE = r"(Z|[+-]\d\d:\d\d)"
_TICKS = r"/Date\(-?\d+([+-]\d+)?\)/"
_TEXT: Mapping[str, Any] = {"type": "string"}
_NUMBER: Mapping[str, Any] = {"type": "number"}
_DURATION: Mapping[str, Any] = {"type": "string", "format": "duration"}
_BYTES: Mapping[str, Any] = {"type": "string", "contentEncoding": "base64"}


def _integer(low: int, high: int) -> Mapping[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high}


# The schema of each primitive type, and its format in the flat view.
_PRIMITIVES: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "Boolean": ({"type": "boolean"}, ""),
    "Byte": (_integer(0, 255), "uint8"),
    "SByte": (_integer(-128, 127), "int8"),
    "Int16": (_integer(-(2**15), 2**15 - 1), "int16"),
    "Int32": (_integer(-(2**31), 2**31 - 1), "int32"),
    "Int64": ({"type": "integer", "format": "int64"}, "int64"),
    "Single": ({**_NUMBER, "format": "float"}, "float"),
    "Double": ({**_NUMBER, "format": "double"}, "double"),
    "Float": ({**_NUMBER, "format": "double"}, "double"),
    "Decimal": (_NUMBER, "decimal"),
    "String": (_TEXT, ""),
    "Guid": ({**_TEXT, "format": "uuid"}, "uuid"),
    "DateTimeOffset": ({**_TEXT, "format": "date-time"}, "date-time"),
    "DateTime": ({**_TEXT, "pattern": f"^{_DATE}(T{_TIME})?$"}, "date-time"),
    "Date": ({**_TEXT, "format": "date"}, "date"),
    "TimeOfDay": ({**_TEXT, "pattern": f"^{_TIME}$"}, "time"),
    "Duration": (_DURATION, "duration"),
    "Time": (_DURATION, "time"),
    "Binary": (_BYTES, "binary"),
    "Stream": (_BYTES, "binary"),
}
# What version 2 writes otherwise in JSON; in URLs it writes the values as above, with marks that the request adds.
_JSON_V2: Mapping[str, Mapping[str, Any]] = {
    "Int64": {**_TEXT, "pattern": r"^-?\d+$"},
    "Single": {"type": ["number", "string"]},
    "Double": {"type": ["number", "string"]},
    "Decimal": {**_TEXT, "pattern": r"^-?\d+(\.\d+)?$"},
    "DateTime": {**_TEXT, "pattern": f"^({_TICKS}|{_DATE}T{_TIME})$"},
    "DateTimeOffset": {**_TEXT, "pattern": f"^({_TICKS}|{_DATE}T{_TIME}{_ZONE})$"},
}
# Types without members of their own; the flat view shows them as objects.
_OPEN: Mapping[str, Mapping[str, Any]] = {
    "Edm.ComplexType": {"type": "object"},
    "Edm.EntityType": {"type": "object"},
    "Edm.Untyped": {},
    "Edm.PrimitiveType": {},
    "Edm.AnyPropertyPath": _TEXT,
}
#: Powers of ten up to this one are exact as floating-point numbers.
_MAX_EXACT = 22
#: Entities of navigation properties are opened in the body of a create tool up to this number of properties in total.
_MAX_DEEP_INSERT = 400


def primitive_schema(edm_type: str, facets: Property, *, version: str, literal: bool = False) -> dict[str, Any]:
    """The JSON Schema of a value of ``Edm.…`` in JSON or, ``literal``, in a URL; of an unknown primitive type any value is accepted."""
    name = edm_type.rpartition(".")[2]
    shape = name.lower()
    if name in _PRIMITIVES:
        stated, format_ = _PRIMITIVES[name]
        is_v2_json = version == "v2" and not literal
        schema = dict(_JSON_V2.get(name, stated) if is_v2_json else stated)
        flat = {"type": stated["type"], "format": format_}
    else:
        is_place = name.startswith(("Geography", "Geometry"))
        flat = {"type": "object" if is_place else "string", "format": shape}
        schema = {"type": "string", "format": shape} if literal else dict(flat if is_place else {})
    if name == "String":
        limits = {"maxLength": facets.max_length, "pattern": facets.pattern, "examples": [facets.example]}
        schema |= {key: limit for key, limit in limits.items() if limit not in (None, "", [""])}
    if name == "Decimal" and facets.precision is not None and facets.scale is not None:
        whole, scale = max(facets.precision - facets.scale, 0), facets.scale
        if schema["type"] == "string":
            fraction = rf"(\.\d{{1,{scale}}})?" if scale else ""
            schema["pattern"] = rf"^-?\d{{1,{max(whole, 1)}}}{fraction}$"
        else:
            if whole <= _MAX_EXACT:
                schema |= {"exclusiveMinimum": -(10**whole), "exclusiveMaximum": 10**whole}
            if scale == 0:  # with a fraction none: 0.07 is no multiple of 0.01 in binary
                schema["multipleOf"] = 1
    return {**schema, FLAT: {**flat, "pattern": facets.pattern, "example": facets.example or None}}


@dataclass(frozen=True, kw_only=True)
class Service:
    """The content of one EDMX document; what looks up a type raises DocumentError where it is not defined."""

    namespace: str  # of the schema that has the entity container, else of the first schema
    types: Mapping[str, StructuredType]
    enums: Mapping[str, tuple[str, ...]]  # map from qualified enum type to its member names
    flags: frozenset[str]  # qualified enum types whose values may be combined (``IsFlags``)
    aliases: Mapping[str, str]  # map from qualified type definition to its underlying type
    sets: tuple[Resource, ...]  # entity sets and singletons
    operations: tuple[ODataOperation, ...]
    version: str  # ``v2`` (also of OData 1 and 3) or ``v4``
    servers: tuple[str, ...]  # base URLs that the document names; usually none
    _lineages: dict[str, tuple[StructuredType, ...]] = field(default_factory=dict)
    _entities: dict[tuple[str, bool], dict[str, Any]] = field(default_factory=dict)

    def lineage(self, name: str) -> tuple[StructuredType, ...]:
        """Return the type and its base types, the type first; a cycle ends the list."""
        if name not in self._lineages:
            found: dict[str, StructuredType] = {}
            current = name
            while (current or not found) and current not in found and current not in _OPEN:
                if current not in self.types:
                    raise _undefined(current)
                found[current] = self.types[current]
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
        known = {each.name: each for each in self.properties(name)}
        return [known.get(key) or Property(name=key, type="Edm.String", required=True) for key in names]

    def is_structured(self, type_: str) -> bool:
        """Whether a type, or the items of a collection type, has members of its own."""
        return item_type(type_) in self.types

    def edm_type(self, name: str) -> str:
        """The type that decides how a value is written in a URL: the type under a definition; of a collection none."""
        return "" if is_collection(name) else self.aliases.get(name, name)

    def value(self, property_: Property, *, literal: bool = False) -> dict[str, Any]:
        """The JSON Schema of a property or a parameter in JSON or, ``literal``, in a URL, where null is no value."""
        inner = self._item(property_, literal)
        if property_.nullable and not literal:
            inner["nullable"] = True
        schema = {"type": "array", "items": inner} if is_collection(property_.type) else inner
        if property_.default is not None and not is_collection(property_.type):
            kind = inner.get("type")
            first = kind[0] if isinstance(kind, list) else kind
            schema["default"] = typed_values((property_.default,), first)[0]
        text = plain(property_.description)
        return {**schema, "description": text} if text else schema

    def _item(self, property_: Property, literal: bool) -> dict[str, Any]:
        """The schema of a value, or of an item of a collection."""
        name = item_type(property_.type)
        name = self.aliases.get(name, name)
        if name in self.enums:
            members = self.enums[name]
            allowed: dict[str, Any] = {"enum": list(members)} if members else {}
            flat = {**allowed, "pattern": property_.pattern, "example": property_.example or None}
            if name in self.flags and members:
                either = "|".join(map(re.escape, members))
                allowed = {"pattern": f"^({either})(, ?({either}))*$"}
            return {"type": "string", **allowed, FLAT: flat}
        if name in self.types:
            return {"$ref": name}
        if name in _OPEN:
            return {**_OPEN[name], FLAT: {"type": "object"}}
        if name.rpartition(".")[0] != "Edm":
            raise _undefined(name)
        return primitive_schema(name, property_, version=self.version, literal=literal)

    def entity(self, type_: str, *, expanded: bool = True) -> dict[str, Any]:
        """An entity or a complex value of an answer. Only what the request selects and expands is there, so nothing is required."""
        key = (type_, expanded)
        if key not in self._entities:
            properties = {each.name: self.value(each) for each in self.properties(type_)}
            links = self.navigations(type_) if expanded else []
            self._entities[key] = object_schema({**properties, **{link.name: self._link(link) for link in links}})
        return self._entities[key]

    def created(self, type_: str, properties: Sequence[Property]) -> dict[str, Any]:
        """The members of the body that creates an entity: properties, then related entities created with it, by name."""
        links = self.navigations(type_)
        try:
            opened = sum(len(self.properties(link.type)) for link in links) <= _MAX_DEEP_INSERT
        except DocumentError:  # a type that is not defined is one of another document
            opened = False
        fields = {each.name: self.value(each) for each in properties}
        return {**fields, **{link.name: self._link(link, opened=opened) for link in links if link.name not in fields}}

    def _link(self, link: Navigation, *, opened: bool = False) -> dict[str, Any]:
        """A navigation property, which the flat view leaves out: the related entity, whose fields are shown where ``opened``."""
        target: dict[str, Any] = {"type": "object"}
        if opened and link.type in self.types:
            fields = self.entity(link.type, expanded=False)["properties"]
            own = self.properties(link.type)
            target = object_schema({each.name: fields[each.name] for each in own if each.creatable})
        target["title"] = link.type.rpartition(".")[2]
        if link.many:
            lists = target = {"type": "array", "items": target}
            if self.version == "v2" and not opened:  # not expanded, and the envelope of one that is
                target = {"anyOf": [lists, {"type": "object", "properties": {"results": lists}}]}
        return {**target, FLAT: {"type": "null"}}

    def answer(self, type_: str, name: str = "") -> dict[str, Any]:
        """The successful answer that has values of a type, in the envelope of the version; ``name`` is that of the function that returns it."""
        single = item_type(type_)
        is_v2, is_structured = self.version == "v2", self.is_structured(single)
        value = self.entity(single) if is_structured else self._item(Property(name="value", type=single), literal=False)
        if is_collection(type_):
            items = {"type": "array", "items": value}
            return object_schema({"d": object_schema({"results": items})}) if is_v2 else object_schema({"value": items})
        if is_v2:
            is_entity = is_structured and bool(self.keys(single))
            return object_schema({"d": value if is_entity or not name else object_schema({name: value})})
        return value if is_structured else object_schema({"value": value})


def _undefined(name: str) -> DocumentError:
    problem = f"The type {name!r} is not defined; define it in the document"
    return DocumentError(problem, subject=name, reason="dangling-type")
