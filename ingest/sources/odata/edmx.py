"""Parse EDMX/CSDL, the service description of OData v2 and v4, to a :class:`~ingest.sources.odata.csdl.Service`.

The two versions describe the same facts by different elements (v2: associations, ``sap:`` attributes, function imports; v4:
bindings, annotations, actions).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from xml.etree.ElementTree import Element

from ingest.sources.document import Document
from ingest.sources.odata.annotations import (
    Annotations,
    inline_annotations,
    tag_of,
    target_annotations,
    text_of,
    vocabularies,
)
from ingest.sources.odata.associations import Associations
from ingest.sources.odata.csdl import EntitySet, Navigation, Operation, Property, Service, StructuredType
from ingest.sources.odata.facets import facets_of
from ingest.sources.odata.fields import is_collection, item_type
from ingest.sources.odata.service_root import parse_xml, servers_of, version_of
from ingest.sources.odata.xml_elements import (
    children_of,
    describe,
    flag_of,
    label_of,
    local_attribute,
    sap_flag,
    sap_restrictions,
)
from ontology.errors import DocumentError

__all__ = ["parse_edmx"]


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
