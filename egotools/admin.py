"""The client of the admin service: it publishes, rolls back, lists and compares the catalogues of a server.

Answers are the messages of ``proto/egotools/v1/admin.proto``, which describes their fields.
"""

from __future__ import annotations

from typing import Any, Self

import grpc

from egotools.channel import CallMetadata, Token, open_channel
from egotools.codec import error_from_rpc
from egotools.v1 import admin_pb2 as pb
from egotools.v1 import admin_pb2_grpc as pb_grpc

_OPTIONS = (("grpc.max_receive_message_length", 64 * 2**20), ("grpc.enable_retries", 0))


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

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    def publish(self, snapshot_id: str = "", *, timeout_s: float = 300.0) -> pb.PublishResponse:
        """Load, check and serve a snapshot of the store, by default the current one, and make it the published one."""
        reply: pb.PublishResponse = self._call("Publish", pb.PublishRequest(snapshot_id=snapshot_id), timeout_s)
        return reply

    def rollback(self, snapshot_id: str = "", *, timeout_s: float = 300.0) -> pb.PublishResponse:
        """Serve an earlier snapshot again, by default the one published before, and make it the published one."""
        reply: pb.PublishResponse = self._call("Rollback", pb.RollbackRequest(snapshot_id=snapshot_id), timeout_s)
        return reply

    def snapshots(self, *, timeout_s: float = 30.0) -> tuple[pb.SnapshotInfo, ...]:
        """Return the snapshots of the store, newest publication first."""
        return tuple(self._call("ListSnapshots", pb.ListSnapshotsRequest(), timeout_s).snapshots)

    def diff(self, old_id: str = "", new_id: str = "", *, timeout_s: float = 300.0) -> pb.DiffResponse:
        """Compare two snapshots of the store, by default the one that is served and the current one."""
        reply: pb.DiffResponse = self._call("Diff", pb.DiffRequest(old_id=old_id, new_id=new_id), timeout_s)
        return reply

    def catalogs(self, *, timeout_s: float = 30.0) -> tuple[pb.CatalogState, ...]:
        """Return the catalogues of the server that the caller may see, sorted by tenant."""
        return tuple(self._call("ListCatalogs", pb.ListCatalogsRequest(), timeout_s).catalogs)

    def _call(self, method: str, message: Any, timeout_s: float) -> Any:
        try:
            return getattr(self._stub, method)(message, timeout=timeout_s, metadata=self._metadata.pairs())
        except grpc.RpcError as failure:
            raise error_from_rpc(failure) from None
