"""Parse EDMX/CSDL, the service description of OData v2 and v4, to a :class:`~ingest.sources.odata.types.Service`.

The two versions describe the same facts by different elements (v2: associations, ``sap:`` attributes, function imports; v4:
bindings, annotations, actions).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from ingest.sources.document import Document
from ingest.sources.odata.types import (
    VERBS,
    Annotations,
    Navigation,
    ODataOperation,
    Property,
    Resource,
    Service,
    StructuredType,
    is_collection,
    item_type,
)
from ontology.errors import DocumentError

_VERSION = re.compile(r"[vV]\d+")
_TEXTS = ("String", "PropertyPath", "NavigationPropertyPath", "Path", "EnumMember", "Int", "Decimal", "AnnotationPath")
_SAP = "{http://www.sap.com/Protocols/SAPData}"
_RESTRICTIONS = {
    "addressable": ("Capabilities.ReadRestrictions", "Readable"),
    "creatable": ("Capabilities.InsertRestrictions", "Insertable"),
    "updatable": ("Capabilities.UpdateRestrictions", "Updatable"),
    "deletable": ("Capabilities.DeleteRestrictions", "Deletable"),
    "searchable": ("Capabilities.SearchRestrictions", "Searchable"),
}


def parse_edmx(document: Document) -> Service:
    """Parse an EDMX or CSDL document."""
    if not document.content.strip():
        raise DocumentError("the file is empty", subject=document.address, reason="empty")
    try:
        root: Element = fromstring(document.content)
    except (ParseError, ValueError, LookupError, RecursionError) as error:
        fault, subject, remedy = str(error), document.address, ""
        if isinstance(error, ParseError):
            subject, remedy = f"{subject}:{error.position[0]}", "Correct the XML"
        elif isinstance(error, DefusedXmlException):
            fault = "it declares a document type or entities, which are not expanded"
            remedy = "Remove its DOCTYPE and entities"
        raise DocumentError(f"invalid XML: {fault}", subject=subject, remedy=remedy, reason="invalid-xml") from error
    schemas = [element for element in root.iter() if _tag(element) == "Schema"]
    if not schemas:
        remedy = "Give the $metadata of an OData service"
        raise DocumentError("no Schema element in the XML", subject=document.address, remedy=remedy)
    return _Parser(root, schemas).service(document)


def _servers(root: Element, document: Document) -> Iterator[str]:
    """Yield the base URLs: where ``$metadata`` was read from, then the document's links to itself; a placeholder is none."""
    links = (element.get("href", "") for element in root.iter() if _tag(element) == "link")
    for address in (*([document.address] if document.is_url else []), *links):
        base, metadata, _ = address.partition("/$metadata")
        try:
            parts = urlsplit(base)
            known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # https://host:port/…
            continue
        if metadata and known and not (parts.username or parts.password):
            yield base


def _tag(element: Element) -> str:
    """Return the tag without its namespace; empty for a comment."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _children(element: Element, *tags: str) -> Iterator[Element]:
    return (child for child in element if _tag(child) in tags)


def _flag(element: Element, name: str, default: bool = True) -> bool:
    """Return a boolean attribute, or ``default`` where it is missing."""
    value = element.get(name)
    return default if value is None else value.strip().lower() == "true"


def _number(element: Element, name: str) -> int | None:
    """A facet; ``Max``, ``variable`` and ``floating`` are no limit."""
    text = (element.get(name) or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _value(element: Element) -> Any:
    """Return the value of an annotation or of a record's property; true for an annotation without a value."""
    text = next((text for name in _TEXTS if (text := element.get(name)) is not None), None)
    if text is not None:
        return text
    if element.get("Bool") is not None:
        return _flag(element, "Bool")
    return next((_plain(child) for child in element if _tag(child) != "Annotation"), True)


def _plain(element: Element) -> Any:
    tag = _tag(element)
    if tag == "Record":
        return {p.get("Property", ""): _value(p) for p in _children(element, "PropertyValue")}
    if tag == "Collection":
        return [_plain(child) for child in element if _tag(child) != "Annotation"]
    text = (element.text or "").strip()
    return text.lower() == "true" if tag == "Bool" else text


def _text(annotations: Annotations, term: str) -> str:
    """Return the text of an annotation, or of its field ``Value`` (``Core.Example``); empty where there is none."""
    value = annotations.get(term)
    if isinstance(value, Mapping):
        value = value.get("Value")
    return value if isinstance(value, str) else ""


