"""Properties of OData types as parameters, and OData names as words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ingest.sources.odata.csdl import Navigation, Property, Service, StructuredType
from ingest.sources.prose import plain
from ontology.tool import Parameter

__all__ = ["MAX_FIELDS", "DanglingTypeError", "TypeBook", "a", "item_type", "words"]

#: Fields taken of one answer or one body.
MAX_FIELDS = 150
#: Levels of complex types below an entity's own properties that are opened.
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
_VOWEL = re.compile(r"[aeio]|u(?!ni|s[aeiou]|r[il]|t[aeiou])", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z]|\b|_|\d)|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+")


class DanglingTypeError(Exception):
    """A type that is named and defined nowhere in the document; the message is its name."""


def words(name: str) -> str:
    """``A_PurchaseOrderItem`` as *purchase order item*; acronyms keep their capitals."""
    name = re.sub(r"^[A-Z]_", "", name.rpartition(".")[2])
    parts = _WORD.findall(name)
    return " ".join(part if len(part) > 1 and part.isupper() else part.lower() for part in parts) or name


def a(noun: str) -> str:
    """The noun with its article."""
    return f"{'an' if _VOWEL.match(noun) else 'a'} {noun}"


def item_type(name: str) -> str:
    """``Collection(X)`` as ``X``."""
    return name.removeprefix("Collection(").removesuffix(")").strip()


class TypeBook:
    """The types of one service: what they inherit, their keys, and their fields by dotted path."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._lineages: dict[str, tuple[StructuredType, ...]] = {}
        self._below: dict[tuple[str, int, frozenset[str]], tuple[Parameter, ...]] = {}

    def lineage(self, name: str) -> tuple[StructuredType, ...]:
        """The type and all that it inherits from, itself first; a cycle is cut.

        :raises DanglingTypeError: when one of them is defined nowhere.
        """
        if name not in self._lineages:
            if not name:
                raise DanglingTypeError(name)
            found: dict[str, StructuredType] = {}
            at = name
            while at and at not in found:
                if at not in self.service.types:
                    if at in _OPEN:
                        break
                    raise DanglingTypeError(at)
                found[at] = self.service.types[at]
                at = found[at].base
            self._lineages[name] = tuple(found.values())
        return self._lineages[name]

    def properties(self, name: str) -> list[Property]:
        """All properties, inherited ones first; a later one of the same name takes the place of the earlier."""
        return list({p.name: p for type_ in reversed(self.lineage(name)) for p in type_.properties}.values())

    def navigations(self, name: str) -> list[Navigation]:
        """All navigation properties, inherited ones first."""
        return list({n.name: n for type_ in reversed(self.lineage(name)) for n in type_.navigations}.values())

    def keys(self, name: str) -> list[Property]:
        """The key properties; in v4 they may be paths into complex properties, which are then taken as text."""
        names = next((type_.keys for type_ in self.lineage(name) if type_.keys), ())
        known = {p.name: p for p in self.properties(name)}
        return [known.get(key) or Property(name=key, type="Edm.String", required=True) for key in names]

    def description(self, name: str) -> tuple[str, str]:
        """Label and description of a type."""
        type_ = self.service.types.get(name)
        return (type_.label, type_.description) if type_ is not None else ("", "")

    def parameters(
        self, properties: list[Property], *, prefix: str = "", location: str = "", needed: bool = False
    ) -> tuple[Parameter, ...]:
        """Properties and what is inside them, at most :data:`MAX_FIELDS`, the shallow ones first in line.

        :param needed: whether properties that must not be null are required.
        :raises DanglingTypeError: when a type is defined nowhere.
        """
        tops = [(p, self.parameter(p, prefix=prefix, location=location, required=needed)) for p in properties]
        room = MAX_FIELDS - len(tops)
        found: list[Parameter] = []
        for property_, top in tops[:MAX_FIELDS]:
            found.append(top)
            inner = self._inside(property_.type, depth=1, open_=frozenset())[: max(0, room)]
            room -= len(inner)
            found += (_moved(p, top.name, location) for p in inner)
        return tuple(found)

    def parameter(
        self, property_: Property, *, prefix: str = "", location: str = "", required: bool = False, name: str = ""
    ) -> Parameter:
        """One property without what is inside it.

        :raises DanglingTypeError: when its type is defined nowhere.
        """
        many = property_.type.startswith("Collection(")
        type_, format_, enum = self._kind(item_type(property_.type))
        return Parameter(
            name=f"{prefix}{name or property_.name}",
            type="array" if many else type_,
            description=plain(property_.description),
            required=required and property_.required,
            enum=enum,
            location=location,
            format="" if many else format_,
        )

    def is_structured(self, type_: str) -> bool:
        """Whether a type has fields of its own."""
        return item_type(type_) in self.service.types

    def _kind(self, name: str) -> tuple[str, str, tuple[str, ...]]:
        """JSON type, format and allowed values of a type that is no collection."""
        if name in self.service.enums:
            return "string", "", self.service.enums[name]
        if name in self.service.aliases:
            underlying = self.service.aliases[name]
            return self._kind(underlying) if underlying.startswith("Edm.") else ("string", "", ())
        if name in self.service.types or name in _OPEN:
            return "object", "", ()
        space, _, short = name.rpartition(".")
        if space != "Edm":
            raise DanglingTypeError(name)
        if short.startswith(("Geography", "Geometry")):
            return "object", short.lower(), ()
        type_, format_ = _PRIMITIVES.get(short, ("string", short.lower()))
        return type_, format_, ()

    def _inside(self, type_: str, *, depth: int, open_: frozenset[str]) -> tuple[Parameter, ...]:
        """The fields inside a value of a type, their names beginning with ``.`` or ``[].``."""
        name = item_type(type_)
        if name not in self.service.types or name in open_ or depth > MAX_DEPTH:
            return ()
        key = (type_, depth, open_)
        if key not in self._below:
            step = "[]." if type_.startswith("Collection(") else "."
            self._below[key] = tuple(islice(self._walk(name, step, depth, open_ | {name}), MAX_FIELDS))
        return self._below[key]

    def _walk(self, name: str, step: str, depth: int, open_: frozenset[str]) -> Iterator[Parameter]:
        for property_ in self.properties(name):
            top = self.parameter(property_, prefix=step)
            yield top
            for inner in self._inside(property_.type, depth=depth + 1, open_=open_):
                yield _moved(inner, top.name, "")


def _moved(inner: Parameter, under: str, location: str) -> Parameter:
    return Parameter(
        name=f"{under}{inner.name}",
        type=inner.type,
        description=inner.description,
        enum=inner.enum,
        location=location,
        format=inner.format,
    )
