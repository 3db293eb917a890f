"""EDMX/CSDL, OData's description of a service (v2 and v4), parsed into a few small values.

The XML dialects differ in where they keep things (v2: associations, ``sap:`` attributes, function imports; v4: bindings,
annotations, actions). What comes out here is one
:class:`~ingest.sources.odata.csdl.Service` in which both look alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from ingest.sources.document import Document
from ingest.sources.odata.annotations import Notes, annotate, inline_notes, vocabularies
from ingest.sources.odata.csdl import EntitySet, Navigation, Operation, Property, Service, StructuredType
from ontology.errors import DocumentError

__all__ = ["parse_edmx"]

_SAP = "{http://www.sap.com/Protocols/SAPData}"


def parse_edmx(document: Document) -> Service:
    """Parse an EDMX or CSDL document.

    :raises DocumentError: invalid XML (with its line), entity declarations, no schema in it.
    """
    if not document.content.strip():
        raise DocumentError("the file is empty", subject=document.address)
    try:
        root = fromstring(document.content)
    except ParseError as error:
        line, _ = error.position
        where = f"{document.address}:{line}"
        raise DocumentError(f"invalid XML: {error}", subject=where, remedy="Mend the XML") from error
    except DefusedXmlException as error:
        raise DocumentError(
            "invalid XML: it declares a document type or entities, which are not expanded",
            subject=document.address,
            remedy="Remove its DOCTYPE and entities",
        ) from error
    except (ValueError, LookupError, RecursionError) as error:
        raise DocumentError(f"invalid XML: {error}", subject=document.address) from error
    schemas = [element for element in root.iter() if _tag(element) == "Schema"]
    if not schemas:
        raise DocumentError(
            "no Schema element in the XML", subject=document.address, remedy="Give the $metadata of an OData service"
        )
    return _Parser(root, schemas).service()


def _tag(element: Element) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _children(element: Element, *tags: str) -> Iterator[Element]:
    return (child for child in element if _tag(child) in tags)


def _flag(element: Element, name: str, default: bool = True) -> bool:
    value = element.get(name)
    return default if value is None else value.strip().lower() == "true"


def _local(element: Element, name: str) -> str:
    """An attribute by its local name, in whatever namespace (``m:HttpMethod``)."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _documentation(element: Element) -> str:
    """The text of a v2 or v3 ``Documentation`` child."""
    texts = [
        " ".join("".join(part.itertext()).split())
        for documentation in _children(element, "Documentation")
        for part in _children(documentation, "Summary", "LongDescription")
    ]
    return " ".join(text for text in texts if text)


