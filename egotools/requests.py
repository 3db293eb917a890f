"""Make the request message of each call, for both clients; reject arguments that no message can contain."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

from egotools.client_errors import InvalidRequestError
from egotools.v1 import egotools_pb2 as pb
from egotools.values import ObservedOutput, Query

__all__ = [
    "as_queries",
    "batch_request",
    "catalog_request",
    "neighbors_request",
    "outcome_request",
    "plan_request",
    "retrieve_request",
    "tool_request",
]

_INT32 = 2**31


def retrieve_request(query: Query) -> pb.RetrieveRequest:
    """Return the message of one request.

    :raises InvalidRequestError: for a filter that is a string, an unknown schema format, a number out of range, a text
        with an unpaired surrogate, or a value of another type.
    """
    return pb.RetrieveRequest(
        query=_text("query", query.query),
        k=_int32("k", query.k),
        filters=_filters(query.filters),
        preset=_text("preset", query.preset),
        explain=_flag("explain", query.explain),
        schema_format=_schema_format(query.schema_format),
        auto_k=_flag("auto_k", query.auto_k),
        done=_texts("done", query.done),
        have=_known(query.have),
        explanation=_flag("explanation", query.explanation),
        min_snapshot=_text("min_snapshot", query.min_snapshot),
        abstain=_flag("abstain", query.abstain),
        needs=_texts("needs", query.needs),
    )


def as_queries(queries: Sequence[Query | str]) -> list[Query]:
    """Return the queries of a batch; a string means a query with the defaults."""
    return [query if isinstance(query, Query) else Query(query) for query in queries]


def batch_request(queries: Sequence[Query]) -> pb.RetrieveBatchRequest:
    """Return the message of ``retrieve_batch``."""
    return pb.RetrieveBatchRequest(requests=map(retrieve_request, queries))


def tool_request(tool_id: str, schema_format: str, min_snapshot: str = "") -> pb.GetToolRequest:
    """Return the message of ``get_tool``."""
    return pb.GetToolRequest(
        id=_text("id", tool_id),
        schema_format=_schema_format(schema_format),
        min_snapshot=_text("min_snapshot", min_snapshot),
    )


def neighbors_request(node: str, predicates: Sequence[str], limit: int, min_snapshot: str = "") -> pb.NeighborsRequest:
    """Return the message of ``neighbors``."""
    return pb.NeighborsRequest(
        node=_text("node", node),
        predicates=_texts("predicates", predicates),
        limit=_int32("limit", limit),
        min_snapshot=_text("min_snapshot", min_snapshot),
    )


def catalog_request(page_size: int, page_token: str) -> pb.GetCatalogRequest:
    """Return the message of ``catalog``."""
    return pb.GetCatalogRequest(page_size=_int32("page_size", page_size), page_token=_text("page_token", page_token))


def outcome_request(
    request_id: str, used: Sequence[str], succeeded: bool | None, outputs: Sequence[ObservedOutput], query: str
) -> pb.ReportOutcomeRequest:
    """Return the message of ``report_outcome``."""
    return pb.ReportOutcomeRequest(
        request_id=_text("request_id", request_id),
        used=_texts("used", used),
        succeeded=None if succeeded is None else _flag("succeeded", succeeded),
        outputs=[
            pb.ObservedOutput(
                tool_id=_text("outputs.tool_id", each.tool_id),
                name=_text("outputs.name", each.name),
                type=_text("outputs.type", each.type),
                taken_by=_text("outputs.taken_by", each.taken_by),
                taken_as=_text("outputs.taken_as", each.taken_as),
            )
            for each in outputs
        ],
        query=_text("query", query),
    )


def plan_request(
    goals: Sequence[str],
    query: str,
    done: Sequence[str],
    have: Mapping[str, str],
    preset: str,
    min_snapshot: str,
    abstain: bool,
    needs: Sequence[str],
) -> pb.PlanRequest:
    """Return the message of ``plan``."""
    return pb.PlanRequest(
        goals=_texts("goals", goals),
        query=_text("query", query),
        done=_texts("done", done),
        have=_known(have),
        preset=_text("preset", preset),
        min_snapshot=_text("min_snapshot", min_snapshot),
        abstain=_flag("abstain", abstain),
        needs=_texts("needs", needs),
    )


def _filters(filters: Mapping[str, Sequence[str]]) -> dict[str, pb.StringList]:
    if not isinstance(filters, Mapping):
        raise _invalid("filters", "Filters are a mapping of keys to lists of texts.")
    return {
        _text("filters", key): pb.StringList(values=_texts(f"filters.{_text('filters', key)}", values))
        for key, values in filters.items()
    }


def _known(have: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(have, Mapping):
        raise _invalid("have", "have is a mapping of names to values.", 'Write {"customer_id": "C-17"}.')
    return {_text("have", name): _text(f"have.{_text('have', name)}", value) for name, value in have.items()}


def _texts(name: str, values: Sequence[str]) -> list[str]:
    if isinstance(values, str):  # a string is a sequence of characters
        raise _invalid(name, f"{name} must be a list of texts.", f"Write [{values!r}].")
    try:
        return [_text(name, value) for value in values]
    except TypeError:
        raise _invalid(name, f"{name} must be a list of texts, not {values!r}.") from None


def _text(name: str, value: str) -> str:
    if not isinstance(value, str):
        raise _invalid(name, f"{name} must be a text, not {value!r}.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _invalid(
            name,
            f"{name} has an unpaired surrogate, which no message can contain.",
            "Decode the whole text at once.",
        ) from None
    return value


def _flag(name: str, value: bool) -> bool:
    try:
        pb.RetrieveRequest(explain=value)
    except TypeError:
        raise _invalid(name, f"{name} must be True or False, not {value!r}.") from None
    return value


def _schema_format(name: str) -> pb.SchemaFormat.ValueType:
    name = _text("schema_format", name)
    known = {full.removeprefix("SCHEMA_FORMAT_").lower(): number for full, number in pb.SchemaFormat.items()}
    number = known.get(name.lower())
    if number is None:
        raise _invalid("schema_format", f"There is no schema format {name!r}.", f"Use one of {', '.join(known)}.")
    return number


def _int32(name: str, value: int) -> int:
    """Check that a number fits into 32 bits; the server checks the allowed range."""
    try:
        number = operator.index(value)
    except TypeError:
        raise _invalid(name, f"{name} must be a whole number, not {value!r}.") from None
    if not -_INT32 <= number < _INT32:
        raise _invalid(name, f"{name} must be a whole number of 32 bits, not {number}.")
    return number


def _invalid(subject: str, message: str, remedy: str = "") -> InvalidRequestError:
    return InvalidRequestError(
        message, code="INVALID_ARGUMENT", reason="INVALID_ARGUMENT", subject=subject, remedy=remedy
    )
