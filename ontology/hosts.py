"""Addresses: without what is secret in them, and the name under which the owner of a host registered it (``acme`` of ``https://api.acme.co.uk/v1``)."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from ontology.errors import InvalidArgumentError

_HOST = re.compile(r"^(?:[a-z][a-z0-9+.-]*://)?(?:[^/@]*@)?(?P<host>[a-z0-9.-]+)", re.IGNORECASE)
_ADDRESS = re.compile(r"[\d.]+")
# Below these, labels are registered by others: chosen, not tuned. Of hosts below the last ones the label tells nothing.
_SECOND_LEVEL = frozenset("ac co com edu gov net org".split())
_HOSTING = (
    "appspot.com azurewebsites.net azure-api.net cloudfunctions.net fly.dev github.io herokuapp.com netlify.app onrender.com "
    "pages.dev run.app vercel.app workers.dev"
).split()
_UNKNOWN = ("amazonaws.com", "example.com", "example.org", "localhost", "local", "internal")


def registered_label(address: str) -> str:
    """Return the registered label of the host of an address, lower-case, without hyphens; empty where it tells no owner: an IP
    address, a name without a point, a host of a cloud.
    """
    match = _HOST.match(address)
    host = match["host"].lower().strip(".") if match else ""
    if "." not in host or _ADDRESS.fullmatch(host) or _ends(host, _UNKNOWN):
        return ""
    suffix = next((one for one in _HOSTING if _ends(host, (one,))), "")
    labels = host.removesuffix(suffix).strip(".").split(".") if suffix else host.split(".")[:-1]
    while not suffix and len(labels) > 1 and labels[-1] in _SECOND_LEVEL:
        labels.pop()
    return labels[-1].replace("-", "")


def _ends(host: str, suffixes: tuple[str, ...]) -> bool:
    return any(host == one or host.endswith(f".{one}") for one in suffixes)


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
