"""The public keys that JSON web tokens are verified with: a key set (JWKS) in a file or behind an address."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from ontology.errors import InvalidArgumentError, NotReadyError
from services.server.access.loopback import is_loopback
from services.server.access.watched_file import WatchedFiles, read_limited
from services.server.logs import fields

__all__ = ["ALGORITHMS", "KeySet", "KeySource", "key_source"]

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
