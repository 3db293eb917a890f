"""Check URLs before use."""

from __future__ import annotations

from urllib.parse import urlsplit

from ontology.errors import InvalidArgumentError

__all__ = ["check_http_url"]


def check_http_url(url: str, *, subject: str) -> str:
    """Return an http or https URL unchanged.

    :param subject: the field or option that contains it, for the error.
    :raises InvalidArgumentError: when it is no http or https URL.
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
