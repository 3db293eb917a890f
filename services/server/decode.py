"""Requests of the contract, checked field by field before anything is run for them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass, field

from egotools.v1 import egotools_pb2 as pb
from ontology.errors import InvalidArgumentError
from retrieval.retriever import Request
from services.server.limiter import Turn

__all__ = ["Ask", "TurnRequest", "read_neighbors", "read_page", "read_retrieve", "read_schema_format", "read_tool_id"]

_DEFAULT_K = 10
_MAX_FILTER_KEYS = 32
_MAX_FILTER_VALUES = 256
_MAX_FILTER_CHARS = 1_000
_MAX_NODE_CHARS = 4_096
_DEFAULT_NEIGHBORS = 100
_MAX_NEIGHBORS = 1_000
_MAX_PREDICATES = 64
_DEFAULT_PAGE = 100
_MAX_PAGE = 5_000
_FORMATS = {
    pb.SCHEMA_FORMAT_NONE: "none",
    pb.SCHEMA_FORMAT_OPENAI: "openai",
    pb.SCHEMA_FORMAT_ANTHROPIC: "anthropic",
    pb.SCHEMA_FORMAT_MCP: "mcp",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest(Request):
    """A request that also ends, at its next stage, when its caller is gone."""

    turn: Turn

    def check_deadline(self, stage: str) -> None:
        """Raise DeadlineError when the caller is gone, or its time over, before ``stage``."""
        self.turn.check(stage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One retrieval that was checked and waits for its turn.

    :param schema_format: ``none``, ``openai``, ``anthropic`` or ``mcp``.
    """

    preset: str
    schema_format: str
    request: Callable[[Turn], TurnRequest] = field(repr=False)
    query_chars: int
    k: int
    explain: bool


def read_retrieve(message: pb.RetrieveRequest) -> Ask:
    """Check one retrieval.

    :raises InvalidArgumentError: naming the field.
    """
    k = message.k if message.HasField("k") else _DEFAULT_K
    schema_format = read_schema_format(message.schema_format)
    filters = _filters(message)
    checked = Request(query=message.query, k=k, filters=filters, explain=message.explain, auto_k=message.auto_k)

    def request(turn: Turn) -> TurnRequest:
        return TurnRequest(
            query=checked.query,
            k=k,
            filters=filters,
            explain=checked.explain,
            auto_k=checked.auto_k,
            deadline=turn.deadline,
            turn=turn,
        )

    return Ask(
        preset=message.preset,
        schema_format=schema_format,
        request=request,
        query_chars=len(message.query),
        k=k,
        explain=message.explain,
    )


def _filters(message: pb.RetrieveRequest) -> dict[str, tuple[str, ...]]:
    if len(message.filters) > _MAX_FILTER_KEYS:
        raise _wrong("filters", f"there are {len(message.filters)} keys; at most {_MAX_FILTER_KEYS} are taken")
    filters: dict[str, tuple[str, ...]] = {}
    for key in sorted(message.filters):
        values = message.filters[key].values
        if not key:
            raise _wrong("filters", "a key is empty", "Name the metadata that is filtered by")
        if not values:
            raise _wrong(
                f"filters.{key[:100]}", "the key has no values", "Give the allowed values, or leave the key out"
            )
        if len(values) > _MAX_FILTER_VALUES:
            raise _wrong(
                f"filters.{key[:100]}", f"there are {len(values)} values; at most {_MAX_FILTER_VALUES} are taken"
            )
        if len(key) > _MAX_FILTER_CHARS or any(not 0 < len(value) <= _MAX_FILTER_CHARS for value in values):
            raise _wrong(f"filters.{key[:100]}", f"keys and values have 1 to {_MAX_FILTER_CHARS:,} characters")
        filters[key] = tuple(values)
    return filters


def read_schema_format(number: int) -> str:
    """The name of a schema format.

    :raises InvalidArgumentError: when there is none of that number.
    """
    name = _FORMATS.get(number)  # type: ignore[call-overload]
    if name is None:
        raise _wrong(
            "schema_format", f"there is no schema format {number}", f"Use one of {', '.join(_FORMATS.values())}"
        )
    return str(name)


def read_tool_id(tool_id: str) -> str:
    """A tool id of possible length.

    :raises InvalidArgumentError: when it is empty or too long.
    """
    return _key("id", tool_id)


def read_neighbors(message: pb.NeighborsRequest) -> tuple[str, tuple[str, ...], int]:
    """The node, the predicates without repetition, and the limit.

    :raises InvalidArgumentError: naming the field.
    """
    limit = message.limit if message.HasField("limit") else _DEFAULT_NEIGHBORS
    if not 1 <= limit <= _MAX_NEIGHBORS:
        raise _wrong("limit", f"limit must be from 1 to {_MAX_NEIGHBORS:,}, not {limit}")
    if len(message.predicates) > _MAX_PREDICATES:
        raise _wrong("predicates", f"there are {len(message.predicates)}; at most {_MAX_PREDICATES} are taken")
    if any(len(predicate) > _MAX_FILTER_CHARS for predicate in message.predicates):
        raise _wrong("predicates", f"a predicate has more than {_MAX_FILTER_CHARS:,} characters")
    return _key("node", message.node), tuple(dict.fromkeys(message.predicates)), limit


def read_page(message: pb.GetCatalogRequest, snapshot_id: str) -> tuple[int, int]:
    """Offset and size of the page that is asked for.

    :raises InvalidArgumentError: naming the field; also for a token of another snapshot.
    """
    size = message.page_size if message.HasField("page_size") else _DEFAULT_PAGE
    if not 0 <= size <= _MAX_PAGE:
        raise _wrong("page_size", f"page_size must be from 0 to {_MAX_PAGE:,}, not {size}")
    if not message.page_token:
        return 0, size
    version, offset, snapshot = _token(message.page_token)
    if version != "1" or not offset.isascii() or not offset.isdecimal() or len(offset) > 12:
        raise _wrong("page_token", "this is no page token of this server", "Hand back next_page_token as it came")
    if snapshot != snapshot_id:
        raise _wrong("page_token", "the token is of another snapshot", "Start again without a page token")
    return int(offset), size


def next_token(offset: int, snapshot_id: str) -> str:
    """The token of the page that starts at ``offset``."""
    return base64.urlsafe_b64encode(f"1:{offset}:{snapshot_id}".encode()).decode("ascii")


def _token(text: str) -> tuple[str, str, str]:
    try:
        version, offset, snapshot = (
            base64.b64decode(text.encode(), altchars=b"-_", validate=True).decode().split(":", 2)
        )
    except (ValueError, binascii.Error):  # also UnicodeDecodeError
        return "", "", ""
    return version, offset, snapshot


def _key(name: str, text: str) -> str:
    if not text.strip():
        raise _wrong(name, f"the {name} is empty", "Say which")
    if len(text) > _MAX_NODE_CHARS:
        raise _wrong(name, f"the {name} has {len(text):,} characters; at most {_MAX_NODE_CHARS:,} are taken")
    return text


def _wrong(name: str, problem: str, remedy: str = "") -> InvalidArgumentError:
    return InvalidArgumentError(problem, subject=name, remedy=remedy)
