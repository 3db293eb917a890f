"""The commands ``egotools admin …``: snapshots of a store or of a running server, findings, keys, tokens, health."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from typer import Argument, Option

from egotools.client_errors import ClientError
from ontology.errors import InvalidArgumentError, NotFoundError, NotReadyError, error_from_status
from ontology.files import disk_errors, read_bounded
from services.audited import AUDIT_LOG, audited, is_audited, named_tools
from services.cli.console import counted, plain, print_json, say, show_lines, table, tell
from services.cli.options import Json, Rare, Store, command
from services.jobs.plans import DEFAULT_KEEP, DEFAULT_STORE

if TYPE_CHECKING:
    import grpc

    from egotools.admin import AdminClient
    from ingest.trust.quarantine import TrustRecord

__all__ = ["CaFile", "Tenant", "TokenFile", "admin_app", "read_tls", "read_token"]

TokenFile: TypeAlias = Annotated[
    Path | None, Rare("--token-file", envvar="EGOTOOLS_TOKEN_FILE", help="File with the bearer token for the server.")
]
CaFile: TypeAlias = Annotated[
    Path | None,
    Rare("--ca-file", envvar="EGOTOOLS_CA_FILE", help="Certificates that the server's must come from; makes it TLS."),
]
Tenant: TypeAlias = Annotated[str, Rare("--tenant", envvar="EGOTOOLS_TENANT", help="Whose catalogue of the server.")]
_ADMIN = "127.0.0.1:50052"
_SHOWN = 20
_TIMEOUT_S = 3.0


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
    """Where the admin service of a running server is, and who calls it."""

    target: Annotated[
        str, Option("--target", envvar="EGOTOOLS_ADMIN_TARGET", help="Admin service of a running server, HOST:PORT.")
    ] = ""
    tenant: Tenant = ""
    token_file: TokenFile = None
    ca_file: CaFile = None

    @contextmanager
    def client(self) -> Iterator[AdminClient]:
        """Yield a client; raise its errors as those of the command.

        :raises EgotoolsError: when nothing answers within seconds, a file cannot be read, or a token would be sent in plain text.
        """
        from egotools.admin import AdminClient

        target = self.target or _ADMIN
        token, tls = read_token(self.token_file), read_tls(self.ca_file)
        try:
            with AdminClient(target, tenant=self.tenant, tls=tls, token=token) as client:
                yield client
        except ClientError as error:
            remedy = error.remedy
            if not remedy and error.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
                remedy = "Check the address, which `egotools serve --admin-port` opens; of a server with TLS also --ca-file, and --token-file"
            raise error_from_status(
                error.code, error.message, subject=error.subject or target, remedy=remedy
            ) from error

    def is_meant(self, context: typer.Context) -> bool:
        """Whether the server is meant, and not a store: one on the command line goes before a server that a variable names.

        :raises InvalidArgumentError: when the command line has options of both, or of a server that nothing names.
        """
        sources = {name: context.get_parameter_source(name) for name in context.params}
        given = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
        of_store, of_server = given & {"store", "collect", "keep"}, given & {"tenant", "token_file", "ca_file"}
        wrong = of_store if self.target and "target" in given else of_server if of_store or not self.target else ()
        if wrong:
            subject, remedy = (
                f"--{min(wrong).replace('_', '-')}",
                f"Name a server (--target {_ADMIN}) or a store, not both",
            )
            raise InvalidArgumentError("it does not go with what is meant", subject=subject, remedy=remedy)
        return bool(self.target) and not of_store


_LOCAL = AdminConnection()
admin_app = typer.Typer(
    help="Operate stores and servers: snapshots, findings, keys, tokens, health.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
_SnapshotId: TypeAlias = Annotated[str | None, Argument(metavar="[ID]", help="Snapshot. Default: the one before.")]


@command(admin_app)
def snapshots(
    context: typer.Context,
    store: Store = DEFAULT_STORE,
    connection: AdminConnection = _LOCAL,
    collect: Annotated[bool, Option("--collect", help="Remove old snapshots, and what killed processes left.")] = False,
    keep: Annotated[
        int,
        Option(min=0, envvar="EGOTOOLS_KEEP", help="With --collect: how many stay, beside those in use. 0: all."),
    ] = DEFAULT_KEEP,
    as_json: Json = False,
) -> None:
    """List the snapshots of a store and its last publications, newest first; with --target those of a running server."""
    if connection.is_meant(context):
        with connection.client() as client:
            listed = client.snapshots()
        served = [_row(each) for each in listed]
        states = [" ".join(word for word in ("served", "current") if row[word]) for row in served]
        columns = ("snapshot_id", "tool_count", "bytes", "published", "state", "problem")
        return _listed("Snapshots", columns, served, as_json, states)
    from retrieval.snapshot.collect import collect as run
    from retrieval.snapshot.history import history, list_snapshots
    from retrieval.snapshot.publish import no_snapshot

    collected = run(store, keep) if collect else None
    found, entries = list_snapshots(store), history(store)
    if not found and not entries:
        raise no_snapshot(store)
    if as_json:
        row = {"snapshots": [each.to_json() for each in found], "history": _history(entries)}
        print_json(row if collected is None else {**row, "collected": collected.to_json()})
        return
    if collected is not None:
        in_use = f"; {len(collected.in_use)} more are in use" if collected.in_use else ""
        say(f"Removed {len(collected.removed)} snapshots ({collected.bytes / 1e6:,.1f} MB){in_use}")
    rows = [
        (
            each.snapshot_id,
            f"{each.tool_count:,}",
            f"{each.bytes / 1e6:,.1f}",
            _shown(each.published) or "never",
            each.problem or ("current" if each.current else ""),
        )
        for each in found
    ]
    table("Snapshots", ("id", "tools", "MB", "last published (UTC)", ""), rows)
    _show_history(entries)


@command(admin_app)
def rollback(
    context: typer.Context,
    snapshot_id: _SnapshotId = None,
    store: Store = DEFAULT_STORE,
    connection: AdminConnection = _LOCAL,
    as_json: Json = False,
) -> None:
    """Publish an earlier snapshot again, without a build; with --target a running server does it, and serves it.

    Every file of it is checked first. Rolling back twice goes back two publications.
    """
    if snapshot_id is not None and not snapshot_id.strip():
        remedy = "A variable of the shell may not be set; leave it out for the snapshot before the current one"
        raise InvalidArgumentError("the id is empty", subject="ID", remedy=remedy)
    if connection.is_meant(context):
        with connection.client() as client:
            return _show_published(client.rollback(snapshot_id or ""), as_json)
    from retrieval.snapshot.history import history
    from retrieval.snapshot.history import rollback as run

    with audited("rollback", str(store)) as change:
        publication = run(store, snapshot_id or "")
        change.published(publication.snapshot_id)
    entries = history(store)
    if as_json:
        print_json({**publication.to_json(), "history": _history(entries)})
        return
    say(plain(f"Published {publication.snapshot_id} again, in place of {publication.previous_id}"))
    _show_history(entries)


def _history(entries: Sequence[Any]) -> list[Any]:
    return [each.to_json() for each in reversed(entries)]


def _show_history(entries: Sequence[Any]) -> None:
    rows = [
        (each.sequence, _shown(each.time), each.action, each.snapshot_id, each.previous_id, each.actor)
        for each in reversed(entries[-_SHOWN // 2 :])
    ]
    table("History", ("", "UTC", "action", "id", "before", "by"), rows)


@command(admin_app)
def publish(
    snapshot_id: Annotated[str, Argument(help="Id of a snapshot of the store. Default: its current one.")] = "",
    connection: AdminConnection = _LOCAL,
    as_json: Json = False,
) -> None:
    """Let a running server serve a snapshot of its store, and make it the published one. A bad one is refused."""
    with connection.client() as client:
        _show_published(client.publish(snapshot_id), as_json)


@command(admin_app)
def diff(
    old_id: Annotated[str, Argument(help="Id of the old snapshot. Default: the one that is served.")] = "",
    new_id: Annotated[str, Argument(help="Id of the new one. Default: the one that the store publishes.")] = "",
    connection: AdminConnection = _LOCAL,
    as_json: Json = False,
) -> None:
    """Compare two snapshots of a running server's store. The whole comparison is in --json."""
    with connection.client() as client:
        found = client.diff(old_id, new_id)
    if as_json:
        print_json(found.details)
        return
    say(f"snapshot [bold]{plain(found.old_id)}[/] → [bold]{plain(found.new_id)}[/]")
    for name, sign, ids in (
        ("Added", "+", found.added),
        ("Removed", "-", found.removed),
        ("Changed", "~", found.changed),
    ):
        show_lines(name, [f"{sign} {id_}" for id_ in ids], _SHOWN)


