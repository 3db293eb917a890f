"""Fetch a document over HTTP or HTTPS, with limits on its size and on the total time."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Mapping
from io import BytesIO
from zlib import error as ZlibError

from egotools.calling.first_cause import first_cause
from egotools.client_errors import PermissionDeniedError
from ingest.sources.run_async import run_async
from ontology.errors import DocumentError
from ontology.redaction import redact, redacted_url, secrets_in

__all__ = ["MAX_FETCH_BYTES", "fetch"]

MAX_FETCH_BYTES = 64 * 2**20

_TIMEOUT_S = 30.0
_MAX_REDIRECTS = 10
# No content encoding, so that the limit counts the bytes sent by the server, also of a gzipped file.
_HEADERS = {
    "Accept": "application/json, application/yaml, */*;q=0.5",
    "Accept-Encoding": "identity",
    "User-Agent": "egotools",
}


def fetch(
    url: str,
    *,
    limit: int = MAX_FETCH_BYTES,
    timeout_s: float = _TIMEOUT_S,
    headers: Mapping[str, str] | None = None,
    shown: str = "",
) -> bytes:
    """Return the body of a GET request, unpacked when gzipped.

    :param limit: maximum number of bytes, before and after unpacking.
    :param timeout_s: seconds for the whole request, including redirects.
    :param headers: further headers, sent to the host of the address alone.
    :param shown: the address for errors; default: the address without credentials and query.
    :raises DocumentError: when the server cannot be reached, is too slow, answers with another status than 2xx,
        redirects to another protocol or into a network that the address is not in itself, or sends more than ``limit``.
    """
    import httpx

    logging.getLogger("httpx").setLevel(logging.WARNING)  # at INFO it logs each address with its credentials
    shown = shown or redacted_url(url)
    try:
        body = run_async(_get(url, limit, timeout_s, headers or {}))
        if body[:2] == b"\x1f\x8b" and len(body) <= limit:
            with gzip.open(BytesIO(body)) as packed:
                body = packed.read(limit + 1)
    except httpx.HTTPStatusError as error:
        raise _unreachable(f"the server answers {error.response.status_code}", shown) from error
    except PermissionDeniedError as error:
        fault = "a redirect leads to an address that is not public; nothing was sent there"
        remedy = f"If you trust {error.subject}, give the address that it leads to yourself"
        raise _unreachable(fault, shown, remedy) from error
    except TimeoutError as error:
        raise _unreachable(f"it takes more than {timeout_s:g} s", shown) from error
    except (EOFError, ZlibError, gzip.BadGzipFile) as error:
        raise DocumentError(f"cannot be read: {error}", subject=shown) from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, ExceptionGroup) as error:
        cause = first_cause(error)
        fault = redact(str(cause) or type(cause).__name__, secrets_in(url))
        raise _unreachable(fault, shown, "Check the address and that the server runs") from error
    if len(body) > limit:
        raise _unreachable(f"it is larger than {limit} bytes", shown)
    return body


async def _get(url: str, limit: int, timeout_s: float, headers: Mapping[str, str]) -> bytes:
    """Return the body; reading stops after the first chunk that exceeds ``limit`` bytes."""
    import asyncio

    import httpx

    from ingest.sources.http_routes import GuardedRedirects
    from ingest.sources.origin_headers import OriginHeaders

    body = bytearray()
    async with (
        asyncio.timeout(timeout_s),
        httpx.AsyncClient(
            transport=OriginHeaders(GuardedRedirects(), url, headers),
            trust_env=False,  # the routes know the proxies and the certificates
            follow_redirects=True,
            max_redirects=_MAX_REDIRECTS,
            timeout=timeout_s,
        ) as client,
        client.stream("GET", url, headers=_HEADERS) as response,
    ):
        response.raise_for_status()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > limit:
                break
    return bytes(body)


def _unreachable(fault: str, subject: str, remedy: str = "") -> DocumentError:
    return DocumentError(f"cannot be fetched: {fault}", subject=subject, remedy=remedy, reason="unreachable")
