"""Where a sync sends changes: to the store itself, or to a server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc

from egotools.v1 import admin_pb2 as pb
from egotools.v1 import admin_pb2_grpc as pb_grpc
from ontology.errors import error_from_status

if TYPE_CHECKING:
    from services.jobs.tool_changes import ToolChanges

__all__ = ["ServerSink", "StoreSink"]

_TENANT = "egotools-tenant"
_CALL_BYTES = 2**20  # of one message of the stream: a fourth of what a server takes
_TIMEOUT_S = 300.0


class StoreSink:
    """The catalogue of a store that no server changes."""

    def __init__(self, store: Path) -> None:
        from retrieval.snapshot_engine import open_engine
        from services.jobs.changed_tools import ToolsMaker
        from services.jobs.tool_changes import ToolChanges

        self.changes: ToolChanges = ToolChanges({"": store}, lambda *_: None, reader=ToolsMaker(), merge_after_s=0)
        self.changes.adopt("", open_engine(store))

    def upsert(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """As :meth:`services.jobs.source_sync.ChangeSink.upsert`."""
        self.changes.upsert("", tools)

    def delete(self, ids: Sequence[str]) -> None:
        """As :meth:`services.jobs.source_sync.ChangeSink.delete`."""
        self.changes.delete("", ids)

    def close(self) -> None:
        """Close the log."""
        self.changes.close()


class ServerSink:
    """The catalogue of a server, through its admin service.

    :param channel: to the address of the admin service.
    :param tenant: the catalogue, or empty.
    """

    def __init__(self, channel: grpc.Channel, *, tenant: str = "") -> None:
        self._channel = channel
        self._stub = pb_grpc.CatalogAdminStub(channel)
        self._metadata = ((_TENANT, tenant),) if tenant else ()

    def upsert(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """As :meth:`services.jobs.source_sync.ChangeSink.upsert`."""
        self._call(self._stub.UpsertTools, _messages(tools))

    def delete(self, ids: Sequence[str]) -> None:
        """As :meth:`services.jobs.source_sync.ChangeSink.delete`."""
        self._call(self._stub.DeleteTools, pb.DeleteToolsRequest(ids=ids))

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()

    def _call(self, method: Any, message: Any) -> None:
        try:
            method(message, metadata=self._metadata, timeout=_TIMEOUT_S, wait_for_ready=True)
        except grpc.RpcError as failure:
            code = failure.code().name
            raise error_from_status(code, failure.details() or code, subject="the admin service") from None


def _messages(tools: Sequence[Mapping[str, Any]]) -> Iterator[pb.UpsertToolsRequest]:
    """Yield the messages of one call, each of about a megabyte."""
    message, size = pb.UpsertToolsRequest(), 0
    for tool in tools:
        row = json.dumps(tool, ensure_ascii=False)
        if size and size + len(row) > _CALL_BYTES:
            yield message
            message, size = pb.UpsertToolsRequest(), 0
        message.tools_json.append(row)
        size += len(row)
    yield message
