"""Signed manifests: an Ed25519 signature of a snapshot's ``manifest.json``, which has the hash of every other file.

A signature is a file beside the manifest, ``manifest.<key id>.sig``: base64 of the 64 bytes, one line. It is no part of the snapshot's
id, and a snapshot may have those of several keys, so that keys can be exchanged one after another. A key id is the first 16 hex digits
of the SHA-256 of the public key. ``EGOTOOLS_SIGNING_KEY`` names the file of the key that signs, ``EGOTOOLS_TRUSTED_KEYS`` the files of
the keys that are trusted, separated by ``:``; where it is set, nothing is loaded that none of these keys has signed.
"""

from __future__ import annotations

import base64
import binascii
import errno
import hashlib
import os
import re
import stat
from collections.abc import Callable, Mapping
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ontology.errors import InvalidArgumentError, SnapshotSignatureError
from ontology.files import flush_to_disk, replacing

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


_SIGNING_KEY, _TRUSTED_KEYS = "EGOTOOLS_SIGNING_KEY", "EGOTOOLS_TRUSTED_KEYS"
TrustedKeys = Mapping[str, "Ed25519PublicKey"]  # Key id → public key
_DOMAIN = b"egotools snapshot manifest v1\n"
_NAME = re.compile(r"manifest\.[0-9a-f]{16}\.sig")
_PEM = re.compile(rb"-----BEGIN [A-Z ]+-----.*?-----END [A-Z ]+-----", re.DOTALL)
_MAX_KEY_FILE = 64 * 1024


def regular_file(path: Path) -> BufferedReader:
    """Open a file of a store to be read. Links are not followed, and a pipe or a device is not read, which may have no
    end."""
    file = open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no file", str(path))
    return file


def is_signature(name: str) -> bool:
    """Whether a file of a snapshot is one of its signatures."""
    return _NAME.fullmatch(name) is not None


def _key_id(key: Ed25519PublicKey) -> str:
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def signing_key_file() -> Path | None:
    """Return the file that ``EGOTOOLS_SIGNING_KEY`` names; None without one."""
    name = os.environ.get(_SIGNING_KEY, "").strip()
    return Path(name) if name else None


def load_signing_key(path: Path | None = None) -> Ed25519PrivateKey | None:
    """Return the private key of a file, or of that of ``EGOTOOLS_SIGNING_KEY``; None where none is named."""
    file = path or signing_key_file()
    if file is None:
        return None
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key: Ed25519PrivateKey = _key(
        file, _content(file), lambda pem: load_pem_private_key(pem, None), Ed25519PrivateKey, "private"
    )
    return key


def load_trusted_keys() -> TrustedKeys | None:
    """Return the public keys of the files of ``EGOTOOLS_TRUSTED_KEYS``, each with one or more; None where it is not
    set: every snapshot is trusted then."""
    names = os.environ.get(_TRUSTED_KEYS, "").strip()
    if not names:
        return None
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    keys: list[Ed25519PublicKey] = []
    for file in (Path(name) for name in names.split(os.pathsep) if name.strip()):
        content = _content(file)
        pems = _PEM.findall(content) or [content]
        keys += [_key(file, pem, load_pem_public_key, Ed25519PublicKey, "public") for pem in pems]
    return {_key_id(key): key for key in keys}


def _content(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_KEY_FILE)
    except OSError as error:
        raise _no_key(path, f"the key cannot be read: {error.strerror or error}") from error


def _key(file: Path, pem: bytes, load: Callable[[bytes], Any], wanted: Any, kind: str) -> Any:
    """Return the key of a text in PEM form, of the wanted class; the error never has the text."""
    try:
        key = load(pem)
    except (ValueError, TypeError) as error:
        raise _no_key(file, f"the file is not a {kind} key in PEM form") from error
    if not isinstance(key, wanted):
        raise _no_key(file, f"the file is not a {kind} Ed25519 key in PEM form")
    return key


def _no_key(path: Path, problem: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        problem, subject=str(path), remedy="Make a key with: openssl genpkey -algorithm ed25519 -out FILE"
    )


def sign_snapshot(folder: Path, key: Ed25519PrivateKey) -> None:
    """Write the signature of a snapshot's manifest beside it; one of the same key is replaced."""
    line = base64.b64encode(key.sign(_DOMAIN + (folder / "manifest.json").read_bytes())) + b"\n"
    path = folder / f"manifest.{_key_id(key.public_key())}.sig"
    if not path.is_file() or path.read_bytes() != line:
        with replacing(path) as temporary:
            temporary.write_bytes(line)
        flush_to_disk(folder)


def check_signature(folder: Path, manifest: bytes, trusted: TrustedKeys) -> None:
    """Check that a trusted key signed a manifest."""
    subject = str(folder / "manifest.json")
    try:
        signers = sorted(name.split(".")[1] for name in os.listdir(folder) if is_signature(name))
    except OSError as error:
        raise SnapshotSignatureError(f"the signature cannot be read: {error.strerror}", subject=subject) from error
    known = [signer for signer in signers if signer in trusted]
    if not known:
        others = f"signed only by keys that are not trusted ({', '.join(signers[:5])})" if signers else "not signed"
        remedy = f"Sign it by publishing with {_SIGNING_KEY}, or add the public key to {_TRUSTED_KEYS}"
        raise SnapshotSignatureError(f"the snapshot is {others}", subject=subject, remedy=remedy)
    if not any(_fits(folder / f"manifest.{signer}.sig", manifest, trusted[signer]) for signer in known):
        problem = f"the signature of key {known[0]} does not fit: the manifest or the signature was altered"
        raise SnapshotSignatureError(problem, subject=subject, remedy="Build again, or publish an older snapshot")


def _fits(path: Path, manifest: bytes, key: Ed25519PublicKey) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        with regular_file(path) as file:
            key.verify(base64.b64decode(file.read(200).strip(), validate=True), _DOMAIN + manifest)
    except (InvalidSignature, OSError, binascii.Error):
        return False
    return True
