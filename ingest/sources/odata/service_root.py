"""The version of an OData service and its base URL, as far as the document states them."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from ingest.sources.document import Document
from ingest.sources.odata.annotations import tag_of

__all__ = ["servers_of", "version_of"]

_METADATA = "/$metadata"


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
