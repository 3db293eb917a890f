"""Request ids: signed, so that any replica of a catalogue can check one, also after a restart, and none has to remember them.

An id is random, with the time and a tag of the request's text, and a signature with a secret of the store that also covers the
tenant. Who has no secret can neither make one nor read from it which tenant it belongs to, nor test a guess of the text.
"""

from __future__ import annotations

import base64
import hmac
import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ontology.errors import InvalidArgumentError, StorageError
from ontology.files import disk_errors, flush_to_disk, open_regular

MAX_AGE_S = 7 * 86_400
"""Seconds for which an outcome of a request can be reported."""
_SECRET, _SECRET_BYTES = "secret", 32
_NONCE, _TIME, _TAG, _SIGNATURE = 8, 4, 8, 16
_BODY = _NONCE + _TIME + _TAG
_CLOCKS_S = 300  # by which the clocks of replicas may differ


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedId:
    """What a request id says."""

    key: str  # unique, hexadecimal
    time: int  # when it was given, seconds since 1970


class RequestIds:
    """Gives and checks the ids of one catalogue, with the secret of its store, 32 random bytes. Thread-safe."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def issue(self, tenant: str, query: str) -> str:
        """A new id, 48 characters of base64url."""
        nonce = secrets.token_bytes(_NONCE)
        body = nonce + int(time.time()).to_bytes(_TIME, "big") + self._tag(nonce, query)
        signed = body + self._mac("id", body, tenant.encode())[:_SIGNATURE]
        return base64.urlsafe_b64encode(signed).decode()

    def read(self, request_id: str, tenant: str, query: str = "", *, now: float | None = None) -> IssuedId:
        """What an id says.

        :param query: the text that it was given for; empty where it is not known.
        :param now: seconds since 1970; None: the time of the clock.
        :raises InvalidArgumentError: for an id of another catalogue or tenant, one that is too old, and for another text.
        """
        signed = b""
        with suppress(ValueError):  # also of base64, and for letters that are not ASCII
            signed = base64.b64decode(request_id, altchars=b"-_", validate=True)
        body, signature = signed[:_BODY], signed[_BODY:]
        expected = self._mac("id", body, tenant.encode())[:_SIGNATURE]
        if len(signed) != _BODY + _SIGNATURE or not hmac.compare_digest(signature, expected):
            remedy = "Send request_id of a response of this catalogue unchanged"
            raise InvalidArgumentError("this catalogue gave no such id", subject="request_id", remedy=remedy)
        nonce, stamp = body[:_NONCE], int.from_bytes(body[_NONCE : _NONCE + _TIME], "big")
        if not -_CLOCKS_S <= (time.time() if now is None else now) - stamp <= MAX_AGE_S:
            problem = f"the request was not answered within the last {MAX_AGE_S // 86_400} days"
            raise InvalidArgumentError(problem, subject="request_id", remedy="Report outcomes when the task ends")
        if query and not hmac.compare_digest(body[-_TAG:], self._tag(nonce, query)):
            problem, remedy = "the id was given for another text", "Send the text of the request unchanged"
            raise InvalidArgumentError(problem, subject="query", remedy=remedy)
        return IssuedId(key=nonce.hex() + f"{stamp:08x}", time=stamp)

    def reporter(self, name: str) -> str:
        """The pseudonym of a reporter: the same for the same name, and not to be turned back without the secret."""
        return self._mac("reporter", name.encode(), b"")[:8].hex()

    def _tag(self, nonce: bytes, query: str) -> bytes:
        return self._mac("query", nonce, query.encode("utf-8", "backslashreplace"))[:_TAG]

    def _mac(self, purpose: str, first: bytes, second: bytes) -> bytes:
        text = purpose.encode() + b"\0" + len(first).to_bytes(4, "big") + first + second
        return hmac.digest(self._secret, text, "sha256")


def open_secret(folder: Path) -> bytes:
    """The secret of a folder of outcomes, 32 bytes; made by who asks first, readable by its user alone.

    :raises StorageError: when it cannot be read or made, or has another size.
    """
    path = folder / _SECRET
    with disk_errors(path, remedy="Let the server write to the folder of outcomes, or set EGOTOOLS_OUTCOMES_MIB=0"):
        folder.mkdir(exist_ok=True, mode=0o700)  # a store that is not there is not made
        if not path.exists():
            temporary = folder / f".{_SECRET}.{os.getpid()}.{secrets.token_hex(4)}"
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                os.write(descriptor, secrets.token_bytes(_SECRET_BYTES))
                os.fsync(descriptor)
                with suppress(FileExistsError):  # another replica was first
                    os.link(temporary, path)
            finally:
                os.close(descriptor)
                temporary.unlink(missing_ok=True)
            flush_to_disk(folder)
        with open(open_regular(path, _SECRET), "rb") as file:
            secret = file.read(_SECRET_BYTES + 1)
    if len(secret) != _SECRET_BYTES:
        problem, remedy = (
            f"the secret has {len(secret)} bytes, not 32",
            "Remove the file; ids given before are then refused",
        )
        raise StorageError(problem, subject=str(path), remedy=remedy)
    return secret
