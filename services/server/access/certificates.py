"""The certificates of the server: read again when their files change, so that they are rotated without a restart."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext, SSLObject, SSLSocket
from typing import Any

import grpc
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from ontology.errors import InvalidArgumentError
from services.server.access.watched_file import WatchedFiles, read_limited

__all__ = ["server_credentials", "web_context"]


def server_credentials(
    certificate: Path, key: Path, client_ca: Path | None = None, *, poll_s: float = 1.0
) -> grpc.ServerCredentials:
    """Return TLS credentials that follow the files; a connection gets the certificate of its time.

    A new pair that does not fit together or has expired is logged, and the old one is used on.

    :param certificate: the chain of the server, PEM, its own certificate first.
    :param key: its private key, PEM without a password.
    :param client_ca: certificates of the authorities whose clients are accepted; with it a client must show a certificate.
    :param poll_s: seconds between two looks at the files.
    :raises InvalidArgumentError: when the files cannot be used at first, with what is wrong.
    """
    paths = [path for path in (certificate, key, client_ca) if path is not None]
    files = WatchedFiles("TLS certificate", paths, lambda: _configuration(certificate, key, client_ca), poll_s=poll_s)

    given = files.value

    def changed() -> grpc.ServerCertificateConfiguration | None:
        nonlocal given
        before, given = given, files.awaited()  # on a thread of gRPC: a client of a removed authority must not slip in
        return None if given is before else given

    make: Any = grpc.dynamic_ssl_server_credentials  # its published type does not know that None means: as before
    credentials: grpc.ServerCredentials = make(given, changed, require_client_authentication=client_ca is not None)
    return credentials


def web_context(certificate: Path, key: Path, *, poll_s: float = 1.0) -> SSLContext:
    """Return TLS of an HTTP port that follows the files, as :func:`server_credentials`; no client certificate is asked for.

    :raises InvalidArgumentError: when the files cannot be used at first, with what is wrong.
    """

    def read() -> SSLContext:
        _check_pair(certificate, read_limited(certificate), key, read_limited(key))
        context = SSLContext(PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context

    files = WatchedFiles("TLS certificate", [certificate, key], read, poll_s=poll_s)

    def choose(connection: SSLSocket | SSLObject, name: str | None, context: SSLContext) -> None:
        connection.context = files.value

    outer = files.value
    outer.sni_callback = choose
    return outer


def _configuration(certificate: Path, key: Path, client_ca: Path | None) -> grpc.ServerCertificateConfiguration:
    chain_pem, key_pem = read_limited(certificate), read_limited(key)
    _check_pair(certificate, chain_pem, key, key_pem)
    roots_pem = None if client_ca is None else read_limited(client_ca)
    if client_ca is not None and roots_pem is not None:
        _certificates(client_ca, roots_pem)
    return grpc.ssl_server_certificate_configuration([(key_pem, chain_pem)], roots_pem)


def _check_pair(certificate: Path, chain_pem: bytes, key: Path, key_pem: bytes) -> None:
    own = _certificates(certificate, chain_pem)[0]
    try:
        private = load_pem_private_key(key_pem, password=None)
    except (ValueError, TypeError) as error:  # TypeError: it has a password
        raise InvalidArgumentError(
            "this is not a private key without a password", subject=str(key), remedy="Give a PEM file with the key"
        ) from error
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if private.public_key().public_bytes(*form) != own.public_key().public_bytes(*form):
        raise InvalidArgumentError(
            "the key is not that of the certificate", subject=str(key), remedy="Replace both files, the key first"
        )
    if own.not_valid_after_utc <= datetime.now(UTC):
        raise InvalidArgumentError(
            f"the certificate has expired ({own.not_valid_after_utc:%Y-%m-%d %H:%M} UTC)",
            subject=str(certificate),
            remedy="Renew it",
        )


def _certificates(path: Path, pem: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise InvalidArgumentError(
            "this is not a list of certificates", subject=str(path), remedy="Give a PEM file"
        ) from error
