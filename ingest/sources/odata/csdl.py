"""The data model of an OData service description: types, entity sets, operations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from xml.etree.ElementTree import Element

__all__ = [
    "Annotations",
    "EntitySet",
    "Navigation",
    "Operation",
    "Property",
    "Service",
    "StructuredType",
    "children_of",
    "describe",
    "flag_of",
    "inline_annotations",
    "label_of",
    "local_attribute",
    "sap_flag",
    "sap_restrictions",
    "tag_of",
    "target_annotations",
    "text_of",
    "vocabularies",
]

Annotations: TypeAlias = Mapping[str, Any]
"""Map from term to value; a term is vocabulary and name: ``Core.Description``, ``Capabilities.InsertRestrictions``."""

_VERSION = re.compile(r"[vV]\d+")
_TEXTS = ("String", "PropertyPath", "NavigationPropertyPath", "Path", "EnumMember", "Int", "Decimal", "AnnotationPath")


def tag_of(element: Element) -> str:
    """Return the tag without its namespace; empty for a comment."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def vocabularies(root: Element) -> dict[str, str]:
    """Map from alias to vocabulary namespace (``<edmx:Include Alias=… Namespace=…>``)."""
    return {
        element.get("Alias", ""): element.get("Namespace", "")
        for element in root.iter()
        if tag_of(element) == "Include" and element.get("Alias")
    }


