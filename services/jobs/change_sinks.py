"""Where a sync sends changes: to the store itself, or to a server."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from egotools.admin import AdminClient
from egotools.client_errors import ClientError
from ontology.errors import InvalidArgumentError, NotFoundError, OtherWriterError, error_from_status
from services.audited import AuditedChange, audited, named_tools

if TYPE_CHECKING:
    from services.jobs.store_changes import StoreChanges

__all__ = ["ServerSink", "StoreSink", "server_errors"]

_ANSWER_S = 10.0


class StoreSink:
    """The catalogue of a store that no server changes."""

    def __init__(self, store: Path) -> None:
        from retrieval.snapshot_engine import open_engine
        from services.jobs.changed_tools import ToolsMaker
        from services.jobs.store_changes import StoreChanges

        self.store = store
        self.target, self.tenant = str(store.resolve()), ""
        self.changes: StoreChanges = StoreChanges({"": store}, lambda *_: None, reader=ToolsMaker(), merge_after_s=0)
        self._base = open_engine(store)
        self.changes.adopt("", self._base)

    def base(self) -> str:
        """As :meth:`services.jobs.source_sync.ChangeSink.base`. What is published meanwhile, is not changed here."""
        return self._base.snapshot_id

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
    :param target: its address; ``tenant``: whose catalogue, empty for the only one.
    """

    def __init__(self, client: AdminClient, target: str, tenant: str = "") -> None:
        self._client, self.target, self.tenant = client, target, tenant

    def base(self) -> str:
        """As :meth:`services.jobs.source_sync.ChangeSink.base`."""
        with server_errors(self.target):
            catalogs = self._client.catalogs(timeout_s=_ANSWER_S)
        found = [each for each in catalogs if not self.tenant or each.tenant == self.tenant]
        if not found:
            raise NotFoundError("the server has no such catalogue", subject=self.tenant or self.target)
        if len(found) > 1:
            raise InvalidArgumentError(
                f"the server has {len(found)} catalogues", subject=self.target, remedy="Name one with --tenant"
            )
        return found[0].snapshot_id.partition("+")[0]

    def upsert(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """As :meth:`services.jobs.source_sync.ChangeSink.upsert`."""
        with server_errors(self.target):
            self._client.upsert_tools(json.dumps(tool, ensure_ascii=False) for tool in tools)

    def delete(self, ids: Sequence[str]) -> None:
        """As :meth:`services.jobs.source_sync.ChangeSink.delete`."""
        with server_errors(self.target):
            self._client.delete_tools(ids)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


@contextmanager
def server_errors(target: str) -> Iterator[None]:
    """Raise errors of the client as those of a command.

    :param target: address of the admin service.
    """
    try:
        yield
    except ClientError as error:
        remedy = error.remedy
        if not remedy and error.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
            remedy = "Check the address; of a server with TLS also --ca-file, and --token-file"
        subject = error.subject or target
        if error.reason == "OTHER_WRITER":  # of all changes; another error with this code may be of one tool
            raise OtherWriterError(error.message.rstrip("."), subject=subject, remedy=remedy.rstrip(".")) from error
        raise error_from_status(error.code, error.message, subject=subject, remedy=remedy) from error
