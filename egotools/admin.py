"""The client of the admin service: it publishes, rolls back, lists and compares the catalogues of a server."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from queue import Empty, Queue
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc

from egotools.channel import CallMetadata, Token, open_channel
from egotools.client_errors import client_error_of
from egotools.codec import error_from_rpc
from egotools.v1 import admin_pb2 as pb
from egotools.v1 import admin_pb2_grpc as pb_grpc

_T = TypeVar("_T")
_SETTLED = (grpc.ChannelConnectivity.READY, grpc.ChannelConnectivity.TRANSIENT_FAILURE)
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
    """One catalogue of a server.

    :param snapshot_id: of the snapshot that is served; empty while none is.
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
    """What differs between two snapshots.

    :param added: ids of tools that only the new one has; ``removed``: only the old one; each list at most 10,000, sorted.
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
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def connect(self, *, timeout_s: float = 5.0) -> None:
        """Connect now, and not with the first call: a server that does not answer is found out before its deadline.

        :raises ClientError: UNAVAILABLE when there is no connection.
        """
        states: Queue[grpc.ChannelConnectivity] = Queue()
        self._channel.subscribe(states.put, try_to_connect=True)
        ends, state = time.monotonic() + timeout_s, None
        try:
            while state not in _SETTLED:
                state = states.get(timeout=max(0.0, ends - time.monotonic()))
        except Empty:
            raise client_error_of("UNAVAILABLE", f"no answer within {timeout_s:g} s") from None
        finally:
            self._channel.unsubscribe(states.put)
        if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
            raise client_error_of("UNAVAILABLE", "it refuses the connection")

    def publish(self, snapshot_id: str = "", *, timeout_s: float = 300.0) -> PublishedSnapshot:
        """Serve a snapshot of the store, and make it the published one. It is loaded and checked first.

        :param snapshot_id: empty for the one that the store names as current.
        :raises ClientError: when it cannot be served; the old one serves on.
        """
        return _value(PublishedSnapshot, self._call("Publish", pb.PublishRequest(snapshot_id=snapshot_id), timeout_s))

    def rollback(self, snapshot_id: str = "", *, timeout_s: float = 300.0) -> PublishedSnapshot:
        """Serve an earlier snapshot again, and make it the published one.

        :param snapshot_id: empty for the one that was published before the current one.
        :raises ClientError: when it cannot be served; the present one serves on.
        """
        return _value(PublishedSnapshot, self._call("Rollback", pb.RollbackRequest(snapshot_id=snapshot_id), timeout_s))

    def snapshots(self, *, timeout_s: float = 30.0) -> tuple[SnapshotInfo, ...]:
        """Return the snapshots of the store, newest publication first."""
        reply = self._call("ListSnapshots", pb.ListSnapshotsRequest(), timeout_s)
        return tuple(_value(SnapshotInfo, each, published=_time(each, "published")) for each in reply.snapshots)

    def diff(self, old_id: str = "", new_id: str = "", *, timeout_s: float = 300.0) -> CatalogDiff:
        """Compare two snapshots of the store.

        :param old_id: empty for the one that is served.
        :param new_id: empty for the one that the store names as current.
        """
        reply = self._call("Diff", pb.DiffRequest(old_id=old_id, new_id=new_id), timeout_s)
        lists = {name: tuple(getattr(reply, name)) for name in ("added", "removed", "changed")}
        return _value(CatalogDiff, reply, **lists, details=json.loads(reply.diff_json))

    def catalogs(self, *, timeout_s: float = 30.0) -> tuple[CatalogState, ...]:
        """Return the catalogues of the server that the caller may see, sorted by tenant."""
        reply = self._call("ListCatalogs", pb.ListCatalogsRequest(), timeout_s)
        return tuple(_value(CatalogState, each, since=_time(each, "since")) for each in reply.catalogs)

    def _call(self, method: str, message: Any, timeout_s: float) -> Any:
        try:
            return getattr(self._stub, method)(message, timeout=timeout_s, metadata=self._metadata.pairs())
        except grpc.RpcError as failure:
            raise error_from_rpc(failure) from None


def _value(kind: type[_T], message: Any, **others: Any) -> _T:
    value_class: Any = kind
    names = [each.name for each in fields(value_class) if each.name not in others]
    return kind(**{name: getattr(message, name) for name in names}, **others)


def _time(message: Any, field: str) -> datetime | None:
    return getattr(message, field).ToDatetime(tzinfo=UTC) if message.HasField(field) else None
