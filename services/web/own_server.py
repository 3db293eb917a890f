"""The way from the page to the gRPC server of the same process."""

from __future__ import annotations

from collections.abc import Callable

from egotools import AsyncClient
from services.server.access.client_tls import own_credentials, own_target
from services.server.server import Server

__all__ = ["client_maker"]


def client_maker(server: Server) -> Callable[[str, str], AsyncClient]:
    """Return what makes a client of a server that has started, from a token and a tenant (both may be empty).

    The certificate of the server is trusted as it is, as its own: the connection does not leave the machine.
    """
    host, _, port = server.address.rpartition(":")
    target = own_target(host, port)
    certificate = server.settings.tls_cert

    def make(token: str, tenant: str) -> AsyncClient:
        tls, options = (
            (False, []) if certificate is None else own_credentials(certificate)
        )  # read again: it may be replaced
        return AsyncClient(
            target, tls=tls, options=options, token=token or None, tenant=tenant, insecure_token=certificate is None
        )

    return make
