"""TLS of a client: whom it trusts, what it shows, and the channel to the server of its own machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
from cryptography import x509
from cryptography.x509.oid import NameOID

from ontology.errors import InvalidArgumentError
from ontology.files import disk_errors, read_bounded
from services.server.access.listening import check_pair

__all__ = ["client_credentials", "own_credentials", "own_target"]

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def client_credentials(
    trusted: Path, certificate: Path | None = None, key: Path | None = None
) -> grpc.ChannelCredentials:
    """Return the TLS credentials of a channel.

    :param trusted: certificates that the server's must come from, PEM.
    :param certificate: the chain that the client shows, PEM; None: none.
    :param key: its private key, PEM without a password.
    :raises StorageError: when a file cannot be read.
    :raises InvalidArgumentError: for a certificate without a key, or a key without a certificate.
    """
    return _credentials(_read(trusted), certificate, key)


def own_target(host: str, port: int | str) -> str:
    """Return the address at which a server is called from its own machine.

    :param host: where it listens, an IPv6 address with or without brackets; all addresses are called at loopback.
    """
    name = host.strip("[]")
    name = _EVERYWHERE.get(name, name)
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def own_credentials(
    own: Path, certificate: Path | None = None, key: Path | None = None
) -> tuple[grpc.ChannelCredentials, list[tuple[str, Any]]]:
    """Return the TLS credentials of a channel to the server with the certificate ``own``, and the channel's options.

    This certificate is trusted as it is, whatever names and authority it has: it was read from the disk of the server.

    :param certificate: as of :func:`client_credentials`, with its errors; so is ``key``.
    :raises InvalidArgumentError: when ``own`` is no certificate, or has no name that TLS can check.
    """
    pem = _read(own)
    return _credentials(pem, certificate, key), [("grpc.ssl_target_name_override", _checked_name(own, pem))]


def _checked_name(path: Path, pem: bytes) -> str:
    """A name for which gRPC takes a certificate. A URI (SPIFFE) is none; without a DNS name it takes the common name."""
    try:
        leaf = x509.load_pem_x509_certificates(pem)[0]
    except ValueError as error:
        raise InvalidArgumentError(
            "this is not a list of certificates", subject=str(path), remedy="Give a PEM file"
        ) from error
    names: list[str] = []
    try:
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names += [name.replace("*", "egotools") for name in found.get_values_for_type(x509.DNSName)]
        names += [str(address) for address in found.get_values_for_type(x509.IPAddress)]
    except x509.ExtensionNotFound:
        pass
    names += [str(each.value) for each in leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if not names:
        raise InvalidArgumentError(
            "the certificate has no DNS name, no address and no common name",
            subject=str(path),
            remedy="Issue it for localhost too",
        )
    return names[0]


def _credentials(trusted: bytes, certificate: Path | None, key: Path | None) -> grpc.ChannelCredentials:
    check_pair(certificate, key, subject="--client-cert, --client-key", remedy="Give both, or none")
    if certificate is None or key is None:
        return grpc.ssl_channel_credentials(trusted)
    return grpc.ssl_channel_credentials(trusted, private_key=_read(key), certificate_chain=_read(certificate))


def _read(path: Path) -> bytes:
    with disk_errors(path, remedy="Name a file that can be read", done="read"):
        return read_bounded(path)
