"""Decode protobuf messages into requests, and check each field before the request runs."""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

from egotools.v1 import egotools_pb2 as pb
from ontology.errors import InvalidArgumentError
from retrieval.query.request import PlanRequest, Request

__all__ = [
    "Neighborhood",
    "Page",
    "decode_neighborhood",
    "decode_page",
    "decode_plan",
    "decode_request",
    "decode_schema_format",
    "decode_snapshot_id",
    "decode_tool_id",
    "page_token",
]

_DEFAULT_K = 10
_MAX_FILTER_KEYS = 32
_MAX_FILTER_VALUES = 256
_MAX_FILTER_CHARS = 1_000
_MAX_PATTERNS, _MAX_PATTERN_CHARS = 256, 16_384  # of all keys together
_MAX_NODE_CHARS = 4_096
_MAX_ID_CHARS = 256
_DEFAULT_NEIGHBORS = 100
_MAX_NEIGHBORS = 1_000
_MAX_PREDICATES = 64
_DEFAULT_PAGE = 100
_MAX_PAGE = 5_000
_TOKEN_VERSION = "1"
_MAX_OFFSET_DIGITS = 12
_FORMATS: dict[int, str] = {
    pb.SCHEMA_FORMAT_NONE: "none",
    pb.SCHEMA_FORMAT_OPENAI: "openai",
    pb.SCHEMA_FORMAT_ANTHROPIC: "anthropic",
    pb.SCHEMA_FORMAT_MCP: "mcp",
    pb.SCHEMA_FORMAT_OPENAI_STRICT: "openai_strict",
}


class Neighborhood(NamedTuple):
    """The requested part of the graph: a node, distinct predicates, and the maximum number of edges."""

    node: str
    predicates: tuple[str, ...]
    limit: int


class Page(NamedTuple):
    """One page of the tool ids: position of the first id, from 0, and maximum number of ids."""

    offset: int
    size: int


def decode_request(message: pb.RetrieveRequest) -> Request:
    """Decode one retrieval request.

    :raises InvalidArgumentError: naming the invalid field.
    """
    return Request(
        schema_format=decode_schema_format(message.schema_format),
        query=message.query,
        k=message.k if message.HasField("k") else _DEFAULT_K,
        filters=_filters(message),
        preset=message.preset,
        explain=message.explain,
        auto_k=message.auto_k,
        done=tuple(dict.fromkeys(message.done)),
        have=dict(sorted(message.have.items())),
        explanation=message.explanation,
        abstain=message.abstain,
        needs=tuple(message.needs),
    )


def decode_plan(message: pb.PlanRequest) -> PlanRequest:
    """Decode a request for a plan.

    :raises InvalidArgumentError: naming the invalid field.
    """
    return PlanRequest(
        goals=tuple(dict.fromkeys(message.goals)),
        query=message.query,
        done=tuple(dict.fromkeys(message.done)),
        have=dict(sorted(message.have.items())),
        preset=message.preset,
        abstain=message.abstain,
        needs=tuple(message.needs),
    )


def _filters(message: pb.RetrieveRequest) -> dict[str, tuple[str, ...]]:
    if len(message.filters) > _MAX_FILTER_KEYS:
        raise _invalid("filters", f"there are {len(message.filters)} keys; at most {_MAX_FILTER_KEYS} are allowed")
    filters: dict[str, tuple[str, ...]] = {}
    for key in sorted(message.filters):
        values, field = message.filters[key].values, f"filters.{key[:100]}"
        if not key:
            raise _invalid("filters", "a key is empty", "Name the metadata to filter by")
        if not values:
            raise _invalid(field, "the key has no values", "Give the allowed values, or omit the key")
        if len(values) > _MAX_FILTER_VALUES:
            raise _invalid(field, f"there are {len(values)} values; at most {_MAX_FILTER_VALUES} are allowed")
        if len(key) > _MAX_FILTER_CHARS or any(not 0 < len(value) <= _MAX_FILTER_CHARS for value in values):
            raise _invalid(field, f"keys and values have 1 to {_MAX_FILTER_CHARS:,} characters")
        filters[key] = tuple(dict.fromkeys(values))
    patterns = [value for values in filters.values() for value in values if value.endswith("*")]
    characters = sum(map(len, patterns))
    if len(patterns) > _MAX_PATTERNS or characters > _MAX_PATTERN_CHARS:
        raise _invalid(
            "filters",
            f"there are {len(patterns):,} patterns of {characters:,} characters; at most {_MAX_PATTERNS} of {_MAX_PATTERN_CHARS:,} "
            "together are allowed",
            "Give fewer and shorter beginnings, or whole values",
        )
    return filters


