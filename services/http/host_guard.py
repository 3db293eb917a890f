"""By which names a server may be called."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from services.server.access.loopback import is_loopback

__all__ = ["is_own_host"]


def is_own_host(header: str, names: Iterable[str] = ()) -> bool:
    """Whether the header ``Host`` of a request names this server: a name of loopback, or one of ``names``, which are in lower case.

    A server on loopback refuses every other name: else a site whose name is made to point here (DNS rebinding) could read what this
    machine alone may.
    """
    try:
        host = (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return False
    return is_loopback(host) or host in names
