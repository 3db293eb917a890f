"""Credentials in a request: where each goes, and which of the alternatives of a call is taken."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from egotools.call import Security, SecurityScheme
from egotools.client_errors import ToolRequestError

__all__ = ["Credential", "Injected", "inject_credentials"]

Credential: TypeAlias = str | tuple[str, str]
"""An API key, a token, or user and password."""

_NOT_PRINTABLE = re.compile(r"[^\x20-\x7e]")
_TOKENS = ("oauth2", "openIdConnect")
_IN_REQUEST = ("apiKey", "http", *_TOKENS)


@dataclass(slots=True)
class Injected:
    """What credentials add to a request; its values are in no ``repr``."""

    headers: list[tuple[str, str]]
    query: list[tuple[str, str]]
    cookies: list[tuple[str, str]]

    def __repr__(self) -> str:
        return f"Injected({len(self.headers)} headers, {len(self.query)} query fields, {len(self.cookies)} cookies)"


def inject_credentials(security: Sequence[Security], credentials: Mapping[str, Credential]) -> Injected:
    """Return what the first alternative that the credentials satisfy adds to a request.

    :param security: the alternatives of a call; none where the document says nothing, and then nothing is added.
    :param credentials: map from scheme key to credential; keys that the call does not name are not used.
    :raises ToolRequestError: when no alternative is satisfied, and for a credential of the wrong form.
    """
    injected = Injected([], [], [])
    if not security:
        return injected
    for alternative in security:
        if all(_has(scheme, credentials) for scheme in alternative.schemes):
            for scheme in alternative.schemes:
                _inject(scheme, credentials[scheme.key], injected)
            return injected
    choices = " or ".join(dict.fromkeys(" with ".join(map(_described, each.schemes)) for each in security))
    raise ToolRequestError(
        f"the call needs a credential: {choices}",
        subject="credentials",
        remedy="Give the credentials of one alternative, each by the key of its scheme.",
    )


def _has(scheme: SecurityScheme, credentials: Mapping[str, Credential]) -> bool:
    return scheme.key in credentials and scheme.type in (*_IN_REQUEST, "mutualTLS")


def _described(scheme: SecurityScheme) -> str:
    what = scheme.scheme if scheme.type == "http" else scheme.type
    where = f" in the {scheme.location} {scheme.name}" if scheme.name else ""
    scopes = f", scopes {' '.join(scheme.scopes)}" if scheme.scopes else ""
    unsupported = (
        "" if scheme.type in (*_IN_REQUEST, "mutualTLS") else "; egotools does not put this type into a request"
    )
    return f"{scheme.key!r} ({what or 'of no known type'}{where}{scopes}{unsupported})"


def _inject(scheme: SecurityScheme, credential: Credential, injected: Injected) -> None:
    if scheme.type == "mutualTLS":  # of the connection, not of the request
        return
    if scheme.type == "http" and scheme.scheme == "basic":
        pair = tuple(credential.split(":", 1)) if isinstance(credential, str) else credential
        if len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise _wrong(scheme, "user and password, as a pair or as user:password")
        encoded = base64.b64encode(":".join(pair).encode("utf-8", "replace")).decode("ascii")
        injected.headers.append(("Authorization", f"Basic {encoded}"))
        return
    if not isinstance(credential, str) or not credential or _NOT_PRINTABLE.search(credential):
        raise _wrong(scheme, "one line of printable ASCII")
    if scheme.type == "apiKey":
        places = {"query": injected.query, "cookie": injected.cookies}
        places.get(scheme.location, injected.headers).append((scheme.name, credential))
    elif scheme.type == "http" and scheme.scheme != "bearer":
        injected.headers.append(("Authorization", f"{scheme.scheme.title()} {credential}"))
    else:
        injected.headers.append(("Authorization", f"Bearer {credential}"))


def _wrong(scheme: SecurityScheme, wanted: str) -> ToolRequestError:
    return ToolRequestError(
        f"the credential of the scheme {scheme.key!r} has the wrong form",
        subject="credentials",
        remedy=f"Give {wanted}.",
    )
