"""The way from the page to the gRPC server of the same process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
from cryptography import x509

from egotools import AsyncClient
from ontology.files import disk_errors
from services.server.server import Server

__all__ = ["client_maker"]

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}


def client_maker(server: Server) -> Callable[[str, str], AsyncClient]:
    """Return what makes a client of a server that has started, from a token and a tenant (both may be empty).

    The certificate of the server is trusted as it is, as its own: the connection does not leave the machine.
    """
    host, _, port = server.address.rpartition(":")
    target = f"{_EVERYWHERE.get(host, host)}:{port}"
    certificate = server.settings.tls_cert

    def make(token: str, tenant: str) -> AsyncClient:
        tls, options = (False, []) if certificate is None else _own_tls(certificate)  # read again: it may be replaced
        return AsyncClient(
            target, tls=tls, options=options, token=token or None, tenant=tenant, insecure_token=certificate is None
        )

    return make


def _own_tls(certificate: Path) -> tuple[grpc.ChannelCredentials, list[tuple[str, Any]]]:
    with disk_errors(certificate):
        pem = certificate.read_bytes()
    own = x509.load_pem_x509_certificates(pem)[0]
    names = own.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    dns = names.get_values_for_type(x509.DNSName)
    name = dns[0].replace("*", "egotools") if dns else str(names.get_values_for_type(x509.IPAddress)[0])
    return grpc.ssl_channel_credentials(pem), [("grpc.ssl_target_name_override", name)]
