"""Parse EDMX/CSDL, the service description of OData v2 and v4, to a :class:`~ingest.sources.odata.csdl.Service`.

The two versions describe the same facts by different elements (v2: associations, ``sap:`` attributes, function imports; v4:
bindings, annotations, actions).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from ingest.sources.document import Document
from ingest.sources.odata.csdl import (
    Annotations,
    EntitySet,
    Navigation,
    Operation,
    Property,
    Service,
    StructuredType,
    children_of,
    describe,
    flag_of,
    inline_annotations,
    label_of,
    local_attribute,
    sap_flag,
    sap_restrictions,
    tag_of,
    target_annotations,
    text_of,
    vocabularies,
)
from ingest.sources.odata.fields import is_collection, item_type
from ontology.errors import DocumentError

__all__ = ["parse_edmx"]


class Facets(TypedDict):
    """The fields of a :class:`~ingest.sources.odata.csdl.Property` that its facets fill."""

    nullable: bool
    max_length: int | None
    precision: int | None
    scale: int | None


def facets_of(element: Element) -> Facets:
    """The facets of a property or a parameter; ``Max``, ``variable`` and ``floating`` are no limit."""
    return Facets(
        nullable=flag_of(element, "Nullable"),
        max_length=_number(element, "MaxLength"),
        precision=_number(element, "Precision"),
        scale=_number(element, "Scale"),
    )


def _number(element: Element, name: str) -> int | None:
    text = (element.get(name) or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


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


_METADATA = "/$metadata"


def parse_xml(document: Document) -> Element:
    """Parse the XML of a document.

    :raises DocumentError: for invalid XML (with its line), and for a DOCTYPE or an entity declaration.
    """
    if not document.content.strip():
        raise DocumentError("the file is empty", subject=document.address, reason="empty")
    try:
        root: Element = fromstring(document.content)
    except ParseError as error:
        raise _invalid_xml(str(error), f"{document.address}:{error.position[0]}", "Correct the XML") from error
    except DefusedXmlException as error:
        fault = "it declares a document type or entities, which are not expanded"
        raise _invalid_xml(fault, document.address, "Remove its DOCTYPE and entities") from error
    except (ValueError, LookupError, RecursionError) as error:
        raise _invalid_xml(str(error), document.address) from error
    return root


def version_of(root: Element) -> str:
    """``v4`` for OData 4.x, else ``v2``: version 3 has the same keys, filters and envelopes of answers as version 2."""
    version = root.get("Version", "") if tag_of(root) == "Edmx" else ""
    namespace = root.tag if isinstance(root.tag, str) else ""
    return "v4" if version.startswith("4") or (not version and "oasis-open.org" in namespace) else "v2"


def servers_of(root: Element, document: Document) -> tuple[str, ...]:
    """The base URL: where ``$metadata`` was read from, else the document's link to itself; a placeholder is none."""
    links = (element.get("href", "") for element in root.iter() if tag_of(element) == "link")
    own = [document.address] if document.is_url else []
    return tuple(dict.fromkeys(_base_urls([*own, *links])))


def _base_urls(addresses: list[str]) -> Iterator[str]:
    for address in addresses:
        base, metadata, _ = address.partition(_METADATA)
        try:
            parts = urlsplit(base)
            known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # https://host:port/…
            continue
        if metadata and known and not (parts.username or parts.password):
            yield base


def _invalid_xml(fault: str, subject: str, remedy: str = "") -> DocumentError:
    return DocumentError(f"invalid XML: {fault}", subject=subject, remedy=remedy, reason="invalid-xml")


def parse_edmx(document: Document) -> Service:
    """Parse an EDMX or CSDL document.

    :raises DocumentError: for invalid XML (with its line), a DOCTYPE or entity declaration, or a document without a schema.
    """
    root = parse_xml(document)
    schemas = [element for element in root.iter() if tag_of(element) == "Schema"]
    if not schemas:
        raise DocumentError(
            "no Schema element in the XML", subject=document.address, remedy="Give the $metadata of an OData service"
        )
    return replace(_Parser(root, schemas).service(), version=version_of(root), servers=servers_of(root, document))


