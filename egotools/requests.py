"""The arguments of each call as its message, for both clients; what no message can carry is refused here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from egotools.client_errors import InvalidRequestError
from egotools.v1 import egotools_pb2 as pb
from egotools.values import Query

__all__ = ["batch_request", "catalog_request", "neighbors_request", "retrieve_request", "tool_request"]

_INT32 = 2**31


def retrieve_request(query: Query) -> pb.RetrieveRequest:
    """The message of one request.

    :raises InvalidRequestError: for a filter that is a bare text, an unknown schema format, a number out of range.
    """
    try:
        query.query.encode("utf-8")
    except UnicodeEncodeError:
        raise _invalid(
            "query",
            "The query holds half a surrogate pair, which no message can carry.",
            "Decode the text it was read from as a whole.",
        ) from None
    return pb.RetrieveRequest(
        query=query.query,
        k=_int32("k", query.k),
        filters=_filters(query.filters),
        preset=query.preset,
        explain=query.explain,
        schema_format=_schema_format(query.schema_format),
        auto_k=query.auto_k,
    )


def batch_request(queries: Sequence[Query | str]) -> pb.RetrieveBatchRequest:
    """The message of ``retrieve_batch``; a bare text is a query with the defaults."""
    messages = [retrieve_request(query if isinstance(query, Query) else Query(query)) for query in queries]
    return pb.RetrieveBatchRequest(requests=messages)


def tool_request(tool_id: str, schema_format: str) -> pb.GetToolRequest:
    """The message of ``get_tool``."""
    return pb.GetToolRequest(id=tool_id, schema_format=_schema_format(schema_format))


def neighbors_request(node: str, predicates: Sequence[str], limit: int) -> pb.NeighborsRequest:
    """The message of ``neighbors``."""
    return pb.NeighborsRequest(node=node, predicates=list(predicates), limit=_int32("limit", limit))


def catalog_request(page_size: int, page_token: str) -> pb.GetCatalogRequest:
    """The message of ``catalog``."""
    return pb.GetCatalogRequest(page_size=_int32("page_size", page_size), page_token=page_token)


def _filters(filters: Mapping[str, Sequence[str]]) -> dict[str, pb.StringList]:
    for key, values in filters.items():
        if isinstance(values, str):  # a sequence of its characters
            raise _invalid(f"filters.{key}", "The values of a filter are a list of texts.", f"Write [{values!r}].")
    return {key: pb.StringList(values=values) for key, values in filters.items()}


def _schema_format(name: str) -> pb.SchemaFormat.ValueType:
    known = {full.removeprefix("SCHEMA_FORMAT_").lower(): number for full, number in pb.SchemaFormat.items()}
    number = known.get(name.lower())
    if number is None:
        raise _invalid("schema_format", f"There is no schema format {name!r}.", f"Use one of {', '.join(known)}.")
    return number


def _int32(name: str, value: int) -> int:
    """A number that fits its field; the server checks the range that is allowed."""
    if not -_INT32 <= value < _INT32:
        raise _invalid(name, f"{name} must be a whole number of 32 bits, not {value}.")
    return value


def _invalid(subject: str, message: str, remedy: str = "") -> InvalidRequestError:
    return InvalidRequestError(
        message, code="INVALID_ARGUMENT", reason="INVALID_ARGUMENT", subject=subject, remedy=remedy
    )