def _label(element: Element, annotations: Annotations) -> str:
    return str(element.get(f"{_SAP}label") or annotations.get("Common.Label") or "").strip()


def _description(element: Element, annotations: Annotations) -> str:
    """Join quick info, descriptions and documentation (of v2 and v3); equal texts appear once."""
    documents = _children(element, "Documentation")
    documented = (part for each in documents for part in _children(each, "Summary", "LongDescription"))
    parts = [
        element.get(f"{_SAP}quickinfo"),
        annotations.get("Common.QuickInfo"),
        annotations.get("Core.Description"),
        annotations.get("Core.LongDescription"),
        " ".join("".join(part.itertext()) for part in documented),
    ]
    texts = dict.fromkeys(" ".join(part.split()) for part in parts if isinstance(part, str) and part.strip())
    return ". ".join(text.rstrip(".") for text in texts)


class _Parser:
    def __init__(self, root: Element, schemas: list[Element]) -> None:
        self._root = root
        self._schemas = schemas
        aliases = {schema.get("Alias", ""): schema.get("Namespace", "") for schema in schemas}
        self._namespaces = {alias: namespace for alias, namespace in aliases.items() if alias}
        self._vocabularies = {
            element.get("Alias", ""): element.get("Namespace", "")
            for element in root.iter()
            if _tag(element) == "Include" and element.get("Alias")
        }
        self._outside: dict[str, dict[str, Any]] = {}
        for group in (group for schema in schemas for group in _children(schema, "Annotations")):
            if not group.get("Qualifier"):
                self._outside.setdefault(self._target(group.get("Target", "")), {}).update(self._inline(group))
        self._associations = {full: element for element, full in self._qualified("Association")}
        ends = ((each, end) for each in root.iter() if _tag(each) == "AssociationSet" for end in _children(each, "End"))
        # Of version 2: association and role of one of its ends → the entity set at this end.
        self._ends = {
            (self._qualify(each.get("Association", "")), end.get("Role", "")): end.get("EntitySet", "")
            for each, end in ends
        }

    def service(self, document: Document) -> Service:
        types = {full: self._type(element, full) for element, full in self._qualified("EntityType", "ComplexType")}
        listed = list(self._qualified("EnumType"))
        enums = {full: tuple(member for _, member in self._named(element, "Member")) for element, full in listed}
        flags = frozenset(full for element, full in listed if _flag(element, "IsFlags", default=False))
        aliases = {full: e.get("UnderlyingType", "Edm.String") for e, full in self._qualified("TypeDefinition")}
        operations: defaultdict[str, list[Element]] = defaultdict(list)
        for element, full in self._qualified("Function", "Action"):
            operations[full].append(element)
        containers = [(schema, each) for schema in self._schemas for each in _children(schema, "EntityContainer")]
        imports = [each for schema, container in containers for each in self._imports(container, schema, operations)]
        bound = [
            self._operation(element, full)
            for full, overloads in operations.items()
            for element in overloads
            if _flag(element, "IsBound", default=False)
        ]
        sets = [each for schema, container in containers for each in self._sets(container, schema)]
        main = containers[0][0] if containers else self._schemas[0]
        stated = self._root.get("Version", "") if _tag(self._root) == "Edmx" else ""
        # Version 3 has the same keys, filters and envelopes of answers as version 2.
        is_v4 = stated.startswith("4") or (not stated and "oasis-open.org" in str(self._root.tag))
        return Service(
            namespace=main.get("Namespace", ""),
            types=types,
            enums=enums,
            flags=flags,
            aliases=aliases,
            sets=tuple(sets),
            operations=(*imports, *bound),
            version="v4" if is_v4 else "v2",
            servers=tuple(dict.fromkeys(_servers(self._root, document))),
        )

    def _qualify(self, name: str) -> str:
        """Return a name with its schema alias replaced by the namespace, also inside ``Collection(…)``."""
        if name.startswith("Collection(") and name.endswith(")"):
            return f"Collection({self._qualify(name[11:-1].strip())})"
        prefix, dot, last = name.rpartition(".")
        return f"{self._namespaces.get(prefix, prefix)}{dot}{last}"

    def _qualified(self, *tags: str) -> Iterator[tuple[Element, str]]:
        for schema in self._schemas:
            for element, name in self._named(schema, *tags):
                yield element, f"{schema.get('Namespace', '')}.{name}"

    def _named(self, parent: Element, *tags: str) -> Iterator[tuple[Element, str]]:
        for element in _children(parent, *tags):
            if name := (element.get("Name") or "").strip():
                yield element, name

    def _target(self, target: str) -> str:
        """Return ``alias.op(alias.T, Edm.String)/p`` with every alias resolved and one space after each comma."""
        head, bracket, rest = target.partition("(")
        if not bracket:
            first, slash, path = target.partition("/")
            return f"{self._qualify(first)}{slash}{path}"
        types, _, path = rest.rpartition(")")
        inner = ", ".join(self._qualify(part.strip()) for part in types.split(","))
        return f"{self._qualify(head)}({inner}){path}"

    def _inline(self, element: Element) -> dict[str, Any]:
        """The annotations inside an element by short term (``Core.Description``), without those with a qualifier, for special clients."""
        found: dict[str, Any] = {}
        for child in _children(element, "Annotation"):
            term = child.get("Term", "")
            if term and not child.get("Qualifier"):
                prefix, _, name = term.rpartition(".")
                parts = self._vocabularies.get(prefix, prefix).split(".")
                named = [part for part in parts if not _VERSION.fullmatch(part)]
                found[f"{named[-1]}.{name}" if named else name] = _value(child)
        return found

    def _annotations(self, element: Element, target: str) -> Annotations:
        return {**self._outside.get(target, {}), **self._inline(element)}

    def _type(self, element: Element, full: str) -> StructuredType:
        annotations = self._annotations(element, full)
        keys = (ref.get("Name", "") for key in _children(element, "Key") for ref in _children(key, "PropertyRef"))
        links = self._named(element, "NavigationProperty")
        return StructuredType(
            name=full,
            base=self._qualify(element.get("BaseType", "")),
            keys=tuple(key for key in keys if key),
            properties=tuple(self._property(e, name, f"{full}/{name}") for e, name in self._named(element, "Property")),
            navigations=tuple(self._navigation(e, name, self._annotations(e, f"{full}/{name}")) for e, name in links),
            label=_label(element, annotations),
            description=_description(element, annotations),
            annotations=annotations,
        )

    def _valued(self, element: Element, name: str, annotations: Annotations) -> Property:
        """What a property of a type and a parameter of an operation have in common."""
        return Property(
            name=name,
            type=self._qualify(element.get("Type", "Edm.String")),
            pattern=_text(annotations, "Validation.Pattern"),
            example=_text(annotations, "Core.Example"),
            nullable=_flag(element, "Nullable"),
            max_length=_number(element, "MaxLength"),
            precision=_number(element, "Precision"),
            scale=_number(element, "Scale"),
        )

    def _property(self, element: Element, name: str, target: str) -> Property:
        annotations = self._annotations(element, target)
        permissions = str(annotations.get("Core.Permissions", ""))
        fixed = annotations.get("Core.Computed") is True or permissions.endswith(("/Read", "/None"))
        label, description = _label(element, annotations), _description(element, annotations)
        if description.lower().startswith(label.lower()):
            label = ""
        changeable = not fixed and annotations.get("Core.Immutable") is not True
        return replace(
            self._valued(element, name, annotations),
            required=not _flag(element, "Nullable") and element.get("DefaultValue") is None and not fixed,
            description=": ".join(text for text in (label, description) if text),
            creatable=_flag(element, f"{_SAP}creatable") and not fixed,
            updatable=_flag(element, f"{_SAP}updatable") and changeable,
            filterable=_flag(element, f"{_SAP}filterable"),
            default=element.get("DefaultValue"),
        )

    def _argument(self, element: Element, name: str, required: bool, target: str) -> Property:
        """Return a parameter; ``required``: whether it is required even when it may be null."""
        annotations = self._annotations(element, target)
        required = (required or not _flag(element, "Nullable")) and "Core.OptionalParameter" not in annotations
        description = _description(element, annotations) or _label(element, annotations)
        return replace(self._valued(element, name, annotations), required=required, description=description)

    def _navigation(self, element: Element, name: str, annotations: Annotations) -> Navigation:
        relationship = self._qualify(element.get("Relationship", ""))
        association = self._associations.get(relationship)
        if association is None:
            stated = self._qualify(element.get("Type", ""))
            type_, many = item_type(stated), is_collection(stated)
            equal = _children(element, "ReferentialConstraint")
            named = ((each.get("Property", ""), each.get("ReferencedProperty", "")) for each in equal)
            pairs = tuple(pair for pair in named if all(pair))
        else:
            here, there = element.get("FromRole", ""), element.get("ToRole", "")
            end = {end.get("Role", ""): end for end in _children(association, "End")}.get(there)
            type_ = self._qualify(end.get("Type", "")) if end is not None else ""
            many = end is not None and end.get("Multiplicity") == "*"
            columns = {
                side.get("Role", ""): [ref.get("Name", "") for ref in _children(side, "PropertyRef")]
                for constraint in _children(association, "ReferentialConstraint")
                for side in _children(constraint, "Principal", "Dependent")
            }
            pairs = tuple(zip(columns.get(here, ()), columns.get(there, ()), strict=False))
        return Navigation(
            name=name,
            type=type_,
            many=many,
            contained=association is None and _flag(element, "ContainsTarget", default=False),
            pairs=pairs,
            target=self._ends.get((relationship, element.get("ToRole", "")), ""),
            annotations=annotations,
        )

    def _sets(self, container: Element, schema: Element) -> Iterator[Resource]:
        for element, name in self._named(container, "EntitySet", "Singleton"):
            annotations = self._annotations(element, f"{schema.get('Namespace')}.{container.get('Name')}/{name}")
            bindings = {
                b.get("Path", "").rpartition("/")[2]: b.get("Target", "")
                for b in _children(element, "NavigationPropertyBinding")
            }
            restrictions = {
                term: {key: _flag(element, f"{_SAP}{attribute}")}
                for attribute, (term, key) in _RESTRICTIONS.items()
                if element.get(f"{_SAP}{attribute}") is not None
            }
            yield Resource(
                id=name,
                type=self._qualify(element.get("EntityType") or element.get("Type") or ""),
                name=name,
                path=f"/{name}",
                single=_tag(element) == "Singleton",
                label=_label(element, annotations),
                description=_description(element, annotations),
                bindings=bindings,
                limits=({**annotations, **restrictions},),
                verbs=VERBS,
            )

    def _operation(self, element: Element, full: str, name: str = "") -> ODataOperation:
        parameters = list(self._named(element, "Parameter"))
        types = [self._qualify(p.get("Type", "")) for p, _ in parameters]
        bound = _flag(element, "IsBound", default=False) and bool(parameters)
        target = f"{full}({', '.join(types)})"
        annotations = self._annotations(element, target) or self._outside.get(full, {})
        is_function = _tag(element) == "Function"
        return ODataOperation(
            name=name or full.rpartition(".")[2],
            qualified=full,
            method="GET" if is_function else "POST",
            parameters=tuple(self._argument(p, n, is_function, f"{target}/{n}") for p, n in parameters[bound:]),
            binding=types[0] if bound else "",
            returns=self._return_type(element),
            description=_description(element, annotations) or _label(element, annotations),
        )

    def _return_type(self, element: Element) -> str:
        return next((self._qualify(child.get("Type", "")) for child in _children(element, "ReturnType")), "")

    def _imports(
        self, container: Element, schema: Element, operations: Mapping[str, Sequence[Element]]
    ) -> Iterator[ODataOperation]:
        for element, name in self._named(container, "FunctionImport", "ActionImport"):
            target = self._qualify(element.get("Function") or element.get("Action") or "")
            if target:
                yield from (self._operation(overload, target, name) for overload in operations.get(target, ()))
                continue
            full = f"{schema.get('Namespace')}.{container.get('Name')}/{name}"
            annotations = self._annotations(element, full)
            inputs = [p for p in self._named(element, "Parameter") if p[0].get("Mode", "In") != "Out"]
            methods = (value for key, value in element.attrib.items() if key.rpartition("}")[2] == "HttpMethod")
            yield ODataOperation(
                name=name,
                method=next(methods, "") or "GET",
                parameters=tuple(self._argument(p, n, p.get("Nullable") != "true", f"{full}/{n}") for p, n in inputs),
                returns=self._qualify(element.get("ReturnType", "")) or self._return_type(element),
                description=_description(element, annotations) or _label(element, annotations),
            )
