"""Who sends a request: the token that is passed on to the gRPC server, and a name that is no secret."""

from __future__ import annotations

import hashlib
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Self

from mcp.server.context import ServerRequestContext
from starlette.requests import HTTPConnection

__all__ = ["McpCaller", "McpSettings", "current_token", "set_token"]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSettings:
    """Chosen by the operator.

    :param pins: ids of tools that are always listed.
    :param append_only: whether tools that a session finds are listed from then on, at the end.
    :param watch_s: seconds between two looks at the snapshot of the gRPC server.
    :param question_s: seconds in which a user may answer a question.
    :param max_calls: calls of one session at once; more are refused.
    :param max_listed: found tools that a session lists at most; later ones are not listed.
    """

    pins: tuple[str, ...] = ()
    append_only: bool = False
    watch_s: float = 2.0
    question_s: float = 300.0
    max_calls: int = 16
    max_listed: int = 100


_TOKEN: ContextVar[str | None] = ContextVar("egotools_mcp_token", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpCaller:
    """A caller.

    :param token: of its request; empty for an anonymous caller; None on stdio, where the process has one or none.
    :param key: equal for requests of the same token; without one, for those of the same address.
    """

    token: str | None = field(repr=False)
    key: str

    @classmethod
    def of_http(cls, request: HTTPConnection) -> Self:
        """The caller of a request over HTTP."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        token = token.strip() if scheme.lower() == "bearer" else ""
        if token:
            return cls(token=token, key=hashlib.sha256(token.encode()).hexdigest())
        return cls(token="", key=f"anonymous {request.client.host if request.client else ''}")

    @classmethod
    def of(cls, context: ServerRequestContext[Any, Any]) -> Self:
        """The caller of an MCP request."""
        if isinstance(context.request, HTTPConnection):
            return cls.of_http(context.request)
        return cls(token=None, key="stdio")


def set_token(token: str | None) -> None:
    """Say with which token the calls of this task ask the gRPC server; None: with that of the process."""
    _TOKEN.set(token)


def current_token(of_process: str = "") -> str:
    """Return the token for a call of the gRPC server."""
    token = _TOKEN.get()
    return of_process if token is None else token
