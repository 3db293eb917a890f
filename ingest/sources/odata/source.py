"""The source ``odata.v1``: EDMX/CSDL documents of OData v2 and v4 services.

An entity set S has the tools ``query_S``, ``read_S``, ``create_S``, ``update_S`` and ``delete_S``, if its capabilities allow them; a
singleton has ``read_S`` and ``update_S``; a contained collection N has ``query_S_N``, …; what is contained deeper is found and read
only, a linked collection is found only. Operations are tools too (:mod:`ingest.sources.odata.operations`). Navigation properties
become dependencies (:mod:`ingest.sources.odata.resources`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from ingest.sources.document import Document
from ingest.sources.odata.edmx import parse_edmx
from ingest.sources.odata.operations import collections_of, operation_of, overloads_of, places_of
from ingest.sources.odata.resources import find_resources
from ingest.sources.odata.tools import declared_dependencies, resource_operation, verbs_of
from ingest.sources.odata.types import ServiceTypes
from ingest.sources.operation import Operation, Schemas
from ingest.sources.source import RejectedRecord, Source
from ontology.tool import Tool

_ROOT = re.compile(r"<(?:[\w.-]+:)?Edmx\b|<Schema\b[^>]*(?:schemas\.microsoft\.com/ado|docs\.oasis-open\.org/odata)")


class ODataSource(Source):
    """Reader of EDMX and CSDL files, and of ``$metadata`` addresses."""

    name = "odata.v1"

    def accepts(self, document: Document) -> bool:
        """Whether the ending is ``.edmx`` or ``.csdl``, or the file begins with an Edmx or an OData Schema element."""
        if not document.has_content:
            return False
        return document.suffix in {".edmx", ".csdl"} or bool(_ROOT.search(document.head.replace("\0", "")))

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield the tools of all entity sets, those of the operations, those of nested entities, then the rejected records.

        :raises DocumentError: for XML that is invalid or declares entities, and XML without a schema.
        """
        service = parse_edmx(document)
        types = ServiceTypes(service)
        schemas = Schemas(types.lookup)
        found, nested, left_out = find_resources(types)
        items: list[Tool | RejectedRecord] = []

        def add(id_: str, read: Callable[..., Operation], *values: Any) -> None:
            items.extend(schemas.tools(f"{document.address}#{id_}", partial(read, types, *values)))

        for resource in found:
            for verb in verbs_of(resource):
                add(f"{verb}_{resource.id}", resource_operation, resource, verb)
        collections, places = collections_of(found), places_of(types, [*found, *nested])
        for id_, overloads in overloads_of(types).items():
            add(id_, operation_of, id_, overloads, collections, places)
        for resource in nested:
            for verb in verbs_of(resource):
                add(f"{verb}_{resource.id}", resource_operation, resource, verb)
        depends_on = declared_dependencies(types, found, [item for item in items if isinstance(item, Tool)])
        for item in items:
            if isinstance(item, Tool):
                metadata = {**item.metadata, "service": service.namespace}
                item = replace(item, depends_on=depends_on[item.id], metadata=metadata)
            yield item
        for id_ in left_out:
            detail = "The document contains more nested collections than are read; this one has no tools."
            yield RejectedRecord(f"{document.address}#{id_}", "too-many-contained", detail)
        nameless = RejectedRecord(document.address, "no-name", "An element has no Name; it is left out.")
        yield from [nameless] * service.nameless
