"""Bearer tokens: JSON web tokens with the keys of their issuer, and static tokens, of which a file keeps the hash.

A token is ``egotools_ID_SECRET``. The secret has 256 random bits, so one round of SHA-256 is enough: nobody can try them all.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import isfinite
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from ontology.errors import InvalidArgumentError, NotFoundError, NotReadyError, UnauthenticatedError
from ontology.files import only_writer, write_file
from ontology.json_values import first_error
from services.server.access.tls import is_loopback
from services.server.access.watched_file import WatchedFiles, read_limited
from services.server.logs import fields

__all__ = [
    "TOKEN_PREFIX",
    "Identity",
    "JsonWebTokens",
    "KeySource",
    "StaticTokens",
    "SteadyClock",
    "create_token",
    "key_source",
    "list_tokens",
    "revoke_token",
]


class SteadyClock:
    """Two readings of the time, in seconds since 1970.

    The time of day is compared with the time that has passed since the start. When the clock was set back, an expired token stays
    expired; when it was set forward, a token of the future is not valid yet. Both end when the clock is right again.

    :param wall: the clock of the system.
    :param passed: seconds that never go back.
    """

    def __init__(self, wall: Callable[[], float] = time.time, passed: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._passed = passed
        self._start = wall() - passed()

    def latest(self) -> float:
        """The latest time that it may be: what expired by then has expired."""
        return max(self._wall(), self._start + self._passed())

    def earliest(self) -> float:
        """The earliest time that it may be: what begins later has not begun."""
        return min(self._wall(), self._start + self._passed())


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A proven identity.

    :param kind: ``jwt``, ``token`` (a static one) or ``certificate``.
    :param name: for the logs: the subject, the name of the token, the first name of the certificate.
    :param names: all names of a certificate, each after its kind: ``uri:``, ``dns:``, ``email:``, ``ip:``, ``cn:`` (its common name).
    :param claims: of a JWT.
    """

    kind: Literal["jwt", "token", "certificate"]
    name: str
    names: tuple[str, ...] = ()
    claims: Mapping[str, Any] = field(default_factory=dict)


ALGORITHMS = ("RS256", "ES256", "EdDSA")
"""Signatures with a public key. A secret shared with the issuer, or no signature, is never accepted."""
_LOG = logging.getLogger("egotools.access")
_MAX_BYTES = 1024 * 1024
_MAX_KEYS = 256
_LEAST_RSA_BITS = 2_048
_TIMEOUT_S = 5.0
_FIRST_KEYS_S = 1.0  # between two requests while no key is known
KeySet = Mapping[str, jwt.PyJWK]
"""Key id → key; an only key without an id has the id ``""``."""


class KeySource(Protocol):
    """Where keys come from."""

    async def find(self, key_id: str) -> jwt.PyJWK | None:
        """Return the key with this id, after a look for new keys where it is unknown; None where there is none.

        :raises NotReadyError: while no key at all is known.
        """


def key_source(place: str, *, refresh_s: float = 30.0, max_age_s: float = 600.0) -> KeySource:
    """Return the keys of a file or of an address.

    :param place: a path, or an address that begins with ``https://``; ``http://`` only on loopback.
    :param refresh_s: seconds between two requests for an unknown key id.
    :param max_age_s: seconds after which the keys of an address are fetched again.
    :raises InvalidArgumentError: when the file cannot be read, or the address is not allowed.
    """
    if "://" not in place:
        return _KeyFile(Path(place))
    address = urlsplit(place)
    if address.scheme != "https" and not (address.scheme == "http" and is_loopback(address.hostname or "")):
        raise InvalidArgumentError(
            "the keys must come over https", subject="jwks", remedy="Give an https:// address or a file"
        )
    return _KeyAddress(place, refresh_s=refresh_s, max_age_s=max_age_s)


def parse_keys(content: bytes) -> KeySet:
    """Return the keys of a JWKS that may verify tokens; others are left out.

    :raises ValueError: when it is no key set, has more than 256 keys, or none of use.
    """
    try:
        document = json.loads(content)
    except RecursionError:
        raise ValueError("the key set is nested too deeply") from None
    rows = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(rows, list) or len(rows) > _MAX_KEYS:
        raise ValueError(f"a key set is an object with a list of at most {_MAX_KEYS} keys")
    found = {key.key_id or "": key for key in map(_public_key, rows) if key is not None}
    if not found:
        raise ValueError(f"the key set has no public key for {', '.join(ALGORITHMS)}")
    return found


def _public_key(row: Any) -> jwt.PyJWK | None:
    if not isinstance(row, dict) or row.get("use", "sig") != "sig" or "d" in row:
        return None
    if not all(isinstance(row.get(name, ""), str) for name in ("alg", "kid")):
        return None
    try:
        key = jwt.PyJWK(row)
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    weak = isinstance(key.key, RSAPublicKey) and key.key.key_size < _LEAST_RSA_BITS
    return None if weak or key.algorithm_name not in ALGORITHMS else key


