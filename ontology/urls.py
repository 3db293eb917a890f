"""Addresses: checked before use, and shown without what may be secret."""

from __future__ import annotations

from urllib.parse import urlsplit

from ontology.errors import InvalidArgumentError

__all__ = ["check_http_url", "redacted_url"]


def check_http_url(url: str, *, subject: str) -> str:
    """Return an http or https address as it is.

    :param subject: the field or option that holds it, for the error.
    :raises InvalidArgumentError: when it is not one.
    """
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise InvalidArgumentError(
            "this is not an http or https address",
            subject=subject,
            remedy="Use an address such as http://127.0.0.1:8080/v1",
        )
    return url


def redacted_url(url: str) -> str:
    """The address without user, password, query and fragment. It need not be a valid one: errors show it."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
    return f"{scheme.lower()}://{host.rpartition('@')[2]}{slash}{path}"
