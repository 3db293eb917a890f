"""Bearer tokens: JSON web tokens with the keys of their issuer, and static tokens, of which a file keeps the hash.

A static token is ``egotools_ID_SECRET``. The secret has 256 random bits, so one round of SHA-256 is enough: nobody can try them all.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from ontology.errors import InvalidArgumentError, NotFoundError, NotReadyError, UnauthenticatedError
from ontology.files import only_writer, write_file
from ontology.json_values import first_error
from services.server.access.tls import is_loopback
from services.server.access.watched_file import WatchedFiles, read_limited
from services.server.calls import fields

_LOG = logging.getLogger("egotools.access")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A proven identity."""

    kind: Literal["jwt", "token", "certificate"]
    name: str  # for the logs: the subject, the name of the token, the first name of the certificate
    names: tuple[
        str, ...
    ] = ()  # of a certificate, each after its kind: ``uri:``, ``dns:``, ``email:``, ``ip:``, ``cn:``
    claims: Mapping[str, Any] = field(default_factory=dict)  # of a JWT


def invalid_token(problem: str = "the token is not valid", remedy: str = "") -> UnauthenticatedError:
    """Return one error for whatever is wrong with a token, so that it says nothing to who makes tokens up."""
    remedy = remedy or "Send a token that this server's operator issued"
    return UnauthenticatedError(problem, subject="authorization", remedy=remedy)


# -- JSON web tokens ---------------------------------------------------------------------------------------------------

_ALGORITHMS = ("RS256", "ES256", "EdDSA")  # a secret shared with the issuer, or no signature, is never accepted
_LEAST_RSA_BITS = 2_048
_MAX_CHARS, _MAX_NAME_CHARS = 8_192, 200
_SUBJECTS = ("sub", "client_id", "azp")
_FETCH_S, _FIRST_KEYS_S = 5.0, 1.0  # of one request; between two while no key is known
_CLAIMS: Any = {"require": ["exp", "iss", "aud"], "verify_iat": False}
_KeyLookup: TypeAlias = Callable[[str], Awaitable["jwt.PyJWK | None"]]  # key id → the key; None where there is none


def _usable(found: jwt.PyJWKSet) -> dict[str, jwt.PyJWK]:
    """Return key id → key of a JWKS, of those that may verify tokens; an only key without an id has the id ``""``."""
    keys = {}
    for key in found.keys:
        weak = isinstance(key.key, RSAPublicKey) and key.key.key_size < _LEAST_RSA_BITS
        if not weak and key.algorithm_name in _ALGORITHMS and key.public_key_use in ("sig", None):
            keys[str(key.key_id or "")] = key
    if not keys:
        raise ValueError(f"the key set has no public key for {', '.join(_ALGORITHMS)}")
    return keys


class _KeyAddress:
    """The keys of an address, which PyJWT's client fetches on a thread. That client asks again for each unknown key id while
    the issuer is down, and callers with known keys wait meanwhile: whoever makes tokens up would hold all others. So when to
    ask is said here, and an address that does not answer leaves the keys as they are."""

    def __init__(self, address: str, refresh_s: float, max_age_s: float) -> None:
        self._client = jwt.PyJWKClient(address, cache_jwk_set=False, timeout=_FETCH_S)
        self._refresh_s, self._max_age_s = refresh_s, max_age_s
        self._keys: dict[str, jwt.PyJWK] = {}
        self._asked = -float("inf")
        self._renewal: asyncio.Task[None] | None = None

    async def find(self, key_id: str) -> jwt.PyJWK | None:
        """Return a key, after a look for new keys where it is unknown; NotReadyError while no key at all is known."""
        first_s = self._refresh_s if self._keys else min(self._refresh_s, _FIRST_KEYS_S)
        after_s = self._max_age_s if key_id in self._keys else first_s
        if time.monotonic() - self._asked > after_s and (self._renewal is None or self._renewal.done()):
            self._asked = time.monotonic()
            self._renewal = asyncio.ensure_future(self._renew())
        if key_id not in self._keys and self._renewal is not None:
            await asyncio.shield(self._renewal)  # it goes on where this call ends; known keys serve meanwhile
        if not self._keys:
            raise NotReadyError("the keys of the issuer of tokens cannot be fetched", remedy="Try again in a moment")
        return self._keys.get(key_id)

    async def _renew(self) -> None:
        try:
            self._keys = _usable(await asyncio.to_thread(self._client.get_jwk_set))
        except Exception as error:  # whatever an issuer answers, the server goes on with what it has
            said = fields(address=self._client.uri, problem=type(error).__name__, keys=len(self._keys))
            _LOG.error("the key set cannot be fetched; the known keys stay", extra=said)


def _read_keys(path: Path) -> dict[str, jwt.PyJWK]:
    try:
        return _usable(jwt.PyJWKSet.from_json(read_limited(path).decode("utf-8")))
    except (jwt.PyJWTError, AttributeError, NotImplementedError, RecursionError, TypeError) as error:
        raise ValueError(f"this is no key set: {error}") from error


