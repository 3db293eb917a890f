"""Fetch a document over HTTP: bounded in size and time, and never beyond HTTP."""

from __future__ import annotations

import gzip
from urllib.error import HTTPError, URLError
from zlib import error as ZlibError

from ontology.errors import DocumentError
from ontology.urls import redacted_url

__all__ = ["MAX_FETCH_BYTES", "fetch"]

MAX_FETCH_BYTES = 64 * 2**20

_TIMEOUT_S = 30.0


def fetch(url: str, *, limit: int = MAX_FETCH_BYTES, timeout_s: float = _TIMEOUT_S) -> bytes:
    """The body of a GET, unpacked when gzipped.

    :param limit: most bytes taken, before and after unpacking.
    :raises DocumentError: when the server is dead, answers other than 2xx, redirects out of HTTP, or sends more than ``limit``.
    """
    from urllib.request import (
        HTTPDefaultErrorHandler,
        HTTPErrorProcessor,
        HTTPHandler,
        HTTPRedirectHandler,
        HTTPSHandler,
        OpenerDirector,
        ProxyHandler,
        Request,
    )

    # Built by hand: the default opener would also follow a redirect to ftp://.
    opener = OpenerDirector()
    for handler in (
        ProxyHandler,
        HTTPHandler,
        HTTPSHandler,
        HTTPDefaultErrorHandler,
        HTTPRedirectHandler,
        HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    shown = redacted_url(url)
    request = Request(
        url, headers={"Accept": "application/json, application/yaml, */*;q=0.5", "User-Agent": "egotools"}
    )
    try:
        with opener.open(request, timeout=timeout_s) as answer:
            body: bytes = answer.read(limit + 1)
    except HTTPError as error:
        error.close()
        raise DocumentError(f"cannot be fetched: the server answers {error.code}", subject=shown) from error
    except (URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise DocumentError(
            f"cannot be fetched: {reason}", subject=shown, remedy="Check the address and that the server runs"
        ) from error
    return _unpacked(body, limit, shown)


def _unpacked(body: bytes, limit: int, shown: str) -> bytes:
    if len(body) <= limit and body[:2] == b"\x1f\x8b":
        try:
            from io import BytesIO

            with gzip.open(BytesIO(body)) as handle:
                body = handle.read(limit + 1)
        except (OSError, EOFError, ZlibError) as error:
            raise DocumentError(f"cannot be read: {error}", subject=shown) from error
    if len(body) > limit:
        raise DocumentError(f"cannot be fetched: it is larger than {limit} bytes", subject=shown)
    return body
