"""Access to elements of an EDMX document by local names, because OData versions have different XML namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from ingest.sources.odata.annotations import Annotations, tag_of

__all__ = ["children_of", "describe", "flag_of", "label_of", "local_attribute", "sap_flag", "sap_restrictions"]

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
