"""Certificates, JSON web tokens, policies and clocks, made for a test."""

from __future__ import annotations

import ipaddress
import json
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from services.server.access.tokens import create_token

ISSUER, AUDIENCE = "https://issuer.example", "egotools"


@dataclass
class Authority:
    """Signs certificates."""

    name: str = "test authority"
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def __post_init__(self) -> None:
        self.certificate = self._sign(self.name, self.key, days=10, authority=True)

    @property
    def pem(self) -> bytes:
        """Its own certificate."""
        return self.certificate.public_bytes(Encoding.PEM)

    def issue(
        self, name: str, *, hosts: tuple[str, ...] = ("127.0.0.1", "localhost"), days: float = 1, uri: str = ""
    ) -> tuple[bytes, bytes]:
        """Certificate and key, PEM. With negative ``days`` it has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(name, key, hosts=hosts, days=days, uri=uri)
        return certificate.public_bytes(Encoding.PEM), key.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )

    def _sign(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        *,
        hosts: tuple[str, ...] = (),
        days: float = 1,
        uri: str = "",
        authority: bool = False,
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.name)])
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=20))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        names: list[x509.GeneralName] = [_host(host) for host in hosts]
        names += [x509.UniformResourceIdentifier(uri)] if uri else []
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        if not authority:
            usage = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            builder = builder.add_extension(x509.ExtendedKeyUsage(usage), critical=False)
        return builder.sign(self.key, SHA256())


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def write_pair(folder: Path, pair: tuple[bytes, bytes]) -> tuple[Path, Path]:
    """Write certificate and key; return their paths."""
    certificate, key = folder / "server.pem", folder / "server.key"
    key.write_bytes(pair[1])
    certificate.write_bytes(pair[0])
    return certificate, key


_KEYS: dict[str, Any] = {}
_MAKERS: dict[str, Any] = {
    "RS256": lambda: rsa.generate_private_key(65_537, 2_048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}


@dataclass
class Issuer:
    """Issues JSON web tokens.

    :param kid: id of its key.
    """

    kid: str = "one"
    algorithm: str = "EdDSA"

    def __post_init__(self) -> None:
        at = f"{self.algorithm}/{self.kid}"  # keys are slow to make
        self.key = _KEYS.setdefault(at, _MAKERS[self.algorithm]())

    @property
    def public(self) -> dict[str, Any]:
        """Its public key, as a key set has it."""
        made = jwt.get_algorithm_by_name(self.algorithm).to_jwk(self.key.public_key(), as_dict=True)
        return {**made, "kid": self.kid, "alg": self.algorithm, "use": "sig"}

    def token(self, *, now: float | None = None, lasts_s: float = 600, **claims: Any) -> str:
        """Return a token with these claims beside the usual ones; None leaves one out."""
        now = time.time() if now is None else now
        stated = {"iss": ISSUER, "aud": AUDIENCE, "sub": "someone", "exp": now + lasts_s, **claims}
        stated = {name: value for name, value in stated.items() if value is not None}
        return jwt.encode(stated, self.key, algorithm=self.algorithm, headers={"kid": self.kid})


def key_set(*issuers: Issuer) -> str:
    """Return the key set of some issuers, as JSON."""
    return json.dumps({"keys": [issuer.public for issuer in issuers]})


def guarded_by(folder: Path, **rules: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Settings with access control, and the tokens by name: one for each name, with what its rule gives."""
    file = folder / "tokens.json"
    policy = write_policy(folder / "policy.yaml", *({"match": {"token": name}, **rules[name]} for name in rules))
    return {"access_policy": policy, "tokens_file": file}, {name: create_token(file, name) for name in rules}


def write_policy(path: Path, *rules: dict[str, Any]) -> Path:
    """Write an access policy and return its path."""
    path.write_text(yaml.safe_dump({"version": 1, "rules": list(rules)}), encoding="utf-8")
    return path
