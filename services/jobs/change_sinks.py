"""Where a sync sends changes: to the store itself, or to a server."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from egotools.admin import AdminClient
from egotools.client_errors import ClientError
from ontology.errors import error_from_status
from services.audited import AuditedChange, audited, named_tools

if TYPE_CHECKING:
    from services.jobs.tool_changes import ToolChanges

__all__ = ["ServerSink", "StoreSink"]


class StoreSink:
    """The catalogue of a store that no server changes."""

    def __init__(self, store: Path) -> None:
        from retrieval.snapshot_engine import open_engine
        from services.jobs.changed_tools import ToolsMaker
        from services.jobs.tool_changes import ToolChanges

        self.store = store
        self.changes: ToolChanges = ToolChanges({"": store}, lambda *_: None, reader=ToolsMaker(), merge_after_s=0)
        self.changes.adopt("", open_engine(store))

    def upsert(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """As :meth:`services.jobs.source_sync.ChangeSink.upsert`."""
        with self._audited(str(tool.get("id", "")) for tool in tools) as change:
            change.subject = f"{self.changes.upsert('', tools).snapshot_id}: {change.subject}"

    def delete(self, ids: Sequence[str]) -> None:
        """As :meth:`services.jobs.source_sync.ChangeSink.delete`."""
        with self._audited(ids) as change:
            change.subject = f"{self.changes.delete('', ids).snapshot_id}: {change.subject}"

    def close(self) -> None:
        """Close the log."""
        self.changes.close()

    def _audited(self, ids: Iterable[str]) -> AbstractContextManager[AuditedChange]:
        return audited("change-tools", f"{self.store}: {named_tools(ids)}")


class ServerSink:
    """The catalogue of a server, through its admin service.

    :param client: of the admin service.
    """

    def __init__(self, client: AdminClient) -> None:
        self._client = client

    def upsert(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """As :meth:`services.jobs.source_sync.ChangeSink.upsert`."""
        with _errors():
            self._client.upsert_tools(json.dumps(tool, ensure_ascii=False) for tool in tools)

    def delete(self, ids: Sequence[str]) -> None:
        """As :meth:`services.jobs.source_sync.ChangeSink.delete`."""
        with _errors():
            self._client.delete_tools(ids)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        subject = error.subject or "the admin service"
        raise error_from_status(error.code, error.message, subject=subject, remedy=error.remedy) from None
