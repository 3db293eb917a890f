"""Parse CSDL annotations (vocabulary terms on types, properties, sets and operations) to JSON-like values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias
from xml.etree.ElementTree import Element

__all__ = ["Annotations", "inline_annotations", "tag_of", "target_annotations", "text_of", "vocabularies"]

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