@command(admin_app)
def catalogs(connection: AdminConnection = _LOCAL, as_json: Json = False) -> None:
    """List the catalogues of a running server, and what each serves."""
    with connection.client() as client:
        rows = [_row(each) for each in client.catalogs()]
    _listed("Catalogues", ("tenant", "snapshot_id", "tool_count", "since", "draining", "problem"), rows, as_json)


def _listed(
    title: str, columns: Sequence[str], rows: Sequence[dict[str, Any]], as_json: bool, states: Sequence[str] = ()
) -> None:
    if as_json:
        print_json(rows)
        return
    told = [{**row, "state": state} for row, state in zip(rows, states or [""] * len(rows), strict=True)]
    table(title, columns, [[_cell(row[name]) for name in columns] for row in told])


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:,}" if isinstance(value, int) else str(value or "")


def _show_published(found: Any, as_json: bool) -> None:
    if as_json:
        print_json(asdict(found))
        return
    before = f" (before: {found.previous_id})" if found.previous_id != found.snapshot_id else " (as before)"
    say(plain(f"Serving {found.snapshot_id}{before}"))


def _row(value: Any) -> dict[str, Any]:
    return {key: each.isoformat() if isinstance(each, datetime) else each for key, each in asdict(value).items()}


def _shown(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}" if time else ""


