"""Keys that sign snapshots, as ``openssl genpkey`` makes them."""

import hashlib
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat


def create_key(path: Path) -> tuple[Path, str]:
    """Write a private key, and its public key as ``PATH.pub``; return that and the key id."""
    key = Ed25519PrivateKey.generate()
    public = key.public_key()
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    told = path.with_name(f"{path.name}.pub")
    told.write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return told, hashlib.sha256(public.public_bytes_raw()).hexdigest()[:16]
