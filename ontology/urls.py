"""Check URLs before use, and remove possible secrets before they are shown."""

from __future__ import annotations

from urllib.parse import urlsplit

from ontology.errors import InvalidArgumentError

__all__ = ["check_http_url", "redacted_url"]


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


def redacted_url(url: str) -> str:
    """Return the URL without user, password, query and fragment. It may be invalid, because errors show it too."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
    return f"{scheme.lower()}://{host.rpartition('@')[2]}{slash}{path}"
