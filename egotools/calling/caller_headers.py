"""The headers that a document may declare, as a parameter or as the place of a credential."""

from __future__ import annotations

__all__ = ["is_settable"]

# What belongs to the connection or to the client: with one of them a document could send the request to another service.
_CLIENT_HEADERS = frozenset(
    "accept-encoding connection content-length expect forwarded host keep-alive proxy-authorization proxy-connection te trailer"
    " transfer-encoding upgrade via x-forwarded-for x-forwarded-host x-forwarded-proto".split()
)
_NAME = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def is_settable(name: str) -> bool:
    """Whether a name is one of a header, and not of one that belongs to the connection or to the client."""
    return bool(name) and set(name) <= _NAME and name.lower() not in _CLIENT_HEADERS
