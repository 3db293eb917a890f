"""The client of the admin service: it publishes, rolls back, lists and compares the catalogues of a server."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import grpc

from egotools.channel import CallMetadata, Token, open_channel
from egotools.codec import error_from_rpc, read_value
from egotools.v1 import admin_pb2 as pb
from egotools.v1 import admin_pb2_grpc as pb_grpc

_OPTIONS = (("grpc.max_receive_message_length", 64 * 2**20), ("grpc.enable_retries", 0))


@dataclass(frozen=True, slots=True)
class PublishedSnapshot:
    """What a catalogue serves now, and what it served before; empty if there was nothing."""

    snapshot_id: str
    previous_id: str


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """One snapshot of a store.

    :param bytes: size on disk.
    :param published: when it was published last, UTC; None for never.
    :param served: whether the server serves it now.
    :param current: whether the store names it as current.
    :param problem: why it cannot be served; empty if nothing is known against it.
    """

    snapshot_id: str
    tool_count: int
    bytes: int
    published: datetime | None
    served: bool
    current: bool
    problem: str


@dataclass(frozen=True, slots=True)
class CatalogState:
    """One catalogue of a server; ``snapshot_id`` is empty while none is served.

    :param since: when it was swapped in, UTC; None while none is.
    :param problem: why the last publication was refused; empty if it was not.
    :param draining: calls that still use an older snapshot.
    """

    tenant: str
    snapshot_id: str
    tool_count: int
    since: datetime | None
    problem: str
    draining: int


@dataclass(frozen=True, slots=True)
class CatalogDiff:
    """What differs between two snapshots: ids of tools, each list sorted and at most 10,000.

    :param details: the whole comparison, as ``egotools diff --json`` prints it.
    """

    old_id: str
    new_id: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    details: dict[str, Any]


class AdminClient:
    """A client of the admin service of one server. Thread-safe. No call is tried again by itself: most change something.

    Every method raises :class:`ClientError`; after a refused publication the old snapshot serves on.

    :param target: ``host:port`` of the admin service.
    :param tenant: whose catalogue the calls mean; empty for the only one of a server.
    :param tls: as of :class:`egotools.Client`; likewise ``token`` and ``insecure_token``.
    :raises InvalidRequestError: when a token would be sent in plain text to another machine.
    """

    def __init__(
        self,
        target: str,
        *,
        tenant: str = "",
        tls: grpc.ChannelCredentials | bool = False,
        token: Token = None,
        insecure_token: bool = False,
    ) -> None:
        private = tls is not False or insecure_token
        self._metadata = CallMetadata(target, token=token, tenant=tenant, is_private=private)
        self._channel = open_channel(grpc, target, tls, _OPTIONS)
        self._stub: Any = pb_grpc.CatalogAdminStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channel.close()

    def publish(self, snapshot_id: str = "", *, timeout_s: float = 300.0) -> PublishedSnapshot:
        """Load, check and serve a snapshot of the store, by default the current one, and make it the published one."""
        reply = self._call("Publish", pb.PublishRequest(snapshot_id=snapshot_id), timeout_s)
        return read_value(PublishedSnapshot, reply)

    def rollback(self, snapshot_id: str = "", *, timeout_s: float = 300.0) -> PublishedSnapshot:
        """Serve an earlier snapshot again, by default the one published before, and make it the published one."""
        reply = self._call("Rollback", pb.RollbackRequest(snapshot_id=snapshot_id), timeout_s)
        return read_value(PublishedSnapshot, reply)

    def snapshots(self, *, timeout_s: float = 30.0) -> tuple[SnapshotInfo, ...]:
        """Return the snapshots of the store, newest publication first."""
        reply = self._call("ListSnapshots", pb.ListSnapshotsRequest(), timeout_s)
        return tuple(read_value(SnapshotInfo, each, published=_time(each, "published")) for each in reply.snapshots)

    def diff(self, old_id: str = "", new_id: str = "", *, timeout_s: float = 300.0) -> CatalogDiff:
        """Compare two snapshots of the store, by default the one that is served and the current one."""
        reply = self._call("Diff", pb.DiffRequest(old_id=old_id, new_id=new_id), timeout_s)
        return read_value(CatalogDiff, reply, details=json.loads(reply.diff_json))

    def catalogs(self, *, timeout_s: float = 30.0) -> tuple[CatalogState, ...]:
        """Return the catalogues of the server that the caller may see, sorted by tenant."""
        reply = self._call("ListCatalogs", pb.ListCatalogsRequest(), timeout_s)
        return tuple(read_value(CatalogState, each, since=_time(each, "since")) for each in reply.catalogs)

    def _call(self, method: str, message: Any, timeout_s: float) -> Any:
        try:
            return getattr(self._stub, method)(message, timeout=timeout_s, metadata=self._metadata.pairs())
        except grpc.RpcError as failure:
            raise error_from_rpc(failure) from None


def _time(message: Any, field: str) -> datetime | None:
    return getattr(message, field).ToDatetime(tzinfo=UTC) if message.HasField(field) else None
