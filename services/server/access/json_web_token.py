"""Bearer tokens that are JSON web tokens (JWT): signature, issuer, audience and time are verified."""

from __future__ import annotations

from math import isfinite
from typing import Any

import jwt

from ontology.errors import UnauthenticatedError
from services.server.access.identity import Identity
from services.server.access.json_web_keys import ALGORITHMS, KeySource
from services.server.access.steady_clock import SteadyClock

__all__ = ["JsonWebTokens"]

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