class _Parser:
    """Builds a Service out of the schemas; it lives for one call of :func:`parse_edmx`."""

    def __init__(self, root: Element, schemas: list[Element]) -> None:
        self.schemas = schemas
        self.nameless = 0
        self.namespaces = {schema.get("Alias", ""): schema.get("Namespace", "") for schema in schemas}
        self.namespaces.pop("", None)
        self.vocabularies = vocabularies(root)
        self.notes = annotate(schemas, self.qualify, self.vocabularies)
        self.associations = {
            f"{schema.get('Namespace')}.{element.get('Name')}": element
            for schema in schemas
            for element in _children(schema, "Association")
        }

    def qualify(self, name: str) -> str:
        """A name with its schema alias replaced by the namespace, also inside ``Collection(…)``."""
        if name.startswith("Collection(") and name.endswith(")"):
            return f"Collection({self.qualify(name[11:-1].strip())})"
        prefix, dot, last = name.rpartition(".")
        return f"{self.namespaces.get(prefix, prefix)}{dot}{last}"

    def service(self) -> Service:
        types: dict[str, StructuredType] = {}
        enums: dict[str, tuple[str, ...]] = {}
        aliases: dict[str, str] = {}
        operations: dict[str, list[tuple[Element, str]]] = {}
        for schema in self.schemas:
            namespace = schema.get("Namespace", "")
            for element, name in self._named(schema, "EntityType", "ComplexType"):
                types[f"{namespace}.{name}"] = self._type(element, f"{namespace}.{name}")
            for element, name in self._named(schema, "EnumType"):
                enums[f"{namespace}.{name}"] = tuple(m for _, m in self._named(element, "Member"))
            for element, name in self._named(schema, "TypeDefinition"):
                aliases[f"{namespace}.{name}"] = element.get("UnderlyingType", "Edm.String")
            for element, name in self._named(schema, "Function", "Action"):
                operations.setdefault(f"{namespace}.{name}", []).append((element, f"{namespace}.{name}"))
        containers = [(s, c) for s in self.schemas for c in _children(s, "EntityContainer")]
        home = containers[0][0] if containers else self.schemas[0]
        bound = [
            self._operation(element, full)
            for overloads in operations.values()
            for element, full in overloads
            if _flag(element, "IsBound", default=False)
        ]
        imports = [i for schema, c in containers for i in self._imports(c, schema, operations)]
        return Service(
            namespace=home.get("Namespace", ""),
            types=types,
            enums=enums,
            aliases=aliases,
            sets=tuple(found for schema, c in containers for found in self._sets(c, schema)),
            operations=(*imports, *bound),
            nameless=self.nameless,
        )

    def _named(self, parent: Element, *tags: str) -> Iterator[tuple[Element, str]]:
        for element in _children(parent, *tags):
            name = (element.get("Name") or "").strip()
            if name:
                yield element, name
            else:
                self.nameless += 1

    def _notes(self, element: Element, target: str) -> Notes:
        return {**self.notes.get(target, {}), **inline_notes(element, self.vocabularies)}

    def _type(self, element: Element, full: str) -> StructuredType:
        notes = self._notes(element, full)
        keys = (ref.get("Name", "") for key in _children(element, "Key") for ref in _children(key, "PropertyRef"))
        return StructuredType(
            name=full,
            base=self.qualify(element.get("BaseType", "")),
            keys=tuple(key for key in keys if key),
            properties=tuple(self._property(e, f"{full}/{n}") for e, n in self._named(element, "Property")),
            navigations=tuple(
                self._navigation(e, f"{full}/{n}") for e, n in self._named(element, "NavigationProperty")
            ),
            label=_label(element, notes),
            description=_describe(element, notes),
            notes=notes,
        )

    def _property(self, element: Element, target: str) -> Property:
        notes = self._notes(element, target)
        permissions = str(notes.get("Core.Permissions", ""))
        fixed = notes.get("Core.Computed") is True or permissions.endswith(("/Read", "/None"))
        label, description = _label(element, notes), _describe(element, notes)
        if description.lower().startswith(label.lower()):
            label = ""
        return Property(
            name=target.rpartition("/")[2],
            type=self.qualify(element.get("Type", "Edm.String")),
            required=not _flag(element, "Nullable") and element.get("DefaultValue") is None and not fixed,
            description=": ".join(text for text in (label, description) if text),
            creatable=_flag(element, f"{_SAP}creatable") and not fixed,
            updatable=_flag(element, f"{_SAP}updatable") and not fixed and notes.get("Core.Immutable") is not True,
            filterable=_flag(element, f"{_SAP}filterable"),
        )

    def _navigation(self, element: Element, target: str) -> Navigation:
        name, notes = target.rpartition("/")[2], self._notes(element, target)
        association = self.associations.get(self.qualify(element.get("Relationship", "")))
        if association is not None:
            return self._associated(name, element, association, notes)
        type_ = self.qualify(element.get("Type", ""))
        pairs = (
            (constraint.get("Property", ""), constraint.get("ReferencedProperty", ""))
            for constraint in _children(element, "ReferentialConstraint")
        )
        return Navigation(
            name=name,
            type=type_.removeprefix("Collection(").removesuffix(")"),
            many=type_.startswith("Collection("),
            contained=_flag(element, "ContainsTarget", default=False),
            pairs=tuple(pair for pair in pairs if all(pair)),
            notes=notes,
        )

    def _associated(self, name: str, element: Element, association: Element, notes: Notes) -> Navigation:
        """A v2 navigation: its type and its constraint stand in the association."""
        here, there = element.get("FromRole", ""), element.get("ToRole", "")
        ends = {end.get("Role", ""): end for end in _children(association, "End")}
        end = ends.get(there)
        columns: dict[str, list[str]] = {}
        for constraint in _children(association, "ReferentialConstraint"):
            for side in _children(constraint, "Principal", "Dependent"):
                refs = _children(side, "PropertyRef")
                columns[side.get("Role", "")] = [ref.get("Name", "") for ref in refs]
        return Navigation(
            name=name,
            type=self.qualify(end.get("Type", "")) if end is not None else "",
            many=end is not None and end.get("Multiplicity") == "*",
            pairs=tuple(zip(columns.get(here, ()), columns.get(there, ()), strict=False)),
            notes=notes,
        )

    def _sets(self, container: Element, schema: Element) -> Iterator[EntitySet]:
        joined = self._association_sets(container)
        for element, name in self._named(container, "EntitySet", "Singleton"):
            type_ = self.qualify(element.get("EntityType") or element.get("Type") or "")
            notes = self._notes(element, f"{schema.get('Namespace')}.{container.get('Name')}/{name}")
            bindings = {b.get("Path", ""): b.get("Target", "") for b in _children(element, "NavigationPropertyBinding")}
            yield EntitySet(
                name=name,
                type=type_,
                singleton=_tag(element) == "Singleton",
                label=_label(element, notes),
                description=_describe(element, notes),
                bindings={**joined.get(name, {}), **bindings},
                notes={**notes, **_sap_limits(element)},
            )

    def _association_sets(self, container: Element) -> dict[str, dict[str, str]]:
        """v2: target set by source set and navigation property, out of the association sets."""
        roads: dict[tuple[str, str, str], str] = {}
        for element in _children(container, "AssociationSet"):
            name = self.qualify(element.get("Association", ""))
            ends = [(end.get("Role", ""), end.get("EntitySet", "")) for end in _children(element, "End")]
            roads |= {(name, role, source): target for role, source in ends for other, target in ends if other != role}
        found: dict[str, dict[str, str]] = {}
        types = {
            f"{schema.get('Namespace')}.{element.get('Name')}": element
            for schema in self.schemas
            for element in _children(schema, "EntityType")
        }
        for element in _children(container, "EntitySet"):
            source = element.get("Name", "")
            for type_ in _lineage(self.qualify(element.get("EntityType", "")), types, self.qualify):
                for road in _children(type_, "NavigationProperty"):
                    key = (self.qualify(road.get("Relationship", "")), road.get("FromRole", ""), source)
                    if key in roads:
                        found.setdefault(source, {})[road.get("Name", "")] = roads[key]
        return found

    def _operation(self, element: Element, full: str, name: str = "") -> Operation:
        parameters = list(self._named(element, "Parameter"))
        bound = _flag(element, "IsBound", default=False) and bool(parameters)
        types = ", ".join(self.qualify(p.get("Type", "")) for p, _ in parameters)
        notes = self._notes(element, f"{full}({types})") or self.notes.get(full, {})
        function = _tag(element) == "Function"
        returned = next(_children(element, "ReturnType"), None)
        return Operation(
            name=name or full.rpartition(".")[2],
            method="GET" if function else "POST",
            parameters=tuple(
                self._argument(p, n, by_default=function, target=f"{full}({types})/{n}") for p, n in parameters[bound:]
            ),
            binding=self.qualify(parameters[0][0].get("Type", "")) if bound else "",
            returns=self.qualify(returned.get("Type", "")) if returned is not None else "",
            description=_describe(element, notes) or _label(element, notes),
        )

    def _argument(self, element: Element, name: str, *, by_default: bool, target: str) -> Property:
        """A parameter; ``by_default`` says whether one that may be null has still to be given."""
        notes = self._notes(element, target)
        needed = by_default or not _flag(element, "Nullable")
        return Property(
            name=name,
            type=self.qualify(element.get("Type", "Edm.String")),
            required=needed and "Core.OptionalParameter" not in notes,
            description=_describe(element, notes) or _label(element, notes),
        )

    def _imports(
        self, container: Element, schema: Element, operations: Mapping[str, list[tuple[Element, str]]]
    ) -> Iterator[Operation]:
        for element, name in self._named(container, "FunctionImport", "ActionImport"):
            target = self.qualify(element.get("Function") or element.get("Action") or "")
            if target:
                yield from (self._operation(e, full, name) for e, full in operations.get(target, ()))
                continue
            full = f"{schema.get('Namespace')}.{container.get('Name')}/{name}"
            notes = self._notes(element, full)
            inputs = [p for p in self._named(element, "Parameter") if p[0].get("Mode", "In") != "Out"]
            returned = next(_children(element, "ReturnType"), None)
            written = returned.get("Type", "") if returned is not None else ""
            yield Operation(
                name=name,
                method=_local(element, "HttpMethod") or "GET",
                parameters=tuple(
                    self._argument(p, n, by_default=p.get("Nullable") != "true", target=f"{full}/{n}")
                    for p, n in inputs
                ),
                returns=self.qualify(element.get("ReturnType") or written),
                description=_describe(element, notes) or _label(element, notes),
            )


