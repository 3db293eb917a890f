"""The arguments of each call as its message: one place, so that the sync and the async client cannot drift apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from egotools.results import Query
from egotools.v1 import egotools_pb2 as pb
from egotools.wire import number, retrieve_request, schema_format_number

__all__ = ["batch_request", "catalog_request", "neighbors_request", "one_request", "tool_request"]


def one_request(
    query: str,
    k: int,
    filters: Mapping[str, Sequence[str]] | None,
    preset: str,
    explain: bool,
    schema_format: str,
    auto_k: bool,
) -> pb.RetrieveRequest:
    """The message of ``retrieve``."""
    return retrieve_request(Query(query, k, filters or {}, preset, explain, schema_format, auto_k))


def batch_request(queries: Sequence[Query | str]) -> pb.RetrieveBatchRequest:
    """The message of ``retrieve_batch``; a bare text is a query with the defaults."""
    asked = [query if isinstance(query, Query) else Query(query) for query in queries]
    return pb.RetrieveBatchRequest(requests=list(map(retrieve_request, asked)))


def tool_request(tool_id: str, schema_format: str) -> pb.GetToolRequest:
    """The message of ``get_tool``."""
    return pb.GetToolRequest(id=tool_id, schema_format=schema_format_number(schema_format))


def neighbors_request(node: str, predicates: Sequence[str], limit: int) -> pb.NeighborsRequest:
    """The message of ``neighbors``."""
    return pb.NeighborsRequest(node=node, predicates=list(predicates), limit=number("limit", limit))


def catalog_request(page_size: int, page_token: str) -> pb.GetCatalogRequest:
    """The message of ``catalog``."""
    return pb.GetCatalogRequest(page_size=number("page_size", page_size), page_token=page_token)