def decode_schema_format(number: int) -> str:
    """Return the name of a schema format.

    :raises InvalidArgumentError: for an unknown number.
    """
    name = _FORMATS.get(number)
    if name is None:
        raise _invalid(
            "schema_format", f"there is no schema format {number}", f"Use one of {', '.join(_FORMATS.values())}"
        )
    return name


def decode_tool_id(message: pb.GetToolRequest) -> str:
    """Decode the tool id and check its length.

    :raises InvalidArgumentError: when it is empty or too long.
    """
    return _key("id", message.id)


def decode_snapshot_id(text: str) -> str:
    """Check the length of ``min_snapshot``; empty for any snapshot.

    :raises InvalidArgumentError: when it is too long.
    """
    if len(text) > _MAX_ID_CHARS:
        raise _invalid("min_snapshot", f"an id of a snapshot has at most {_MAX_ID_CHARS} characters, not {len(text):,}")
    return text


def decode_neighborhood(message: pb.NeighborsRequest) -> Neighborhood:
    """Decode a request for an ego graph.

    :raises InvalidArgumentError: naming the invalid field.
    """
    limit = message.limit if message.HasField("limit") else _DEFAULT_NEIGHBORS
    if not 1 <= limit <= _MAX_NEIGHBORS:
        raise _invalid("limit", f"limit must be from 1 to {_MAX_NEIGHBORS:,}, not {limit}")
    if len(message.predicates) > _MAX_PREDICATES:
        raise _invalid("predicates", f"there are {len(message.predicates)}; at most {_MAX_PREDICATES} are allowed")
    if any(len(predicate) > _MAX_FILTER_CHARS for predicate in message.predicates):
        raise _invalid("predicates", f"a predicate has more than {_MAX_FILTER_CHARS:,} characters")
    return Neighborhood(_key("node", message.node), tuple(dict.fromkeys(message.predicates)), limit)


def decode_page(message: pb.GetCatalogRequest, snapshot_id: str) -> Page:
    """Decode the requested page.

    :raises InvalidArgumentError: naming the invalid field; also for a token of another snapshot.
    """
    size = message.page_size if message.HasField("page_size") else _DEFAULT_PAGE
    if not 0 <= size <= _MAX_PAGE:
        raise _invalid("page_size", f"page_size must be from 0 to {_MAX_PAGE:,}, not {size}")
    if not message.page_token:
        return Page(0, size)
    version, offset, snapshot = _token_parts(message.page_token)
    is_offset = offset.isascii() and offset.isdecimal() and len(offset) <= _MAX_OFFSET_DIGITS
    if version != _TOKEN_VERSION or not is_offset:
        raise _invalid("page_token", "this is not a page token of this server", "Send next_page_token unchanged")
    if snapshot != snapshot_id:
        raise _invalid("page_token", "the token belongs to another snapshot", "Start again without a page token")
    return Page(int(offset), size)


def page_token(offset: int, snapshot_id: str) -> str:
    """Return the token of the page that starts at ``offset``."""
    return base64.urlsafe_b64encode(f"{_TOKEN_VERSION}:{offset}:{snapshot_id}".encode()).decode("ascii")


def _token_parts(token: str) -> tuple[str, str, str]:
    """Return version, offset and snapshot id; three empty strings for an invalid token."""
    try:
        version, offset, snapshot = (
            base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode().split(":", 2)
        )
    except (ValueError, binascii.Error):  # also UnicodeDecodeError
        return "", "", ""
    return version, offset, snapshot


def _key(field: str, text: str) -> str:
    if not text.strip():
        raise _invalid(field, f"the {field} is empty", f"Give the {field}")
    if len(text) > _MAX_NODE_CHARS:
        raise _invalid(field, f"the {field} has {len(text):,} characters; at most {_MAX_NODE_CHARS:,} are allowed")
    return text


def _invalid(field: str, problem: str, remedy: str = "") -> InvalidArgumentError:
    return InvalidArgumentError(problem, subject=field, remedy=remedy)
