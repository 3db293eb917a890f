"""The examination of a build: tools with severe findings are left out before anything is extracted from them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from ingest.trust.approvals import read_approvals
from ingest.trust.quarantine import NOT_EXAMINED, Examined, examine, read_record, write_record
from ontology.errors import EgotoolsError, NotFoundError
from ontology.tool import Tool
from retrieval.delta.changed_catalogue import changed_catalogue
from retrieval.index.records import Records
from retrieval.snapshot.change_records import Change, read_changes
from retrieval.snapshot.layout import Layout
from retrieval.snapshot.publish import current_snapshot
from retrieval.snapshot.verify import verify_snapshot

__all__ = ["examine_tools", "published_tools"]

_LOG = logging.getLogger(__name__)


def examine_tools(tools: tuple[Tool, ...], store: Path, policy: str | None) -> Examined:
    """Examine the tools of a build against what the store published, found and released before; under None nothing is examined.

    The record is written before anything is published: a build that is cut off in between must not let a tool that it left out
    pass for a new one in the next.

    :raises CatalogError: under ``refuse``, for a severe finding that was not approved; under ``quarantine``, when no tool is left.
    """
    if policy is None:
        return NOT_EXAMINED
    published = published_tools(store)
    examined = examine(
        tools,
        policy,
        previous=published,
        earlier=read_record(store),
        approvals=read_approvals(store),
        keep=_is_whole(store),
    )
    write_record(store, examined.record.without(published, {tool.id for tool in tools}))
    if examined.refused is not None:
        raise examined.refused
    return examined


def _is_whole(store: Path) -> bool:
    """Whether the published snapshot is as it was published, by somebody who is trusted: what is kept of it is published again."""
    try:
        verify_snapshot(current_snapshot(store))
    except EgotoolsError:
        return False
    return True


def published_tools(store: Path) -> Mapping[str, Tool]:
    """The tools that are served, as they were read, by id: those of the published snapshot after its changes; none where there is no
    snapshot, or a damaged one.
    """
    try:
        folder = current_snapshot(store)
        records = Records(Layout(folder).tools, Tool.from_json)
        changes = map(Change.from_content, read_changes(store, folder.name))
        tools = changed_catalogue((records[number] for number in range(len(records))), changes)
        return {tool.id: tool for tool in tools}
    except NotFoundError:
        return {}
    except (EgotoolsError, OSError) as error:
        _LOG.warning(
            "%s: changed descriptions are not found, as the published snapshot cannot be read: %s", store, error
        )
        return {}