def key_source(place: str, *, refresh_s: float = 30.0, max_age_s: float = 600.0) -> _KeyLookup:
    """Return the lookup of keys in a file, or at an address that begins with ``https://``; ``http://`` only on
    loopback. Between two requests for an unknown key id are ``refresh_s`` seconds; after ``max_age_s`` all are fetched
    again. Raises InvalidArgumentError when the file cannot be read, or the address is not allowed."""
    if "://" not in place:
        path = Path(place)
        file = WatchedFiles("key set", [path], lambda: _read_keys(path))

        async def find(key_id: str) -> jwt.PyJWK | None:
            return (await file.fresh()).get(key_id)

        return find
    address = urlsplit(place)
    if address.scheme != "https" and not (address.scheme == "http" and is_loopback(address.hostname or "")):
        remedy = "Give an https:// address or a file"
        raise InvalidArgumentError("the keys must come over https", subject="jwks", remedy=remedy)
    return _KeyAddress(place, refresh_s, max_age_s).find


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonWebTokens:
    """Verifies JSON web tokens of one issuer and for one audience."""

    find_key: _KeyLookup  # of :func:`key_source`
    issuer: str
    audience: str
    leeway_s: float = 30.0  # seconds by which the clocks of issuer and server may differ

    async def verify(self, token: str) -> Identity:
        """Return the identity that a token proves; UnauthenticatedError when it is not valid, or not now."""
        if len(token) > _MAX_CHARS:
            raise invalid_token()
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError):
            raise invalid_token() from None
        algorithm, key_id = header.get("alg"), header.get("kid", "")
        if algorithm not in _ALGORITHMS or not isinstance(key_id, str) or "crit" in header:
            raise invalid_token()
        key = await self.find_key(key_id)
        if key is None or key.algorithm_name != algorithm:
            raise invalid_token()
        expected: Any = {"audience": self.audience, "issuer": self.issuer, "leeway": self.leeway_s, "options": _CLAIMS}
        try:
            claims: dict[str, Any] = jwt.decode(token, key.key, algorithms=[algorithm], **expected)
        except jwt.ExpiredSignatureError:
            raise invalid_token("the token has expired", "Get a new token") from None
        except jwt.ImmatureSignatureError:
            raise invalid_token("the token is not valid yet", "Compare the clocks of issuer and server") from None
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError):
            raise invalid_token() from None
        name = next((str(claims[each]) for each in _SUBJECTS if claims.get(each)), "")
        return Identity(kind="jwt", name=name[:_MAX_NAME_CHARS], claims=claims)


# -- static tokens -----------------------------------------------------------------------------------------------------

TOKEN_PREFIX = "egotools_"
_ID_BYTES, _SECRET_BYTES = 6, 32


class StaticToken(BaseModel):
    """What the file keeps of a token: ``id``, its public part, and ``sha256``, of its secret part in hexadecimal digits."""

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
    """Verifies static tokens by a file, which is read again when it changes. Raises InvalidArgumentError when the file cannot be read."""

    def __init__(self, path: Path, *, poll_s: float = 1.0) -> None:
        self._file = WatchedFiles(
            "tokens file", [path], lambda: {each.id: each for each in list_tokens(path)}, poll_s=poll_s
        )

    async def verify(self, token: str) -> Identity:
        """Return the identity that a token proves; UnauthenticatedError when it is unknown, revoked or expired."""
        identifier, _, secret = token.removeprefix(TOKEN_PREFIX).partition("_")
        known = (await self._file.fresh()).get(identifier)
        # An unknown id takes the same time as a wrong secret.
        if not hmac.compare_digest(known.sha256 if known else _hash(""), _hash(secret)) or known is None:
            raise invalid_token()
        if known.expires is not None and known.expires <= datetime.now(UTC):
            raise invalid_token("the token has expired", "Get a new token")
        return Identity(kind="token", name=known.name)


def list_tokens(path: Path) -> tuple[StaticToken, ...]:
    """Return the tokens of a file, in the order of their making; InvalidArgumentError when it is no file of tokens."""
    try:
        return _TokensFile.model_validate_json(read_limited(path)).tokens
    except (OSError, ValueError) as error:
        problem = first_error(error, show_value=False) if isinstance(error, ValidationError) else str(error)
    remedy = "Make one with `egotools admin tokens create`"
    raise InvalidArgumentError(f"this is not a file of tokens: {problem}", subject=str(path), remedy=remedy)


def create_token(path: Path, name: str, *, days: float | None = None) -> str:
    """Add a token to a file, which is made where it is not there; return it, which is kept nowhere else. Names stand once in a file."""
    with only_writer(path.parent):
        tokens = list_tokens(path) if path.exists() else ()
        if any(each.name == name for each in tokens):
            remedy = "Revoke it first, or choose another name"
            raise InvalidArgumentError("the file has a token with this name", subject=name, remedy=remedy)
        identifier, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        now = datetime.now(UTC).replace(microsecond=0)
        expires = None if days is None else now + timedelta(days=days)
        try:
            made = StaticToken(name=name, id=identifier, sha256=_hash(secret), created=now, expires=expires)
        except ValidationError:
            problem = "a name has 1 to 200 letters, digits and . _ @ / : -"
            raise InvalidArgumentError(problem, subject="name", remedy="Choose another name") from None
        _write(path, (*tokens, made))
    return f"{TOKEN_PREFIX}{identifier}_{secret}"


def revoke_token(path: Path, name: str) -> None:
    """Remove a token from a file; servers refuse it within a second or two. NotFoundError when the file has no such token."""
    with only_writer(path.parent):
        tokens = list_tokens(path)
        kept = tuple(each for each in tokens if name not in (each.name, each.id))
        if len(kept) == len(tokens):
            raise NotFoundError("the file has no such token", subject=name, remedy="The file has the names")
        _write(path, kept)


def _write(path: Path, tokens: tuple[StaticToken, ...]) -> None:
    write_file(path, _TokensFile(tokens=tokens).model_dump_json(indent=1) + "\n")
    path.chmod(0o600)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
