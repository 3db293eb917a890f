"""The root element of an OData service description, and the version and the base URL that it states."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from ingest.sources.document import Document
from ingest.sources.odata.annotations import tag_of
from ontology.errors import DocumentError

__all__ = ["parse_xml", "servers_of", "version_of"]

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
