"""The facets of an OData property: what restricts the values of its type."""

from __future__ import annotations

from typing import TypedDict
from xml.etree.ElementTree import Element

from ingest.sources.odata.xml_elements import flag_of

__all__ = ["Facets", "facets_of"]


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