class _KeyFile:
    def __init__(self, path: Path) -> None:
        self._file = WatchedFiles("key set", [path], lambda: parse_keys(read_limited(path, _MAX_BYTES)))

    async def find(self, key_id: str) -> jwt.PyJWK | None:
        return (await self._file.fresh()).get(key_id)


class _KeyAddress:
    """The keys of an address. An address that does not answer leaves the keys as they are."""

    def __init__(
        self, address: str, *, refresh_s: float, max_age_s: float, passed: Callable[[], float] = time.monotonic
    ) -> None:
        self._address = address
        self._refresh_s = refresh_s
        self._max_age_s = max_age_s
        self._passed = passed
        self._keys: KeySet = {}
        self._asked = -float("inf")
        self._renewal: asyncio.Task[None] | None = None

    async def find(self, key_id: str) -> jwt.PyJWK | None:
        age_s = self._passed() - self._asked
        if key_id not in self._keys:
            after_s = self._refresh_s if self._keys else min(self._refresh_s, _FIRST_KEYS_S)
            if age_s > after_s or self._is_renewing:
                # It goes on where this call ends early: whoever sends tokens and leaves cannot keep the keys from coming.
                await asyncio.shield(self._renewed())
        elif age_s > self._max_age_s:
            self._renewed()  # the known keys serve meanwhile
        if not self._keys:
            raise NotReadyError("the keys of the issuer of tokens cannot be fetched", remedy="Try again in a moment")
        return self._keys.get(key_id)

    @property
    def _is_renewing(self) -> bool:
        return self._renewal is not None and not self._renewal.done()

    def _renewed(self) -> asyncio.Task[None]:
        """Return the request for keys that runs, or begin one."""
        if self._renewal is None or self._renewal.done():
            self._asked = self._passed()
            self._renewal = asyncio.ensure_future(self._renew())
        return self._renewal

    async def _renew(self) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                self._keys = parse_keys(await _fetched(self._address))
        except (httpx.HTTPError, TimeoutError, ValueError) as error:
            _LOG.error(
                "the key set cannot be fetched; the known keys stay",
                extra=fields(address=self._address, problem=type(error).__name__, keys=len(self._keys)),
            )


async def _fetched(address: str) -> bytes:
    content = bytearray()
    async with (
        httpx.AsyncClient(timeout=_TIMEOUT_S, trust_env=False) as client,
        client.stream("GET", address, headers={"accept": "application/json", "accept-encoding": "identity"}) as reply,
    ):
        reply.raise_for_status()
        if reply.headers.get("content-encoding", "identity") != "identity":  # a few bytes may unpack to gigabytes
            raise ValueError("the key set is compressed")
        async for part in reply.aiter_raw():
            content += part
            if len(content) > _MAX_BYTES:
                raise ValueError(f"the key set has more than {_MAX_BYTES:,} bytes")
    return bytes(content)


_MAX_CHARS = 8_192
_MAX_NAME_CHARS = 200
_SUBJECTS = ("sub", "client_id", "azp")


class JsonWebTokens:
    """Verifies JSON web tokens.

    :param keys: of the issuer.
    :param leeway_s: seconds by which the clocks of issuer and server may differ.
    """

    def __init__(
        self, keys: KeySource, *, issuer: str, audience: str, leeway_s: float, clock: SteadyClock | None = None
    ) -> None:
        self._keys = keys
        self._issuer = issuer
        self._audience = audience
        self._leeway_s = leeway_s
        self._clock = clock or SteadyClock()

    async def verify(self, token: str) -> Identity:
        """Return the identity that a token proves.

        :raises UnauthenticatedError: when it is not valid, or not now.
        """
        if len(token) > _MAX_CHARS:
            raise _invalid()
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError):
            raise _invalid() from None
        algorithm, key_id = header.get("alg"), header.get("kid", "")
        if algorithm not in ALGORITHMS or not isinstance(key_id, str) or "crit" in header:
            raise _invalid()
        key = await self._keys.find(key_id)
        if key is None or key.algorithm_name != algorithm:
            raise _invalid()
        claims = self._claims(token, key, algorithm)
        self._check_time(claims)
        name = next((str(claims[each]) for each in _SUBJECTS if claims.get(each)), "")
        return Identity(kind="jwt", name=name[:_MAX_NAME_CHARS], claims=claims)

    def _claims(self, token: str, key: jwt.PyJWK, algorithm: str) -> dict[str, Any]:
        # Its times are checked here, by a clock that does not jump.
        options: Any = {"require": ["exp", "iss", "aud"], "verify_exp": False, "verify_nbf": False, "verify_iat": False}
        try:
            return jwt.decode(
                token,
                key.key,
                algorithms=[algorithm],
                audience=self._audience,
                issuer=self._issuer,
                options=options,
            )
        except (jwt.PyJWTError, ValueError, TypeError):
            raise _invalid() from None

    def _check_time(self, claims: dict[str, Any]) -> None:
        expires, begins = claims["exp"], claims.get("nbf", 0)
        numbers = (expires, begins)
        if not all(isinstance(each, int | float) and not isinstance(each, bool) and isfinite(each) for each in numbers):
            raise _invalid()
        if not expires + self._leeway_s > self._clock.latest():  # NaN fails this comparison
            raise UnauthenticatedError("the token has expired", subject="authorization", remedy="Get a new token")
        if not begins - self._leeway_s <= self._clock.earliest():
            raise UnauthenticatedError(
                "the token is not valid yet", subject="authorization", remedy="Compare the clocks of issuer and server"
            )


