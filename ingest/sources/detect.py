"""Which reader knows a document."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ingest.sources.document import Document
from ingest.sources.source import Source
from ontology.errors import DocumentError, InvalidArgumentError, UnknownFormatError

__all__ = ["SOURCES", "source_for", "source_named"]

_STRUCTURED = frozenset({".json", ".yaml", ".yml"})

# In the order they are asked: the most telling signs first, tables (any list of things with names) last.
_READERS = (
    ("openapi", "OpenApiSource"),
    ("odata", "ODataSource"),
    ("google_discovery", "GoogleDiscoverySource"),
    ("aws", "AwsSource"),
    ("mcp", "McpSource"),
    ("python", "PythonSource"),
    ("function", "FunctionSource"),
    ("table", "TableSource"),
)


@cache
def _sources() -> tuple[Source, ...]:
    found = []
    for module, cls in _READERS:
        try:
            found.append(getattr(import_module(f"ingest.sources.{module}"), cls)())
        except ModuleNotFoundError as error:
            if error.name != f"ingest.sources.{module}":
                raise
    return tuple(found)


SOURCES: tuple[Source, ...] = _sources()


def source_for(document: Document) -> Source:
    """The reader for a document.

    :raises DocumentError: when it is empty, not UTF-8, or not the JSON or YAML that its ending says.
    :raises UnknownFormatError: when it can be read but no reader knows it.
    """
    if document.has_content and not document.head.strip("\0 \t\r\n"):
        raise DocumentError("the file is empty", subject=document.address)
    for source in SOURCES:
        if source.accepts(document):
            return source
    if document.suffix in _STRUCTURED:
        document.data  # noqa: B018 - a fault in the text says more than "unknown"
    raise UnknownFormatError(
        "no reader knows this document",
        subject=document.address,
        remedy="egotools reads " + ", ".join(source.name.split(".")[0] for source in SOURCES),
    )


def source_named(name: str) -> Source:
    """The reader of a versioned name (``openapi.v1``).

    :raises InvalidArgumentError: for an unknown name, listing the known ones.
    """
    for source in SOURCES:
        if source.name == name:
            return source
    known = ", ".join(source.name for source in SOURCES)
    raise InvalidArgumentError(f"unknown source {name!r}", subject="source", remedy=f"Known are {known}")