@command(admin_app)
def health(
    port: Annotated[int | None, Option(help="Port of the server. Default: EGOTOOLS_PORT, or 50051.")] = None,
    client_cert: Annotated[
        Path | None, Option(envvar="EGOTOOLS_CLIENT_CERT", help="Certificate chain to show (mTLS), PEM.")
    ] = None,
    client_key: Annotated[Path | None, Option(envvar="EGOTOOLS_CLIENT_KEY", help="Its private key, PEM.")] = None,
) -> None:
    """Ask the server of this machine whether it answers calls: exit code 0, or 14. It reads the settings that serve reads."""
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    from egotools.v1 import egotools_pb2
    from services.server.access.tls import own_credentials, own_target
    from services.server.settings import ServerSettings

    settings = ServerSettings.from_env(port=port)
    target = own_target(settings.host, settings.port)
    if settings.tls_cert is not None:
        credentials, options = own_credentials(settings.tls_cert, client_cert, client_key)
        channel = grpc.secure_channel(target, credentials, options=options)
    elif client_cert is not None or client_key is not None:
        problem, given = "the settings have no TLS, and a certificate for it was given", "--client-cert, --client-key"
        raise InvalidArgumentError(problem, subject=given, remedy="Set EGOTOOLS_TLS_CERT, or leave them out")
    else:
        channel = grpc.insecure_channel(target)
    with channel:
        try:
            service = egotools_pb2.DESCRIPTOR.services_by_name["ToolRetrieval"].full_name
            request = health_pb2.HealthCheckRequest(service=service)
            status = health_pb2_grpc.HealthStub(channel).Check(request, timeout=_TIMEOUT_S).status
        except grpc.RpcError as error:
            problem = f"no server answers within {_TIMEOUT_S:g} s: {error.code().name}"
            remedy = "Start it, or look at its log"
            if settings.require_client_cert and client_cert is None:
                remedy = "Give --client-cert and --client-key: the server requires a client certificate"
            raise NotReadyError(problem, subject=target, remedy=remedy) from error
    name = health_pb2.HealthCheckResponse.ServingStatus.Name(status)
    if status != health_pb2.HealthCheckResponse.SERVING:
        raise NotReadyError(f"the server reports {name}", subject=target, remedy="Wait, or look at its log")
    say(name)


