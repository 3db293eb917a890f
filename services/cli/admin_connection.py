"""The connection of a command to the admin service of a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ontology.errors import error_from_status
from services.cli.server_options import CaFile, TokenFile, read_tls, read_token

if TYPE_CHECKING:
    from egotools.admin import AdminClient

__all__ = ["LOCAL", "AdminConnection"]


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
    token_file: TokenFile = None
    ca_file: CaFile = None

    @contextmanager
    def client(self) -> Iterator[AdminClient]:
        """Yield a client; raise its errors as those of the command.

        :raises StorageError: when a file cannot be read.
        :raises EgotoolsError: when nothing answers within seconds, and when a token would be sent in plain text to another machine.
        """
        from egotools.admin import AdminClient
        from egotools.client_errors import ClientError

        token, tls = read_token(self.token_file), read_tls(self.ca_file)
        try:
            with AdminClient(self.target, tenant=self.tenant, tls=tls, token=token) as client:
                client.connect()
                yield client
        except ClientError as error:
            remedy = error.remedy
            if not remedy and error.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
                remedy = "Check the address; of a server with TLS also --ca-file, and --token-file"
            subject = error.subject or self.target
            raise error_from_status(error.code, error.message, subject=subject, remedy=remedy) from error


LOCAL = AdminConnection()
"""Where the admin service is by default."""
