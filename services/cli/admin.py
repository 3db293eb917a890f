"""The commands ``egotools admin …``: snapshots of a store, findings, keys, tokens, and the health of a server."""

from __future__ import annotations

import getpass
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from typer import Argument, Option

from ontology.errors import InvalidArgumentError, NotFoundError, NotReadyError
from ontology.files import disk_errors, read_bounded
from services.cli.console import plain, print_json, say, show_lines, show_result, table, tell
from services.cli.options import Json, Store, command, group
from services.jobs.plans import DEFAULT_STORE, Rare

if TYPE_CHECKING:
    import grpc

    from ingest.trust.quarantine import TrustRecord

TokenFile: TypeAlias = Annotated[
    Path | None, Rare("--token-file", envvar="EGOTOOLS_TOKEN_FILE", help="File with a bearer token.")
]
CaFile: TypeAlias = Annotated[
    Path | None, Rare("--ca-file", envvar="EGOTOOLS_CA_FILE", help="Its certificates; makes it TLS.")
]
Tenant: TypeAlias = Annotated[str, Rare("--tenant", envvar="EGOTOOLS_TENANT", help="Whose catalogue of the server.")]
_SHOWN = 20
_TIMEOUT_S = 3.0


def read_token(token_file: Path | None) -> str | None:
    """Return the token of a file; None without a file. StorageError when it cannot be read."""
    if token_file is None:
        return None
    with disk_errors(token_file, remedy="Name a file that can be read", done="read"):
        return read_bounded(token_file, 2**20).decode("utf-8").strip()


def read_tls(ca_file: Path | None) -> grpc.ChannelCredentials | bool:
    """Return the credentials of a channel; False, plain text, without a file. StorageError when it cannot be read."""
    if ca_file is None:
        return False
    from services.server.access.tls import client_credentials

    return client_credentials(ca_file)


admin_app = group("Operate stores and servers: snapshots, findings, keys, tokens, health.")


