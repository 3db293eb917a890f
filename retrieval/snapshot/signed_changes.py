"""Signatures of changes: where keys are trusted, a log is taken only as one of these keys wrote it.

A signed record ends with the field ``signature``: 128 hex digits, Ed25519 over the id of the snapshot, the signature of the
record before, and the change. So a record of another log, or one that was altered, put in, moved or removed from between two others,
does not fit. That the last records were cut off cannot be seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ontology.errors import PermissionDeniedError, SnapshotSignatureError
from retrieval.snapshot.signing import SIGNING_KEY, TRUSTED_KEYS, key_id, load_signing_key, load_trusted_keys

__all__ = ["check_may_change", "check_signed", "signed", "unsigned"]

_DOMAIN = b"egotools change v1\n"
_SIGNED = re.compile(rb'(\{.*),"signature":"([0-9a-f]{128})"\}', re.DOTALL)


def unsigned(content: bytes) -> bytes:
    """Return the content of a record without its signature."""
    found = _SIGNED.fullmatch(content)
    return found[1] + b"}" if found else content


def signed(base_id: str, before: Sequence[bytes], contents: Sequence[bytes]) -> list[bytes]:
    """Return the contents of records as they are written: with signatures of the key of ``EGOTOOLS_SIGNING_KEY``, if there is one.

    :param before: the records of the log so far.
    :raises PermissionDeniedError: as :func:`check_may_change`.
    """
    check_may_change()
    key = load_signing_key()
    if key is None:
        return [unsigned(content) for content in contents]
    last, written = _signature(before[-1]) if before else "", []
    for change in map(unsigned, contents):
        last = key.sign(_message(base_id, last, change)).hex()
        written.append(change[:-1] + f',"signature":"{last}"}}'.encode())
    return written


def check_may_change() -> None:
    """Check that changes made here will be taken where keys are trusted.

    :raises PermissionDeniedError: when keys are trusted and none of them signs here.
    """
    trusted = load_trusted_keys()
    if trusted is None:
        return
    key = load_signing_key()
    if key is None or key_id(key.public_key()) not in trusted:
        problem = "has no key to sign changes with" if key is None else "signs with a key that is not trusted"
        raise PermissionDeniedError(
            f"only what trusted keys signed is served, and this process {problem}",
            subject=SIGNING_KEY,
            remedy=f"Set {SIGNING_KEY} to a key whose public key is in {TRUSTED_KEYS}, or publish a signed build",
        )


def check_signed(path: Path, base_id: str, contents: Sequence[bytes]) -> None:
    """Check the records of a log, where keys are trusted.

    :param path: of the log, for the error.
    :raises SnapshotSignatureError: when one is not signed by a trusted key, or not for this place.
    """
    trusted = load_trusted_keys()
    if trusted is None:
        return
    from cryptography.exceptions import InvalidSignature

    last = ""
    for number, content in enumerate(contents, start=1):
        signature, message = _signature(content), _message(base_id, last, unsigned(content))
        for key in trusted.values() if signature else ():
            try:
                key.verify(bytes.fromhex(signature), message)
                break
            except InvalidSignature:
                continue
        else:
            problem = "is not signed by a trusted key for this place" if signature else "is not signed"
            raise SnapshotSignatureError(
                f"change {number} {problem}",
                subject=str(path),
                remedy="Move the file away to serve the snapshot without its changes",
            )
        last = signature


def _signature(content: bytes) -> str:
    found = _SIGNED.fullmatch(content)
    return found[2].decode() if found else ""


def _message(base_id: str, last: str, change: bytes) -> bytes:
    return _DOMAIN + f"{base_id}\n{last}\n".encode() + change
