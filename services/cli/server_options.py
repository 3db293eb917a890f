"""Options of every command that calls a server: the bearer token, and whose certificate is trusted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from ontology.files import disk_errors, read_bounded

if TYPE_CHECKING:
    import grpc

__all__ = ["CaFile", "TokenFile", "read_tls", "read_token"]

TokenFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--token-file", envvar="EGOTOOLS_TOKEN_FILE", help="File with the bearer token for the server."),
]
CaFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--ca-file", envvar="EGOTOOLS_CA_FILE", help="Certificates that the server's must come from; makes it TLS."
    ),
]


def read_token(token_file: Path | None) -> str | None:
    """Return the token of a file; None without a file.

    :raises StorageError: when it cannot be read.
    """
    if token_file is None:
        return None
    with disk_errors(token_file, remedy="Name a file that can be read", done="read"):
        return read_bounded(token_file, 2**20).decode("utf-8").strip()


def read_tls(ca_file: Path | None) -> grpc.ChannelCredentials | bool:
    """Return the credentials of a channel; False, plain text, without a file.

    :raises StorageError: when it cannot be read.
    """
    if ca_file is None:
        return False
    from services.server.access.client_tls import client_credentials

    return client_credentials(ca_file)