class _Parser:
    """Parser of the schemas of one document."""

    def __init__(self, root: Element, schemas: list[Element]) -> None:
        self.schemas = schemas
        self.nameless = 0
        self.namespaces = {schema.get("Alias", ""): schema.get("Namespace", "") for schema in schemas}
        self.namespaces.pop("", None)
        self.vocabularies = vocabularies(root)
        self.annotations = target_annotations(schemas, self.qualify, self.vocabularies)
        self.associations = Associations(schemas, self.qualify)

    def qualify(self, name: str) -> str:
        """Return a name with its schema alias replaced by the namespace, also inside ``Collection(…)``."""
        if name.startswith("Collection(") and name.endswith(")"):
            return f"Collection({self.qualify(name[11:-1].strip())})"
        prefix, dot, last = name.rpartition(".")
        return f"{self.namespaces.get(prefix, prefix)}{dot}{last}"

    def service(self) -> Service:
        types: dict[str, StructuredType] = {}
        enums: dict[str, tuple[str, ...]] = {}
        flags: set[str] = set()
        aliases: dict[str, str] = {}
        operations: dict[str, list[Element]] = {}
        for schema in self.schemas:
            for element, full in self._qualified(schema, "EntityType", "ComplexType"):
                types[full] = self._type(element, full)
            for element, full in self._qualified(schema, "EnumType"):
                enums[full] = tuple(member for _, member in self._named(element, "Member"))
                if flag_of(element, "IsFlags", default=False):
                    flags.add(full)
            for element, full in self._qualified(schema, "TypeDefinition"):
                aliases[full] = element.get("UnderlyingType", "Edm.String")
            for element, full in self._qualified(schema, "Function", "Action"):
                operations.setdefault(full, []).append(element)
        containers = [(s, c) for s in self.schemas for c in children_of(s, "EntityContainer")]
        main_schema = containers[0][0] if containers else self.schemas[0]
        bound = [
            self._operation(element, full)
            for full, overloads in operations.items()
            for element in overloads
            if flag_of(element, "IsBound", default=False)
        ]
        imports = [i for schema, c in containers for i in self._imports(c, schema, operations)]
        return Service(
            namespace=main_schema.get("Namespace", ""),
            types=types,
            enums=enums,
            aliases=aliases,
            sets=tuple(found for schema, c in containers for found in self._sets(c, schema)),
            operations=(*imports, *bound),
            nameless=self.nameless,
            flags=frozenset(flags),
        )

    def _qualified(self, schema: Element, *tags: str) -> Iterator[tuple[Element, str]]:
        """Return the elements of a schema with their qualified names."""
        namespace = schema.get("Namespace", "")
        return ((element, f"{namespace}.{name}") for element, name in self._named(schema, *tags))

    def _named(self, parent: Element, *tags: str) -> Iterator[tuple[Element, str]]:
        for element in children_of(parent, *tags):
            name = (element.get("Name") or "").strip()
            if name:
                yield element, name
            else:
                self.nameless += 1

    def _annotations(self, element: Element, target: str) -> Annotations:
        return {**self.annotations.get(target, {}), **inline_annotations(element, self.vocabularies)}

    def _type(self, element: Element, full: str) -> StructuredType:
        annotations = self._annotations(element, full)
        keys = (ref.get("Name", "") for key in children_of(element, "Key") for ref in children_of(key, "PropertyRef"))
        return StructuredType(
            name=full,
            base=self.qualify(element.get("BaseType", "")),
            keys=tuple(key for key in keys if key),
            properties=tuple(self._property(e, f"{full}/{n}") for e, n in self._named(element, "Property")),
            navigations=tuple(
                self._navigation(e, f"{full}/{n}") for e, n in self._named(element, "NavigationProperty")
            ),
            label=label_of(element, annotations),
            description=describe(element, annotations),
            annotations=annotations,
        )

    def _property(self, element: Element, target: str) -> Property:
        annotations = self._annotations(element, target)
        permissions = str(annotations.get("Core.Permissions", ""))
        fixed = annotations.get("Core.Computed") is True or permissions.endswith(("/Read", "/None"))
        label, description = label_of(element, annotations), describe(element, annotations)
        if description.lower().startswith(label.lower()):
            label = ""
        return Property(
            name=target.rpartition("/")[2],
            type=self.qualify(element.get("Type", "Edm.String")),
            required=not flag_of(element, "Nullable") and element.get("DefaultValue") is None and not fixed,
            description=": ".join(text for text in (label, description) if text),
            creatable=sap_flag(element, "creatable") and not fixed,
            updatable=sap_flag(element, "updatable") and not fixed and annotations.get("Core.Immutable") is not True,
            filterable=sap_flag(element, "filterable"),
            default=element.get("DefaultValue"),
            pattern=text_of(annotations, "Validation.Pattern"),
            example=text_of(annotations, "Core.Example"),
            **facets_of(element),
        )

    def _navigation(self, element: Element, target: str) -> Navigation:
        name, annotations = target.rpartition("/")[2], self._annotations(element, target)
        associated = self.associations.navigation(element)
        if associated is not None:
            return replace(associated, name=name, annotations=annotations)
        type_ = self.qualify(element.get("Type", ""))
        pairs = (
            (constraint.get("Property", ""), constraint.get("ReferencedProperty", ""))
            for constraint in children_of(element, "ReferentialConstraint")
        )
        return Navigation(
            name=name,
            type=item_type(type_),
            many=is_collection(type_),
            contained=flag_of(element, "ContainsTarget", default=False),
            pairs=tuple(pair for pair in pairs if all(pair)),
            annotations=annotations,
        )

    def _sets(self, container: Element, schema: Element) -> Iterator[EntitySet]:
        target_sets = self.associations.target_sets(container)
        for element, name in self._named(container, "EntitySet", "Singleton"):
            type_ = self.qualify(element.get("EntityType") or element.get("Type") or "")
            annotations = self._annotations(element, f"{schema.get('Namespace')}.{container.get('Name')}/{name}")
            bindings = {
                b.get("Path", ""): b.get("Target", "") for b in children_of(element, "NavigationPropertyBinding")
            }
            yield EntitySet(
                name=name,
                type=type_,
                singleton=tag_of(element) == "Singleton",
                label=label_of(element, annotations),
                description=describe(element, annotations),
                bindings={**target_sets.get(name, {}), **bindings},
                annotations={**annotations, **sap_restrictions(element)},
            )

    def _operation(self, element: Element, full: str, name: str = "") -> Operation:
        parameters = list(self._named(element, "Parameter"))
        bound = flag_of(element, "IsBound", default=False) and bool(parameters)
        types = ", ".join(self.qualify(p.get("Type", "")) for p, _ in parameters)
        annotations = self._annotations(element, f"{full}({types})") or self.annotations.get(full, {})
        function = tag_of(element) == "Function"
        return Operation(
            name=name or full.rpartition(".")[2],
            qualified=full,
            method="GET" if function else "POST",
            parameters=tuple(
                self._argument(p, n, required=function, target=f"{full}({types})/{n}") for p, n in parameters[bound:]
            ),
            binding=self.qualify(parameters[0][0].get("Type", "")) if bound else "",
            returns=self._return_type(element),
            description=describe(element, annotations) or label_of(element, annotations),
        )

    def _return_type(self, element: Element) -> str:
        return next((self.qualify(child.get("Type", "")) for child in children_of(element, "ReturnType")), "")

    def _argument(self, element: Element, name: str, *, required: bool, target: str) -> Property:
        """Return a parameter; ``required``: whether it is required even when it may be null."""
        annotations = self._annotations(element, target)
        required = required or not flag_of(element, "Nullable")
        return Property(
            name=name,
            type=self.qualify(element.get("Type", "Edm.String")),
            required=required and "Core.OptionalParameter" not in annotations,
            description=describe(element, annotations) or label_of(element, annotations),
            pattern=text_of(annotations, "Validation.Pattern"),
            example=text_of(annotations, "Core.Example"),
            **facets_of(element),
        )

    def _imports(
        self, container: Element, schema: Element, operations: Mapping[str, Sequence[Element]]
    ) -> Iterator[Operation]:
        for element, name in self._named(container, "FunctionImport", "ActionImport"):
            target = self.qualify(element.get("Function") or element.get("Action") or "")
            if target:
                yield from (self._operation(overload, target, name) for overload in operations.get(target, ()))
                continue
            full = f"{schema.get('Namespace')}.{container.get('Name')}/{name}"
            annotations = self._annotations(element, full)
            inputs = [p for p in self._named(element, "Parameter") if p[0].get("Mode", "In") != "Out"]
            yield Operation(
                name=name,
                method=local_attribute(element, "HttpMethod") or "GET",
                parameters=tuple(
                    self._argument(p, n, required=p.get("Nullable") != "true", target=f"{full}/{n}") for p, n in inputs
                ),
                returns=self.qualify(element.get("ReturnType", "")) or self._return_type(element),
                description=describe(element, annotations) or label_of(element, annotations),
            )
