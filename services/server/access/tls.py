"""TLS: certificates of the server that are read again when they change, what a port must have, and credentials of clients."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext, SSLObject, SSLSocket
from typing import Any

import grpc
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from ontology.errors import InvalidArgumentError
from ontology.files import disk_errors, read_bounded
from services.server.access.watched_file import WatchedFiles, read_limited

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def is_loopback(host: str) -> bool:
    """Whether a host is the loopback of this machine: an address of it, or ``localhost``."""
    name = host.strip().strip("[]").lower()
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def check_pair(certificate: Path | None, key: Path | None, *, subject: str, remedy: str) -> None:
    """Check that there are a certificate and its key, or neither; ``subject`` says what names them. No file is read."""
    if (certificate is None) != (key is None):
        raise InvalidArgumentError("TLS needs a certificate and its key", subject=subject, remedy=remedy)


def server_credentials(certificate: Path, key: Path, client_ca: Path | None = None) -> grpc.ServerCredentials:
    """Return TLS credentials that follow the PEM files; a connection gets the certificate of its time. With
    ``client_ca``, certificates of the authorities whose clients are accepted, a client must show a certificate. Files
    that cannot be used at first raise InvalidArgumentError; later a bad pair is logged, and the old one serves."""

    def read() -> grpc.ServerCertificateConfiguration:
        chain_pem, key_pem = _checked_pair(certificate, key)
        roots = None if client_ca is None else read_limited(client_ca)
        if client_ca is not None and roots is not None:
            _certificates(client_ca, roots)
        return grpc.ssl_server_certificate_configuration([(key_pem, chain_pem)], roots)

    paths = [path for path in (certificate, key, client_ca) if path is not None]
    files = WatchedFiles("TLS certificate", paths, read)
    given = files.value

    def changed() -> grpc.ServerCertificateConfiguration | None:  # for each connection, on a thread of gRPC
        nonlocal given
        before, given = given, files.value
        return None if given is before else given

    make: Any = grpc.dynamic_ssl_server_credentials  # its published type does not know that None means: as before
    credentials: grpc.ServerCredentials = make(given, changed, require_client_authentication=client_ca is not None)
    return credentials


def web_context(certificate: Path, key: Path) -> SSLContext:
    """Return TLS of an HTTP port that follows the files, as :func:`server_credentials`; no client certificate is asked for."""

    def read() -> SSLContext:
        _checked_pair(certificate, key)
        context = SSLContext(PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context

    files = WatchedFiles("TLS certificate", [certificate, key], read)

    def choose(connection: SSLSocket | SSLObject, name: str | None, context: SSLContext) -> None:
        connection.context = files.value

    outer = files.value
    outer.sni_callback = choose
    return outer


def web_tls(host: str, certificate: Path | None, key: Path | None, *, insecure: bool) -> SSLContext | None:
    """Return the TLS of an HTTP port with the options ``--tls-cert``, ``--tls-key`` and ``--insecure``; None for plain
    text, which is refused beyond loopback."""
    check_pair(certificate, key, subject="--tls-cert, --tls-key", remedy="Give both, or none")
    if certificate is not None and key is not None:
        return web_context(certificate, key)
    if not insecure and not is_loopback(host):
        problem = "it would listen beyond loopback without TLS: tokens and answers would be sent in plain text"
        remedy = "Give --tls-cert and --tls-key; or --insecure where a proxy has TLS"
        raise InvalidArgumentError(problem, subject=host, remedy=remedy)
    return None


def own_target(host: str, port: int | str) -> str:
    """Return the address at which a server is called from its own machine; one on all addresses is called at loopback."""
    name = host.strip("[]")
    name = _EVERYWHERE.get(name, name)
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def client_credentials(
    trusted: Path, certificate: Path | None = None, key: Path | None = None
) -> grpc.ChannelCredentials:
    """Return the TLS credentials of a channel, from PEM files: ``trusted`` has certificates that the server's must come
    from, ``certificate`` the chain that the client shows with its ``key``, or is None. Raises StorageError when a file
    cannot be read, InvalidArgumentError for a certificate or a key alone."""
    check_pair(certificate, key, subject="--client-cert, --client-key", remedy="Give both, or none")
    shown = [None if path is None else _read(path) for path in (key, certificate)]
    return grpc.ssl_channel_credentials(_read(trusted), *shown)


def own_credentials(
    own: Path, certificate: Path | None = None, key: Path | None = None
) -> tuple[grpc.ChannelCredentials, list[tuple[str, Any]]]:
    """Return the TLS credentials of a channel to the server with the certificate ``own``, and the channel's options.
    This certificate is trusted as it is, whatever names and authority it has: it was read from the disk of the server.
    Raises InvalidArgumentError when it has no name that TLS can check, and what :func:`client_credentials` raises."""
    leaf, names = _certificates(own, _read(own))[0], list[str]()
    try:  # a URI (SPIFFE) is no name for gRPC; without a DNS name it takes the common name
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names += [name.replace("*", "egotools") for name in found.get_values_for_type(x509.DNSName)]
        names += map(str, found.get_values_for_type(x509.IPAddress))
    except x509.ExtensionNotFound:
        pass
    names += [str(each.value) for each in leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if not names:
        problem = "the certificate has no DNS name, no address and no common name"
        raise InvalidArgumentError(problem, subject=str(own), remedy="Issue it for localhost too")
    return client_credentials(own, certificate, key), [("grpc.ssl_target_name_override", names[0])]


def _checked_pair(certificate: Path, key: Path) -> tuple[bytes, bytes]:
    chain_pem, key_pem = read_limited(certificate), read_limited(key)
    own = _certificates(certificate, chain_pem)[0]
    try:
        private = load_pem_private_key(key_pem, password=None)
    except (ValueError, TypeError) as error:  # TypeError: it has a password
        problem = "this is not a private key without a password"
        raise InvalidArgumentError(problem, subject=str(key), remedy="Give a PEM file with the key") from error
    if private.public_key() != own.public_key():
        problem, remedy = "the key is not that of the certificate", "Replace both files, the key first"
        raise InvalidArgumentError(problem, subject=str(key), remedy=remedy)
    if own.not_valid_after_utc <= datetime.now(UTC):
        problem = f"the certificate has expired ({own.not_valid_after_utc:%Y-%m-%d %H:%M} UTC)"
        raise InvalidArgumentError(problem, subject=str(certificate), remedy="Renew it")
    return chain_pem, key_pem


def _certificates(path: Path, pem: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        problem = "this is not a list of certificates"
        raise InvalidArgumentError(problem, subject=str(path), remedy="Give a PEM file") from error


def _read(path: Path) -> bytes:
    with disk_errors(path, remedy="Name a file that can be read", done="read"):
        return read_bounded(path)
