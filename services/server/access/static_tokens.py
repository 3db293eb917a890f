"""Static bearer tokens: random keys with a name, of which a file keeps the hash. ``egotools tokens`` makes and revokes them.

A token is ``egotools_ID_SECRET``. The secret has 256 random bits, so one round of SHA-256 is enough: nobody can try them all.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from ontology.errors import InvalidArgumentError, NotFoundError, UnauthenticatedError
from ontology.files import only_writer, write_file
from ontology.first_error import first_error
from services.server.access.identity import Identity
from services.server.access.steady_clock import SteadyClock
from services.server.access.watched_file import WatchedFiles, read_limited

__all__ = ["TOKEN_PREFIX", "StaticToken", "StaticTokens", "create_token", "list_tokens", "revoke_token"]

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
            remedy="Make one with `egotools tokens create`",
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
            raise NotFoundError("the file has no such token", subject=name, remedy="See `egotools tokens list`")
        _write(path, kept)


def _write(path: Path, tokens: tuple[StaticToken, ...]) -> None:
    write_file(path, _TokensFile(tokens=tokens).model_dump_json(indent=1) + "\n")
    path.chmod(0o600)


def _by_id(tokens: tuple[StaticToken, ...]) -> dict[str, StaticToken]:
    return {each.id: each for each in tokens}


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
