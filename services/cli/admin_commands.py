"""The commands ``egotools admin …``: publish, roll back, list and compare the catalogues of a running server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from ontology.errors import error_from_status
from ontology.files import disk_errors, read_bounded
from services.cli.console import plain, print_json, stdout, table
from services.cli.options import Json, command

if TYPE_CHECKING:
    import grpc

    from egotools.admin import AdminClient, PublishedSnapshot

__all__ = ["CaFile", "TokenFile", "admin_app", "read_tls", "read_token"]

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
    from services.server.access.tls import client_credentials

    return client_credentials(ca_file)


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


admin_app = typer.Typer(
    help="Publish, roll back, list and compare the catalogues of a running server.", no_args_is_help=True
)
_LINES = 20


@command(admin_app)
def publish(
    snapshot_id: Annotated[
        str, typer.Argument(help="Id of a snapshot of the store. Default: the one that it names as current.")
    ] = "",
    connection: AdminConnection = LOCAL,
    as_json: Json = False,
) -> None:
    """Serve a snapshot of the store, and make it the published one. A bad one is refused, and the old one serves on."""
    with connection.client() as client:
        _show_published(client.publish(snapshot_id), as_json)


@command(admin_app)
def rollback(
    snapshot_id: Annotated[
        str, typer.Argument(help="Id of an earlier snapshot. Default: the one before the current one.")
    ] = "",
    connection: AdminConnection = LOCAL,
    as_json: Json = False,
) -> None:
    """Serve an earlier snapshot again, and make it the published one."""
    with connection.client() as client:
        _show_published(client.rollback(snapshot_id), as_json)


@command(admin_app)
def snapshots(connection: AdminConnection = LOCAL, as_json: Json = False) -> None:
    """List the snapshots of the store, newest publication first."""
    with connection.client() as client:
        found = client.snapshots()
    if as_json:
        print_json([_row(each) for each in found])
        return
    rows = [
        (
            each.snapshot_id,
            f"{each.tool_count:,}",
            f"{each.bytes:,}",
            _shown(each.published),
            " ".join(word for word, true in (("served", each.served), ("current", each.current)) if true),
            each.problem,
        )
        for each in found
    ]
    stdout.print(table("Snapshots", ("id", "tools", "bytes", "published", "state", "problem"), rows))


@command(admin_app)
def diff(
    old_id: Annotated[str, typer.Argument(help="Id of the old snapshot. Default: the one that is served.")] = "",
    new_id: Annotated[str, typer.Argument(help="Id of the new one. Default: the one that the store publishes.")] = "",
    connection: AdminConnection = LOCAL,
    as_json: Json = False,
) -> None:
    """Compare two snapshots of the store. The whole comparison is in --json."""
    with connection.client() as client:
        found = client.diff(old_id, new_id)
    if as_json:
        print_json(found.details)
        return
    stdout.print(f"snapshot [bold]{plain(found.old_id)}[/] → [bold]{plain(found.new_id)}[/]", highlight=False)
    for sign, ids in (("+", found.added), ("-", found.removed), ("~", found.changed)):
        for each in ids[:_LINES]:
            stdout.print(plain(f"  {sign} {each}"), soft_wrap=True, highlight=False)
        if len(ids) > _LINES:
            stdout.print(f"  {sign} … {len(ids) - _LINES:,} more (--json)", highlight=False)


@command(admin_app)
def catalogs(connection: AdminConnection = LOCAL, as_json: Json = False) -> None:
    """List the catalogues of the server, and what each serves."""
    with connection.client() as client:
        found = client.catalogs()
    if as_json:
        print_json([_row(each) for each in found])
        return
    rows = [
        (each.tenant, each.snapshot_id, f"{each.tool_count:,}", _shown(each.since), each.draining, each.problem)
        for each in found
    ]
    stdout.print(table("Catalogues", ("tenant", "snapshot", "tools", "since", "draining", "problem"), rows))


def _show_published(found: PublishedSnapshot, as_json: bool) -> None:
    if as_json:
        print_json(asdict(found))
        return
    before = f" (before: {found.previous_id})" if found.previous_id != found.snapshot_id else " (as before)"
    stdout.print(plain(f"Serving {found.snapshot_id}{before}"), highlight=False)


def _row(value: Any) -> dict[str, Any]:
    return {key: each.isoformat() if isinstance(each, datetime) else each for key, each in asdict(value).items()}


def _shown(at: datetime | None) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S UTC") if at else ""