@command(admin_app)
def snapshots(store: Store = DEFAULT_STORE, as_json: Json = False) -> None:
    """List the snapshots of a store and its last publications, newest first."""
    from retrieval.snapshot.history import history, list_snapshots
    from retrieval.snapshot.publish import no_snapshot

    found, entries = list_snapshots(store), history(store)
    if not found and not entries:
        raise no_snapshot(store)
    listed, past = [each.to_json() for each in found], [each.to_json() for each in reversed(entries)]
    if as_json:
        return print_json({"snapshots": listed, "history": past})
    columns = ("snapshot_id", "tool_count", "published", "current", "problem")
    table("Snapshots", columns, [[row.get(name) or "" for name in columns] for row in listed])
    show_result({"history": past}, _SHOWN // 2)


@command(admin_app)
def rollback(
    snapshot_id: Annotated[str | None, Argument(metavar="[ID]", help="Snapshot. Default: the one before.")] = None,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Publish a snapshot of a store again, without a build; servers of the store then serve it.

    Every file of it is checked first. Rolling back twice goes back two publications.
    """
    if snapshot_id is not None and not snapshot_id.strip():
        remedy = "A variable of the shell may not be set; leave it out for the snapshot before the current one"
        raise InvalidArgumentError("the id is empty", subject="ID", remedy=remedy)
    from retrieval.snapshot.history import history
    from retrieval.snapshot.history import rollback as run

    publication = run(store, snapshot_id or "")
    if as_json:
        past = [each.to_json() for each in reversed(history(store))]
        return print_json({**publication.to_json(), "history": past})
    say(plain(f"Published {publication.snapshot_id} again, in place of {publication.previous_id}"))


@command(admin_app)
def health(
    port: Annotated[int | None, Option(help="Port of the server. Default: EGOTOOLS_PORT, or 50051.")] = None,
    client_cert: Annotated[Path | None, Option(envvar="EGOTOOLS_CLIENT_CERT", help="Certificate to show, PEM.")] = None,
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


_findings = group("Findings in tool documents, and their approval.")
admin_app.add_typer(_findings, name="findings")


@command(_findings, "list")
def list_findings(
    store: Store = DEFAULT_STORE,
    quarantined: Annotated[bool, Option("--quarantined", help="Only tools that are held back.")] = False,
    as_json: Json = False,
) -> None:
    """List the findings of the last build, tool by tool, and the approvals."""
    from ingest.trust.quarantine import read_approvals

    record, approvals = _record(store), read_approvals(store)
    shown = [each for each in record.findings if not quarantined or each.tool in record.quarantined]
    rows, released = [each.to_json() for each in shown], [asdict(each) for each in approvals]
    if as_json:
        return print_json({"findings": rows, "quarantined": list(record.quarantined), "approvals": released})
    for row in rows:
        held = " (quarantined)" if row["tool"] in record.quarantined else ""
        where = f"{row['field']}[{row['start']}:{row['end']}]"
        said = f"{row['severity']}: {row['kind']} in {where}: {row['why']}. “{row['quote']}” {row['remedy']}. ({row['rule']})"
        say(plain(f"{row['tool']}{held}: {said}"))
    show_result({"approvals": released}, len(released))
    if not rows and not released:
        say("No findings.")


@command(_findings)
def approve(
    tools: Annotated[list[str], Argument(metavar="ID…", help="Ids of tools, or patterns: 'github/*'.")],
    reason: Annotated[str, Option(help="Why the tools may be used as they are.")],
    by: Annotated[str, Option(help="Who says so. Default: the name of the system's user.")] = "",
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Release tools with findings, exactly as they are now: a later change of a tool voids its approval.

    What was held back is taken in by the next build or sync.
    """
    from ingest.trust.quarantine import approve as release

    record = _record(store)
    matched = {pattern: record.matching(pattern) for pattern in tools}
    if empty := [pattern for pattern, found in matched.items() if not found]:
        problem, remedy = "nothing was found in such tools, and none is approved", "See `egotools admin findings list`"
        raise NotFoundError(problem, subject=", ".join(empty), remedy=remedy)
    if not reason.strip():
        raise InvalidArgumentError("it is empty", subject="--reason", remedy="Say why the tools may be used")
    ids = list(dict.fromkeys(id_ for found in matched.values() for id_ in found))
    made = release(store, record.releases(ids), reason=reason, by=by or getpass.getuser())
    if as_json:
        return print_json({"approvals": [asdict(each) for each in made]})
    show_lines("Approved", [f"{each.tool} by {each.by} at {each.at}" for each in made], _SHOWN)
    if not set(ids).isdisjoint(record.quarantined):
        say("Build or sync again to take them in.")


def _record(store: Path) -> TrustRecord:
    from ingest.trust.quarantine import FINDINGS, read_record
    from retrieval.snapshot.publish import current_snapshot

    if not (store / FINDINGS).is_file():  # a build that held every tool back leaves it without a snapshot
        current_snapshot(store)
    return read_record(store)


_tokens = group("Static bearer tokens of a server.")
admin_app.add_typer(_tokens, name="tokens")
_TokensFile: TypeAlias = Annotated[Path, Option("--file", "-f", help="File of hashes.", envvar="EGOTOOLS_TOKENS_FILE")]


@command(_tokens, "create")
def create_token(
    name: Annotated[str, Argument(help="Name of the token, which the access policy names too.")],
    file: _TokensFile,
    days: Annotated[float | None, Option(help="Days until it expires. Default: it does not.")] = None,
    as_json: Json = False,
) -> None:
    """Make a token and print it. The file keeps its hash only: the token cannot be shown again."""
    from services.server.access.tokens import create_token as create

    if days is not None and not 0 < days <= 3_650:
        raise InvalidArgumentError(f"days must be more than 0 and at most 3,650, not {days}", subject="--days")
    token = create(file, name, days=days)
    if as_json:
        return print_json({"name": name, "token": token})
    tell(plain(f"Added the token {name} to {file}. It is shown only now:"))
    say(plain(token))


@command(_tokens, "revoke")
def revoke_token(name: Annotated[str, Argument(help="Name or id of the token.")], file: _TokensFile) -> None:
    """Remove a token. Running servers refuse it within two seconds."""
    from services.server.access.tokens import revoke_token as revoke

    revoke(file, name)
    tell(plain(f"Revoked {name}."))
