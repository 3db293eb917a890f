"""Credentials in a request: where each goes, and which of the alternatives of a call is taken."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from egotools.call import Call, Security, SecurityScheme
from egotools.client_errors import ToolRequestError

# What belongs to the connection or to the client: with one of them a document could send the request to another service.
_CLIENT_HEADERS = frozenset(
    "accept-encoding connection content-length expect forwarded host keep-alive proxy-authorization proxy-connection te trailer"
    " transfer-encoding upgrade via x-forwarded-for x-forwarded-host x-forwarded-proto".split()
)
_NAME = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def is_settable(name: str) -> bool:
    """Whether a name is one of a header, and not of one that belongs to the connection or to the client."""
    return bool(name) and set(name) <= _NAME and name.lower() not in _CLIENT_HEADERS


Credential: TypeAlias = str | tuple[str, str]
"""An API key, a token, or user and password."""

_NOT_PRINTABLE = re.compile(r"[^\x20-\x7e]")
_KNOWN = ("apiKey", "http", "oauth2", "openIdConnect", "mutualTLS")


@dataclass(slots=True)
class Injected:
    """What credentials add to a request; its values are in no ``repr``."""

    headers: list[tuple[str, str]]
    query: list[tuple[str, str]]
    cookies: list[tuple[str, str]]

    def __repr__(self) -> str:
        return f"Injected({len(self.headers)} headers, {len(self.query)} query fields, {len(self.cookies)} cookies)"


def inject_credentials(
    security: Sequence[Security], credentials: Mapping[str, Credential], *, server: str = ""
) -> Injected:
    """Return what the first alternative that the credentials satisfy adds to a request.

    :param security: the alternatives of a call; none where the document says nothing, and then nothing is added.
    :param credentials: map from scheme key to credential; keys that the call does not name are not used.
    :param server: the base URL that the caller gave: a key that names another host (``KEY@HOST``) then stands for ``KEY`` too.
    :raises ToolRequestError: when no alternative is satisfied, and for a credential of the wrong form.
    """
    injected = Injected([], [], [])
    if not security:
        return injected
    if server:
        keys = {scheme.key for each in security for scheme in each.schemes}
        plain = {key: key.partition("@")[0] for key in keys}
        credentials = {**{key: credentials[plain[key]] for key in keys if plain[key] in credentials}, **credentials}
    for alternative in security:
        if all(scheme.key in credentials and scheme.type in _KNOWN for scheme in alternative.schemes):
            for scheme in alternative.schemes:
                _inject(scheme, credentials[scheme.key], injected)
            return injected

    def described(scheme: SecurityScheme) -> str:
        what = scheme.scheme if scheme.type == "http" else scheme.type
        where = f" in the {scheme.location} {scheme.name}" if scheme.name else ""
        scopes = f", scopes {' '.join(scheme.scopes)}" if scheme.scopes else ""
        unsupported = "" if scheme.type in _KNOWN else "; egotools does not put this type into a request"
        return f"{scheme.key!r} ({what or 'of no known type'}{where}{scopes}{unsupported})"

    choices = " or ".join(dict.fromkeys(" with ".join(map(described, each.schemes)) for each in security))
    raise ToolRequestError(
        f"the call needs a credential: {choices}",
        "credentials",
        "Give the credentials of one alternative, each by the key of its scheme.",
    )


def _inject(scheme: SecurityScheme, credential: Credential, injected: Injected) -> None:
    wrong = f"the credential of the scheme {scheme.key!r} has the wrong form"
    if scheme.type == "mutualTLS":  # of the connection, not of the request
        return
    if scheme.type == "http" and scheme.scheme == "basic":
        pair = tuple(credential.split(":", 1)) if isinstance(credential, str) else credential
        if len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise ToolRequestError(wrong, "credentials", "Give user and password, as a pair or as user:password.")
        encoded = base64.b64encode(":".join(pair).encode("utf-8", "replace")).decode("ascii")
        injected.headers.append(("Authorization", f"Basic {encoded}"))
        return
    if not isinstance(credential, str) or not credential or _NOT_PRINTABLE.search(credential):
        raise ToolRequestError(wrong, "credentials", "Give one line of printable ASCII.")
    if scheme.type == "apiKey":
        places = {"query": injected.query, "cookie": injected.cookies}
        if scheme.location not in places and not is_settable(scheme.name):
            problem = (
                f"the document wants the credential in the header {scheme.name!r}, which is not the caller's to set"
            )
            raise ToolRequestError(problem, "credentials", "Correct the document.")
        places.get(scheme.location, injected.headers).append((scheme.name, credential))
    else:
        word = "Bearer" if scheme.type != "http" or scheme.scheme == "bearer" else scheme.scheme.title()
        injected.headers.append(("Authorization", f"{word} {credential}"))


def bound_credentials(
    call: Call, credentials: Mapping[str, Credential], *, namespace: str, server: str
) -> dict[str, Credential]:
    """Return the credentials that a tool's request may carry, by the keys of its document.

    A document names the server to which its requests go. So a credential goes to the base URL that the caller gave, or, with the
    namespace of the document in its name, to the server of most tools of that namespace. Where a tool has another server, the build has
    written ``KEY@HOST`` for the keys of its schemes: that needs a credential that names the host too, and so does a key with a dot, which
    could be a namespace and a key of another document.

    :param credentials: by ``KEY``, or by ``NAMESPACE.KEY`` for the tools of one namespace; either with ``@HOST`` (``api.example:8443``),
        and then for no other host.
    :param server: the base URL that the caller gave; empty where the document's own is taken.
    :raises ToolRequestError: when only a credential without a namespace, or without this host, would do.
    """
    host = host_of(server or next(iter(call.servers), ""))
    split = [(*key.partition("@"), each) for key, each in credentials.items()]
    given = {name: each for name, at, _, each in split if not at}  # that name no host
    pinned = {name: each for name, at, named, each in split if at and named.lower() == host}
    start = f"{namespace}."
    bound: dict[str, Credential] = {}
    unsent = ""
    alternatives = [[scheme.key for scheme in each.schemes] for each in call.security]
    for key in dict.fromkeys(key for keys in alternatives for key in keys):
        plain, foreign, _ = key.partition("@")
        own, dotted = start + plain, "." in plain  # "hr" and "pay.token" would read as "hr.pay" and "token"
        if own in pinned or (own in given and not dotted and (server or not foreign)):
            bound[key] = pinned.get(own, given.get(own, ""))
        elif server and plain in {**given, **pinned} and not dotted:
            bound[key] = pinned.get(plain, given.get(plain, ""))
        elif own in given or (plain in given and not dotted):
            unsent = unsent or (f"{own}@{host}" if foreign or dotted else own)
    if unsent and not any(set(keys) <= bound.keys() for keys in alternatives):
        named, foreign, _ = unsent.partition("@")
        why = f" here: most tools of {namespace} have another, or the name of its key has a dot" if foreign else ""
        raise ToolRequestError(
            f"the credential {named.removeprefix(start)!r} is not sent to the server that the document names{why}",
            "credentials",
            f"Give the base URL (--base-url), or name it {unsent}, which trusts the document with it.",
        )
    return bound


def host_of(url: str) -> str:
    """Return host and port of an address, in lower case, as credentials name them; empty where it has none."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2].lower()
    except ValueError:
        return ""