def target_annotations(
    schemas: Iterable[Element], qualify: Callable[[str], str], aliases: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Map from qualified target to the annotations in ``Annotations`` elements, which are outside their targets."""
    found: dict[str, dict[str, Any]] = {}
    for schema in schemas:
        for group in schema:
            if tag_of(group) == "Annotations" and not group.get("Qualifier"):
                target = _target(group.get("Target", ""), qualify)
                found.setdefault(target, {}).update(inline_annotations(group, aliases))
    return found


def inline_annotations(element: Element, aliases: Mapping[str, str]) -> dict[str, Any]:
    """Map from term to value of the annotations inside an element; those with a qualifier, for special clients, are left out."""
    return {
        _term(child.get("Term", ""), aliases): _value(child)
        for child in element
        if tag_of(child) == "Annotation" and child.get("Term") and not child.get("Qualifier")
    }


def text_of(annotations: Annotations, term: str) -> str:
    """Return the text of an annotation, or of its field ``Value`` (``Core.Example``); empty where there is none."""
    value = annotations.get(term)
    if isinstance(value, Mapping):
        value = value.get("Value")
    return value if isinstance(value, str) else ""


def _target(target: str, qualify: Callable[[str], str]) -> str:
    """Return ``alias.op(alias.T, Edm.String)/p`` with every alias resolved and one space after each comma."""
    head, bracket, rest = target.partition("(")
    if not bracket:
        first, slash, path = target.partition("/")
        return f"{qualify(first)}{slash}{path}"
    types, _, path = rest.rpartition(")")
    inner = ", ".join(qualify(part.strip()) for part in types.split(","))
    return f"{qualify(head)}({inner}){path}"


def _term(term: str, aliases: Mapping[str, str]) -> str:
    """Return the short form of a term: ``Core.Description`` for ``Org.OData.Core.V1.Description``."""
    prefix, _, name = term.rpartition(".")
    parts = [part for part in aliases.get(prefix, prefix).split(".") if not _VERSION.fullmatch(part)]
    return f"{parts[-1]}.{name}" if parts else name


def _value(element: Element) -> Any:
    """Return the value of an annotation or of a record's property; true for an annotation without a value."""
    for name in _TEXTS:
        if (text := element.get(name)) is not None:
            return text
    if (flag := element.get("Bool")) is not None:
        return flag.strip().lower() == "true"
    for child in _values(element):
        return _plain(child)
    return True


def _values(element: Element) -> Iterator[Element]:
    return (child for child in element if tag_of(child) != "Annotation")


def _plain(element: Element) -> Any:
    tag = tag_of(element)
    if tag == "Record":
        return {p.get("Property", ""): _value(p) for p in element if tag_of(p) == "PropertyValue"}
    if tag == "Collection":
        return [_plain(child) for child in _values(element)]
    text = (element.text or "").strip()
    return text.lower() == "true" if tag == "Bool" else text


_SAP = "{http://www.sap.com/Protocols/SAPData}"
_RESTRICTIONS = {
    "addressable": ("Capabilities.ReadRestrictions", "Readable"),
    "creatable": ("Capabilities.InsertRestrictions", "Insertable"),
    "updatable": ("Capabilities.UpdateRestrictions", "Updatable"),
    "deletable": ("Capabilities.DeleteRestrictions", "Deletable"),
    "searchable": ("Capabilities.SearchRestrictions", "Searchable"),
}


def children_of(element: Element, *tags: str) -> Iterator[Element]:
    """Yield the child elements with one of the tags."""
    return (child for child in element if tag_of(child) in tags)


def flag_of(element: Element, name: str, default: bool = True) -> bool:
    """Return a boolean attribute, or ``default`` where it is missing."""
    value = element.get(name)
    return default if value is None else value.strip().lower() == "true"


def sap_flag(element: Element, name: str) -> bool:
    """Return a boolean SAP attribute, true where it is missing."""
    return flag_of(element, f"{_SAP}{name}")


def local_attribute(element: Element, name: str) -> str:
    """Return an attribute by its local name, in any namespace (``m:HttpMethod``), or empty."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def label_of(element: Element, annotations: Annotations) -> str:
    """Return the label, or empty."""
    return str(element.get(f"{_SAP}label") or annotations.get("Common.Label") or "").strip()


def describe(element: Element, annotations: Annotations) -> str:
    """Join quick info, descriptions and documentation; equal texts appear once."""
    parts = [
        element.get(f"{_SAP}quickinfo"),
        annotations.get("Common.QuickInfo"),
        annotations.get("Core.Description"),
        annotations.get("Core.LongDescription"),
        _documentation(element),
    ]
    texts = dict.fromkeys(" ".join(part.split()) for part in parts if isinstance(part, str) and part.strip())
    return ". ".join(text.rstrip(".") for text in texts)


def sap_restrictions(element: Element) -> dict[str, Any]:
    """Convert the SAP v2 attributes of an entity set to v4 capability annotations."""
    return {
        term: {key: sap_flag(element, attribute)}
        for attribute, (term, key) in _RESTRICTIONS.items()
        if element.get(f"{_SAP}{attribute}") is not None
    }


def _documentation(element: Element) -> str:
    """Return the text of a v2 or v3 ``Documentation`` element."""
    texts = [
        " ".join("".join(part.itertext()).split())
        for documentation in children_of(element, "Documentation")
        for part in children_of(documentation, "Summary", "LongDescription")
    ]
    return " ".join(text for text in texts if text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A property of a type, or a parameter of an operation.

    :param type: qualified, ``Edm.String``, ``Collection(NS.Address)``.
    :param required: whether creation of the entity, or the call, needs a value.
    :param nullable: whether the value may be null; of a collection: whether its items may.
    :param max_length: maximum number of characters or bytes; None without a limit.
    :param precision: maximum number of decimal digits; None without a limit.
    :param scale: maximum number of digits after the point; None without a limit.
    :param default: the value that an absent property has, as text; None without one.
    :param pattern: regular expression of a value (``Validation.Pattern``), or empty.
    :param example: a value as an example (``Core.Example``), or empty.
    """

    name: str
    type: str
    required: bool = False
    description: str = ""
    creatable: bool = True
    updatable: bool = True
    filterable: bool = True
    nullable: bool = True
    max_length: int | None = None
    precision: int | None = None
    scale: int | None = None
    default: str | None = None
    pattern: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Navigation:
    """A navigation property: a link from one entity to another.

    :param type: qualified name of the target type.
    :param many: whether the target is a collection.
    :param contained: whether the target entities exist only inside this entity (``ContainsTarget``).
    :param pairs: (own property, property of the target) that the referential constraint makes equal.
    """

    name: str
    type: str
    many: bool = False
    contained: bool = False
    pairs: tuple[tuple[str, str], ...] = ()
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


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitySet:
    """An entity set or a singleton.

    :param bindings: map from navigation property to its target set.
    """

    name: str
    type: str
    singleton: bool = False
    label: str = ""
    description: str = ""
    bindings: Mapping[str, str] = field(default_factory=dict)
    annotations: Annotations = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A function import, a function or an action.

    :param binding: type of the binding parameter (the first) of a bound operation, or empty.
    :param returns: return type, or empty.
    :param qualified: the name with its namespace, by which a bound operation is called; empty for a function import of v2.
    """

    name: str
    method: str
    qualified: str = ""
    parameters: tuple[Property, ...] = ()
    binding: str = ""
    returns: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The content of one EDMX document.

    :param namespace: of the schema that has the entity container, else of the first schema.
    :param enums: map from qualified enum type to its member names.
    :param aliases: map from qualified type definition to its underlying type.
    :param nameless: number of elements that are left out because they have no ``Name``.
    :param version: ``v2`` (also of OData 1 and 3) or ``v4``.
    :param servers: base URLs that the document names; usually none.
    :param flags: qualified enum types whose values may be combined (``IsFlags``).
    """

    namespace: str
    types: Mapping[str, StructuredType]
    enums: Mapping[str, tuple[str, ...]]
    aliases: Mapping[str, str]
    sets: tuple[EntitySet, ...]
    operations: tuple[Operation, ...]
    nameless: int = 0
    version: str = "v4"
    servers: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()