def _lineage(name: str, types: Mapping[str, Element], qualify: Callable[[str], str]) -> list[Element]:
    """The type and those it inherits from; a cycle is cut."""
    found: dict[str, Element] = {}
    while name in types and name not in found:
        found[name] = types[name]
        name = qualify(types[name].get("BaseType", ""))
    return list(found.values())


def _label(element: Element, notes: Notes) -> str:
    return str(element.get(f"{_SAP}label") or notes.get("Common.Label") or "").strip()


def _describe(element: Element, notes: Notes) -> str:
    """Quick info, descriptions and documentation, each once."""
    parts = [
        element.get(f"{_SAP}quickinfo"),
        notes.get("Common.QuickInfo"),
        notes.get("Core.Description"),
        notes.get("Core.LongDescription"),
        _documentation(element),
    ]
    texts = dict.fromkeys(" ".join(part.split()) for part in parts if isinstance(part, str) and part.strip())
    return ". ".join(text.rstrip(".") for text in texts)


def _sap_limits(element: Element) -> dict[str, Any]:
    """SAP's v2 attributes of an entity set, said in v4's words."""
    words = {
        "addressable": ("Capabilities.ReadRestrictions", "Readable"),
        "creatable": ("Capabilities.InsertRestrictions", "Insertable"),
        "updatable": ("Capabilities.UpdateRestrictions", "Updatable"),
        "deletable": ("Capabilities.DeleteRestrictions", "Deletable"),
        "searchable": ("Capabilities.SearchRestrictions", "Searchable"),
    }
    return {
        term: {key: _flag(element, f"{_SAP}{attribute}")}
        for attribute, (term, key) in words.items()
        if element.get(f"{_SAP}{attribute}") is not None
    }
