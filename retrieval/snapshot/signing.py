"""Signed manifests: an Ed25519 signature of a snapshot's ``manifest.json``, which has the hash of every other file.

A signature is a file beside the manifest, ``manifest.<key id>.sig``: base64 of the 64 bytes, one line. It is no part of the
snapshot's id, and a snapshot may have signatures of several keys, so that keys can be exchanged one after another. A key id is
the first 16 hex digits of the SHA-256 of the public key.

The signing key is a file that ``EGOTOOLS_SIGNING_KEY`` names; the keys that are trusted are files that ``EGOTOOLS_TRUSTED_KEYS``
names, separated by ``:``. Where it is set, nothing is loaded that none of these keys has signed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ontology.errors import InvalidArgumentError, SnapshotSignatureError, StorageError
from ontology.files import flush_to_disk, replacing

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = [
    "SIGNING_KEY",
    "TRUSTED_KEYS",
    "TrustedKeys",
    "check_signature",
    "create_key",
    "is_signature",
    "is_unfinished_signature",
    "key_id",
    "load_signing_key",
    "load_trusted_keys",
    "sign_snapshot",
    "signing_key_file",
]

SIGNING_KEY, TRUSTED_KEYS = "EGOTOOLS_SIGNING_KEY", "EGOTOOLS_TRUSTED_KEYS"
TrustedKeys = Mapping[str, "Ed25519PublicKey"]
"""Key id → public key."""
_DOMAIN = b"egotools snapshot manifest v1\n"
_NAME = re.compile(r"manifest\.[0-9a-f]{16}\.sig")
_UNFINISHED = re.compile(r"\.manifest\.[0-9a-f]{16}\.sig\.[0-9]+")  # as ontology.files.replacing names it
_PEM = re.compile(rb"-----BEGIN [A-Z ]+-----.*?-----END [A-Z ]+-----", re.DOTALL)
_MAX_KEY_FILE = 64 * 1024
_CREATE = "Create a key with: egotools admin keys create FILE"


def is_signature(name: str) -> bool:
    """Whether a file of a snapshot is one of its signatures."""
    return _NAME.fullmatch(name) is not None


def is_unfinished_signature(name: str) -> bool:
    """Whether a file of a snapshot is a signature that is being written, or that a killed process did not finish."""
    return _UNFINISHED.fullmatch(name) is not None


def key_id(key: Ed25519PublicKey) -> str:
    """Return the id of a public key, 16 hex digits."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def create_key(path: Path) -> tuple[Path, str]:
    """Write a new private key, which only its owner may read, and its public key as ``PATH.pub``; return that and the key id.

    :raises StorageError: when one of the files exists, or cannot be written.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    public = path.with_name(f"{path.name}.pub")
    _write_new(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), mode=0o600)
    text = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    _write_new(public, text, mode=0o644)
    return public, key_id(key.public_key())


def _write_new(path: Path, content: bytes, *, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
    except FileExistsError as error:
        raise StorageError(
            "there is a file of this name already", subject=str(path), remedy="Choose another name for the new key"
        ) from error
    except OSError as error:
        raise StorageError(f"cannot be written: {error.strerror or error}", subject=str(path)) from error


def load_signing_key(path: Path | None = None) -> Ed25519PrivateKey | None:
    """Return the private key of a file; None where none is named.

    :param path: the file; None for that of ``EGOTOOLS_SIGNING_KEY``.
    :raises InvalidArgumentError: when it cannot be read, or is no private Ed25519 key without a password.
    """
    file = path or signing_key_file()
    if file is None:
        return None
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(_content(file), password=None)
    except (ValueError, TypeError) as error:  # never with the text of the file
        raise _no_key(file, "a private key") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key(file, "a private Ed25519 key")
    return key


def signing_key_file() -> Path | None:
    """Return the file that ``EGOTOOLS_SIGNING_KEY`` names; None without one."""
    name = os.environ.get(SIGNING_KEY, "").strip()
    return Path(name) if name else None


def load_trusted_keys(paths: Sequence[Path] | None = None) -> TrustedKeys | None:
    """Return the public keys of PEM files, each with one or more; None where none is named: every snapshot is trusted then.

    :param paths: the files; None for those of ``EGOTOOLS_TRUSTED_KEYS``, separated by ``:``.
    :raises InvalidArgumentError: when a file cannot be read, or has no public Ed25519 key.
    """
    if paths is None:
        names = os.environ.get(TRUSTED_KEYS, "").strip()
        if not names:
            return None
        paths = [Path(name) for name in names.split(os.pathsep) if name.strip()]
    return {key_id(key): key for path in paths for key in _public_keys(path)}


def _public_keys(path: Path) -> list[Ed25519PublicKey]:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    found: list[Ed25519PublicKey] = []
    for pem in _PEM.findall(_content(path)):
        try:
            key = load_pem_public_key(pem)
        except ValueError as error:
            raise _no_key(path, "a public key") from error
        if not isinstance(key, Ed25519PublicKey):
            raise _no_key(path, "a public Ed25519 key")
        found.append(key)
    if not found:
        raise _no_key(path, "a public key")
    return found


def _content(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_KEY_FILE)
    except OSError as error:
        raise InvalidArgumentError(
            f"the key cannot be read: {error.strerror or error}", subject=str(path), remedy=_CREATE
        ) from error


def _no_key(path: Path, what: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"the file is not {what} in PEM form", subject=str(path), remedy=_CREATE)


def sign_snapshot(folder: Path, key: Ed25519PrivateKey) -> None:
    """Write the signature of a snapshot's manifest beside it; one of the same key is replaced.

    :raises OSError: when the disk fails.
    """
    signature = key.sign(_DOMAIN + (folder / "manifest.json").read_bytes())
    line = base64.b64encode(signature) + b"\n"
    path = folder / f"manifest.{key_id(key.public_key())}.sig"
    if path.is_file() and path.read_bytes() == line:
        return
    with replacing(path) as temporary:
        temporary.write_bytes(line)
    flush_to_disk(folder)


def check_signature(folder: Path, manifest: bytes, trusted: TrustedKeys) -> None:
    """Check that a trusted key signed a manifest.

    :param manifest: the bytes of ``manifest.json`` that are used.
    :raises SnapshotSignatureError: when there is no signature, none of a trusted key, or one that does not fit.
    """
    from cryptography.exceptions import InvalidSignature

    path = folder / "manifest.json"
    try:
        signers = sorted(name.split(".")[1] for name in os.listdir(folder) if is_signature(name))
    except OSError as error:
        raise SnapshotSignatureError(f"the signature cannot be read: {error.strerror}", subject=str(path)) from error
    remedy = f"Sign it by publishing with {SIGNING_KEY}, or add the public key to {TRUSTED_KEYS}"
    if not signers:
        raise SnapshotSignatureError("the snapshot is not signed", subject=str(path), remedy=remedy)
    known = [signer for signer in signers if signer in trusted]
    if not known:
        raise SnapshotSignatureError(
            f"the snapshot is signed only by keys that are not trusted ({', '.join(signers[:5])})",
            subject=str(path),
            remedy=remedy,
        )
    for signer in known:
        try:
            trusted[signer].verify(_signature(folder / f"manifest.{signer}.sig"), _DOMAIN + manifest)
            return
        except (InvalidSignature, OSError, binascii.Error):
            continue
    raise SnapshotSignatureError(
        f"the signature of key {known[0]} does not fit: the manifest or the signature was altered",
        subject=str(path),
        remedy="Build again, or publish an older snapshot",
    )


def _signature(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        return base64.b64decode(file.read(200).strip(), validate=True)
