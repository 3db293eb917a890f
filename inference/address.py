"""Addresses of model endpoints, fit to be shown."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from ontology.errors import InvalidArgumentError

__all__ = ["check_address", "public_address"]


def check_address(url: str, *, subject: str) -> str:
    """Hand back an http(s) address as it is.

    :raises InvalidArgumentError: when it is none.
    """
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise InvalidArgumentError(
            "this is not an http or https address", subject=subject, remedy="Give one such as http://127.0.0.1:8080/v1"
        )
    return url


def public_address(url: str) -> str:
    """Leave out what may be secret: user, password, query and fragment."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    port = f":{parts.port}" if parts.port is not None else ""
    return urlunsplit((parts.scheme, f"{host}{port}", parts.path.rstrip("/"), "", ""))