def _invalid() -> UnauthenticatedError:
    """One error for whatever is wrong with a token, so that it says nothing to who makes tokens up."""
    return UnauthenticatedError(
        "the token is not valid", subject="authorization", remedy="Send a token that this server's operator issued"
    )


TOKEN_PREFIX = "egotools_"
_ID_BYTES, _SECRET_BYTES = 6, 32
_NO_HASH = hashlib.sha256(b"").hexdigest()


class StaticToken(BaseModel):
    """What the file keeps of a token.

    :param id: its public part.
    :param sha256: of its secret part, in hexadecimal digits.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=200, pattern=r"^[\w.@/:-]+$")
    id: str = Field(pattern=r"^[0-9a-f]{12}$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    created: AwareDatetime
    expires: AwareDatetime | None = None


class _TokensFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    tokens: tuple[StaticToken, ...] = ()


class StaticTokens:
    """Verifies static tokens by a file, which is read again when it changes.

    :raises InvalidArgumentError: when the file cannot be read.
    """

    def __init__(self, path: Path, *, clock: SteadyClock | None = None, poll_s: float = 1.0) -> None:
        self._file = WatchedFiles("tokens file", [path], lambda: _by_id(list_tokens(path)), poll_s=poll_s)
        self._clock = clock or SteadyClock()

    async def verify(self, token: str) -> Identity:
        """Return the identity that a token proves.

        :raises UnauthenticatedError: when it is unknown, revoked or expired.
        """
        identifier, _, secret = token.removeprefix(TOKEN_PREFIX).partition("_")
        known = (await self._file.fresh()).get(identifier)
        # An unknown id takes the same time as a wrong secret.
        fits = hmac.compare_digest(known.sha256 if known else _NO_HASH, _hash(secret))
        if known is None or not fits:
            raise UnauthenticatedError(
                "the token is not valid",
                subject="authorization",
                remedy="Send a token that this server's operator issued",
            )
        if known.expires is not None and known.expires.timestamp() <= self._clock.latest():
            raise UnauthenticatedError("the token has expired", subject="authorization", remedy="Get a new token")
        return Identity(kind="token", name=known.name)


def list_tokens(path: Path) -> tuple[StaticToken, ...]:
    """Return the tokens of a file, in the order of their making.

    :raises InvalidArgumentError: when it is no file of tokens.
    """
    try:
        return _TokensFile.model_validate_json(read_limited(path)).tokens
    except (OSError, ValidationError, ValueError) as error:
        problem = first_error(error, show_value=False) if isinstance(error, ValidationError) else str(error)
        raise InvalidArgumentError(
            f"this is not a file of tokens: {problem}",
            subject=str(path),
            remedy="Make one with `egotools admin tokens create`",
        ) from None


def create_token(path: Path, name: str, *, days: float | None = None) -> str:
    """Add a token to a file, which is made where it is not there; return the token, which is kept nowhere else.

    :param days: until it expires; None: never.
    :raises InvalidArgumentError: when the file has a token with this name, or the name is not allowed.
    """
    with only_writer(path.parent):
        tokens = list_tokens(path) if path.exists() else ()
        if any(each.name == name for each in tokens):
            raise InvalidArgumentError(
                "the file has a token with this name", subject=name, remedy="Revoke it first, or choose another name"
            )
        identifier, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        now = datetime.now(UTC).replace(microsecond=0)
        try:
            made = StaticToken(
                name=name,
                id=identifier,
                sha256=_hash(secret),
                created=now,
                expires=None if days is None else now + timedelta(days=days),
            )
        except ValidationError:
            raise InvalidArgumentError(
                "a name has 1 to 200 letters, digits and . _ @ / : -", subject="name", remedy="Choose another name"
            ) from None
        _write(path, (*tokens, made))
    return f"{TOKEN_PREFIX}{identifier}_{secret}"


def revoke_token(path: Path, name: str) -> None:
    """Remove a token from a file; servers refuse it within a second or two.

    :param name: its name or its id.
    :raises NotFoundError: when the file has no such token.
    """
    with only_writer(path.parent):
        tokens = list_tokens(path)
        kept = tuple(each for each in tokens if name not in (each.name, each.id))
        if len(kept) == len(tokens):
            raise NotFoundError("the file has no such token", subject=name, remedy="See `egotools admin tokens list`")
        _write(path, kept)


def _write(path: Path, tokens: tuple[StaticToken, ...]) -> None:
    write_file(path, _TokensFile(tokens=tokens).model_dump_json(indent=1) + "\n")
    path.chmod(0o600)


def _by_id(tokens: tuple[StaticToken, ...]) -> dict[str, StaticToken]:
    return {each.id: each for each in tokens}


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