findings_app = typer.Typer(
    help="Findings in tool documents, and their approval.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
admin_app.add_typer(findings_app, name="findings")


@command(findings_app, "list")
def list_findings(
    store: Store = DEFAULT_STORE,
    quarantined: Annotated[bool, Option("--quarantined", help="Only tools that are held back.")] = False,
    as_json: Json = False,
) -> None:
    """List the findings of the last build, tool by tool, and the approvals."""
    from ingest.trust.quarantine import read_approvals

    record, approvals = _record(store), read_approvals(store)
    shown = [each for each in record.findings if not quarantined or each.tool in record.quarantined]
    if as_json:
        rows, released = [each.to_json() for each in shown], [asdict(each) for each in approvals]
        print_json({"findings": rows, "quarantined": list(record.quarantined), "approvals": released})
        return
    last = ""
    for each in shown:
        if each.tool != last:
            last = each.tool
            say(f"[bold]{plain(last)}[/]{' (quarantined)' if last in record.quarantined else ''}")
        where = f"{each.field}[{each.start}:{each.end}]"
        say(
            plain(f"  {each.severity}: {each.kind} in {where}: {each.why}. “{each.quote}” {each.remedy}. ({each.rule})")
        )
    for one in approvals:
        say(plain(f"approved {one.tool} by {one.by} at {one.at}: {one.reason}"))
    if not shown and not approvals:
        say("No findings.")


@command(findings_app)
def approve(
    tools: Annotated[list[str] | None, Argument(metavar="[ID…]", help="Ids of tools, or patterns: 'github/*'.")] = None,
    every: Annotated[bool, Option("--all", help="All tools with findings.")] = False,
    reason: Annotated[str, Option(help="Why the tools may be used as they are. Needed without --dry-run.")] = "",
    dry_run: Annotated[bool, Option("--dry-run", help="Count the tools that would be approved, and end.")] = False,
    by: Annotated[str, Option(help="Who says so. Default: the name of the system's user.")] = "",
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Release tools with findings, exactly as they are now: a later change of a tool voids its approval.

    What was held back is taken in by the next build or sync.
    """
    from ingest.trust.quarantine import APPROVALS
    from ingest.trust.quarantine import approve as release

    record = _record(store)
    matched = _matched(record, tools or [], every=every)
    ids = list(dict.fromkeys(id_ for found in matched.values() for id_ in found))
    for pattern, found in matched.items():
        if not as_json:
            say(plain(f"{pattern}: {len(found):,} of {len(record.hashes):,} tools with findings"))
    if dry_run:
        if as_json:
            print_json({"would_approve": ids})
        return
    if not reason.strip():
        raise InvalidArgumentError("it is empty", subject="--reason", remedy="Say why the tools may be used")
    with audited("approve-finding", ids[0] if len(ids) == 1 else named_tools(ids)):
        made = release(store, record.releases(ids), reason=reason, by=by or getpass.getuser())
    if not is_audited():
        tell(plain(f"{AUDIT_LOG} is not set: the store alone keeps who approved what, in {APPROVALS}"))
    if as_json:
        print_json({"approvals": [asdict(each) for each in made]})
        return
    for each in made[:_SHOWN]:
        say(plain(f"approved {each.tool} by {each.by} at {each.at}"))
    if made[_SHOWN:]:
        say(f"… and {len(made) - _SHOWN:,} more")
    if not set(ids).isdisjoint(record.quarantined):
        say("Build or sync again to take them in.")


def _matched(record: TrustRecord, patterns: Sequence[str], *, every: bool) -> dict[str, list[str]]:
    """The ids of the tools that each pattern names.

    :raises InvalidArgumentError: where none is given, or patterns beside ``every``.
    :raises NotFoundError: naming the patterns that name no tool with findings; nothing is approved then.
    """
    if every == bool(patterns):
        problem, subject = ("it takes no ids beside it", "--all") if every else ("no tool is named", "ID")
        raise InvalidArgumentError(problem, subject=subject, remedy="Give ids, patterns, or --all alone")
    matched = {"--all": list(record.hashes)} if every else {each: record.matching(each) for each in patterns}
    empty = [pattern for pattern, found in matched.items() if not found]
    if empty:
        problem, remedy = "nothing was found in such tools, and none is approved", "See `egotools admin findings list`"
        raise NotFoundError(problem, subject=", ".join(empty), remedy=remedy)
    return matched


def _record(store: Path) -> TrustRecord:
    from ingest.trust.quarantine import FINDINGS, read_record
    from retrieval.snapshot.publish import current_snapshot

    if not (store / FINDINGS).is_file():  # a build that held every tool back leaves it without a snapshot
        current_snapshot(store)
    return read_record(store)


keys_app = typer.Typer(
    help="Keys that sign snapshots.", no_args_is_help=True, rich_markup_mode=None, add_completion=False
)
admin_app.add_typer(keys_app, name="keys")


@command(keys_app, "create")
def create_key(
    file: Annotated[Path, Argument(help="New private key. The public key is written to FILE.pub.")],
    as_json: Json = False,
) -> None:
    """Create an Ed25519 key: build with --signing-key FILE, serve with EGOTOOLS_TRUSTED_KEYS=FILE.pub."""
    from retrieval.snapshot.signing import create_key as create

    public, key_id = create(file)
    if as_json:
        print_json({"private_key": str(file), "public_key": str(public), "key_id": key_id})
    else:
        say(plain(f"Wrote the private key {file} and the public key {public} (key id {key_id})"))


@command(keys_app, "show")
def show_keys(
    files: Annotated[list[Path], Argument(metavar="FILE…", help="Files of public keys.")], as_json: Json = False
) -> None:
    """Print the ids of public keys, as signatures name them: manifest.ID.sig."""
    from retrieval.snapshot.signing import load_trusted_keys

    found = sorted(load_trusted_keys(files) or ())
    if as_json:
        print_json(found)
    for key_id in [] if as_json else found:
        say(key_id)


tokens_app = typer.Typer(
    help="Static bearer tokens of a server.", no_args_is_help=True, rich_markup_mode=None, add_completion=False
)
admin_app.add_typer(tokens_app, name="tokens")
_File: TypeAlias = Annotated[
    Path, Option("--file", "-f", help="File of the tokens' hashes.", envvar="EGOTOOLS_TOKENS_FILE")
]


@command(tokens_app, "create")
def create_token(
    name: Annotated[str, Argument(help="Name of the token, which the access policy names too.")],
    file: _File,
    days: Annotated[float | None, Option(help="Days until it expires. Default: it does not.")] = None,
    as_json: Json = False,
) -> None:
    """Make a token and print it. The file keeps its hash only: the token cannot be shown again."""
    from services.server.access.tokens import create_token as create

    if days is not None and not 0 < days <= 3_650:
        raise InvalidArgumentError(f"days must be more than 0 and at most 3,650, not {days}", subject="--days")
    token = create(file, name, days=days)
    if as_json:
        print_json({"name": name, "token": token})
        return
    tell(plain(f"Added the token {name} to {file}. It is shown only now:"))
    say(plain(token))


@command(tokens_app, "list")
def list_tokens(file: _File, as_json: Json = False) -> None:
    """List the tokens of a file, without their secrets."""
    from services.server.access.tokens import list_tokens as listed

    tokens = listed(file)
    if as_json:
        print_json([each.model_dump(mode="json", exclude={"sha256"}) for each in tokens])
        return
    rows = [[each.name, each.id, _shown(each.created)[:10], _shown(each.expires)[:10]] for each in tokens]
    table(counted(len(tokens), "token"), ["name", "id", "made", "expires"], rows)


@command(tokens_app, "revoke")
def revoke_token(name: Annotated[str, Argument(help="Name or id of the token.")], file: _File) -> None:
    """Remove a token. Running servers refuse it within two seconds."""
    from services.server.access.tokens import revoke_token as revoke

    revoke(file, name)
    tell(plain(f"Revoked {name}."))
