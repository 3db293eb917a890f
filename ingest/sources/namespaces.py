"""The namespace of each document: the first part of the ids of its tools.

A file has its stem. A live document (``http(s)://``, ``mcp:``) has the name that it gives itself, its title or that of its
server; arguments and addresses may be secret, so no namespace is made of them. A named source has the namespace that it is
given.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ingest.sources.document import Document
from ingest.sources.name_claims import starts
from ingest.sources.naming import DocumentRead
from ingest.sources.source_entry import SourceEntry

__all__ = ["assign_namespaces", "name_live_documents"]

# Second file endings, removed from the namespace: ``orders.openapi.yaml`` has the namespace ``orders``.
_KINDS = (".openapi", ".swagger", ".odata", ".mcp", ".tools", ".functions")
_SELF_NAMED = ("http://", "https://", "mcp:", "mcp+http://", "mcp+https://")
_TITLES = ("api", "service")  # metadata of tools: the title of an OpenAPI document; of a server or service
_MAX_CHARS = 60


def assign_namespaces(documents: Sequence[Document], sources: Sequence[SourceEntry]) -> None:
    """Set the namespace of each document that has one before it is read; that of a named source is of no other document.

    Where several files share a stem, the parent folder is added, then the ending, then a number. A named source with one
    document has its own namespace, one with several ``NAMESPACE.STEM``.
    """
    forms = [_forms(document) for document in documents]
    chosen = [form[0] for form in forms]
    for depth in (1, 2):
        counts = Counter(chosen)
        chosen = [form[depth] if counts[name] > 1 else name for form, name in zip(forms, chosen, strict=True)]
    of_source = Counter(document.source.name for document in documents if document.source is not None)
    taken = {entry.namespace for entry in sources}
    modules: dict[str, str] = {}
    for document in documents:
        if document.source is not None and of_source[document.source.name] == 1:
            document.namespace = document.source.namespace
    for document, name in zip(documents, chosen, strict=True):
        if document.namespace or (_is_self_named(document) and document.source is None):
            continue
        name = f"{document.source.namespace}.{name}" if document.source is not None else name
        document.namespace = _free(name, taken)
        if document.address.startswith("python:"):  # all functions of one module have one namespace
            document.namespace = modules.setdefault(name, document.namespace)
        taken.add(document.namespace)


def name_live_documents(reads: Sequence[DocumentRead], sources: Sequence[SourceEntry]) -> None:
    """Set the namespace of each live document to the name that it gives itself, outside of those of others; several of one name get
    numbers.
    """
    taken = {read.document.namespace for read in reads if read.document.namespace}
    taken |= {entry.namespace for entry in sources}
    taken |= {start for name in taken for start in starts(name)}
    for read in reads:
        if not read.document.namespace:
            name = _own_name(read)
            if not taken.isdisjoint(starts(name)):
                name = name.replace(".", "-")
            read.document.namespace = _free(name, taken)
            taken.add(read.document.namespace)


def _is_self_named(document: Document) -> bool:
    return document.path is None and document.address.startswith(_SELF_NAMED)


def _own_name(read: DocumentRead) -> str:
    titles = (str(tool.metadata.get(key) or "") for tool in read.tools[:1] for key in _TITLES)
    title = next((title for title in titles if title), "")
    return _slug(title)[:_MAX_CHARS].strip("-.") if title else read.format.partition(".")[0] or "document"


def _free(name: str, taken: set[str]) -> str:
    unique, number = name, 2
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    return unique


def _forms(document: Document) -> tuple[str, str, str]:
    if document.path is None:
        name = "" if _is_self_named(document) else _of_address(document.address)
        return name, name, name
    file = Path(document.path.name.removesuffix(".gz"))
    stem, suffix = file.stem, file.suffix.lstrip(".")
    stem = next((stem.removesuffix(kind) for kind in _KINDS if stem.lower().endswith(kind) and stem != kind), stem)
    parent = Path(os.path.abspath(document.path)).parent.name
    return _slug(stem), _slug(f"{parent}-{stem}"), _slug(f"{parent}-{stem}-{suffix}")


def _of_address(address: str) -> str:
    """The name of an installed service, discovery document or module."""
    scheme, _, rest = address.partition(":")
    return _slug(scheme if rest == "*" else rest.partition(":")[0])


def _slug(text: str) -> str:
    """Return the text in lower case; other characters than letters, digits, ``_`` and ``.`` become a hyphen."""
    return re.sub(r"[^\w.]+", "-", text.strip().lower()).strip("-.") or "document"
