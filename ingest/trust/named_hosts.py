"""Addresses in texts: hosts of URLs, bare host names, and mail addresses."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import NamedTuple

from ingest.word_lists import word_list

__all__ = ["Address", "addresses_in", "hosts_in", "is_documentation", "site_of"]

_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]{1,20})://(?:[^\s/@\"'<>]{1,200}@)?(?P<host>[\w.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?P<rest>[^\s\"'<>]{0,2000})",
    re.IGNORECASE,
)
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?P<host>[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})", re.IGNORECASE)
_BARE = re.compile(
    r"(?<![\w.@/-])(?P<host>(?:[\w-]{1,63}\.){1,6}[a-z]{2,24})(?::\d{2,5})?(?=$|[\s/,;\"'\]])", re.IGNORECASE
)
_TOP_LEVELS = word_list("trust", "top_levels")
_FILE_ENDINGS = word_list("trust", "no_top_level")
_TWO_LEVELS = frozenset(("co", "com", "org", "net", "ac", "gov", "edu", "or", "ne"))
_DOCUMENTATION = frozenset(
    ("example.com", "example.org", "example.net", "example.edu")
)  # reserved for documents (RFC 2606)
_LOCAL = frozenset(("localhost", "local", "localdomain", "internal", "example", "lan", "intranet", "svc", "cluster"))
_WIDELY_NAMED = frozenset(
    (
        "w3.org",
        "schema.org",
        "json-schema.org",
        "ietf.org",
        "iana.org",
        "swagger.io",
        "openapis.org",
        "github.com",
        "docs.oasis-open.org",
        "oasis-open.org",
        "wikipedia.org",
        "mozilla.org",
    )
)


class Address(NamedTuple):
    """A host that ``text[start:end]`` names; whether by a mail address, and whether its URL has a query."""

    host: str
    start: int
    end: int
    is_mail: bool
    has_query: bool


def addresses_in(text: str) -> Iterator[Address]:
    """Yield the addresses of a text: URLs, then mail addresses, then bare host names where it has neither."""
    found = False
    if "://" in text:
        for match in _URL.finditer(text):
            found = True
            yield Address(
                match["host"].lower().rstrip("."),
                match.start(),
                match.end(),
                is_mail=False,
                has_query="?" in match["rest"],
            )
    if "@" in text:
        for match in _MAIL.finditer(text):
            if not found or "://" not in text[max(0, match.start() - 100) : match.start()]:
                yield Address(match["host"].lower(), match.start(), match.end(), is_mail=True, has_query=False)
                found = True
    if not found and "." in text:
        for match in _BARE.finditer(text):
            host = match["host"].lower()
            if _is_top_level(host.rpartition(".")[2]) and (
                host.count(".") > 1 or "-" in host or "/" in text or ":" in text
            ):
                yield Address(host, match.start(), match.end(), is_mail=False, has_query="?" in text)


def _is_top_level(label: str) -> bool:
    return label in _TOP_LEVELS or (len(label) == _COUNTRY and label not in _FILE_ENDINGS)


_COUNTRY = 2  # letters of the top level of a country


def hosts_in(text: str) -> list[str]:
    """The hosts that a text names."""
    return [address.host for address in addresses_in(text)]


def site_of(host: str) -> str:
    """The registrable part of a host name, by rule of thumb (``api.shop.co.uk`` → ``shop.co.uk``)."""
    labels = host.lower().strip(".").split(".")
    keep = 3 if len(labels) > 2 and labels[-2] in _TWO_LEVELS and len(labels[-1]) == 2 else 2
    return ".".join(labels[-keep:])


def is_documentation(host: str) -> bool:
    """Whether data cannot leave to a host: it is reserved for documents, local, a placeholder, or names a vocabulary."""
    if not host or "{" in host or "<" in host:
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        pass
    else:
        return not address.is_global
    site, labels = site_of(host), host.split(".")
    return (
        "." not in host
        or site in _DOCUMENTATION
        or site in _WIDELY_NAMED
        or labels[-1] in _LOCAL
        or any(
            label
            in {
                "example",
                "yourdomain",
                "mydomain",
                "your-domain",
                "domain",
                "yoursite",
                "mysite",
                "company",
                "yourcompany",
                "mycompany",
            }
            for label in labels
        )
    )
