"""The connection of a command to the admin service of a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ontology.files import disk_errors

if TYPE_CHECKING:
    from egotools.admin import AdminClient

__all__ = ["LOCAL", "AdminConnection", "admin_errors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminConnection:
    """Where the admin service is, and who calls it."""

    target: Annotated[
        str, typer.Option("--target", envvar="EGOTOOLS_ADMIN_TARGET", help="Address of the admin service, HOST:PORT.")
    ] = "127.0.0.1:50052"
    tenant: Annotated[
        str,
        typer.Option("--tenant", envvar="EGOTOOLS_TENANT", help="Whose catalogue. Not needed for a server with one."),
    ] = ""
    token_file: Annotated[
        Path | None, typer.Option("--token-file", envvar="EGOTOOLS_TOKEN_FILE", help="File with the bearer token.")
    ] = None
    ca_file: Annotated[
        Path | None,
        typer.Option(
            "--ca-file", envvar="EGOTOOLS_CA_FILE", help="Certificates that the server's must come from; makes it TLS."
        ),
    ] = None

    @contextmanager
    def client(self) -> Iterator[AdminClient]:
        """Yield a client; raise its errors as those of the command."""
        with admin_errors(self.target), self.open() as client:
            yield client

    def open(self) -> AdminClient:
        """Return a client.

        :raises StorageError: when a file cannot be read.
        :raises ClientError: when nothing answers within seconds, and when a token would be sent in plain text to another machine.
        """
        import grpc

        from egotools.admin import AdminClient

        token: str | None = None
        tls: grpc.ChannelCredentials | bool = False
        remedy = "Name a file that can be read"
        if self.token_file is not None:
            with disk_errors(self.token_file, remedy=remedy):
                token = self.token_file.read_text(encoding="utf-8").strip()
        if self.ca_file is not None:
            with disk_errors(self.ca_file, remedy=remedy):
                tls = grpc.ssl_channel_credentials(self.ca_file.read_bytes())
        client = AdminClient(self.target, tenant=self.tenant, tls=tls, token=token)
        try:
            client.connect()
        except BaseException:
            client.close()
            raise
        return client


LOCAL = AdminConnection()
"""Where the admin service is by default."""


@contextmanager
def admin_errors(target: str) -> Iterator[None]:
    """Raise errors of the client as those of the command."""
    from services.jobs.change_sinks import server_errors

    with server_errors(target):
        yield
