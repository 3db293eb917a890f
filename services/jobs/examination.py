"""The examination of a build: tools with severe findings are left out before anything is extracted from them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ingest.trust.approvals import read_approvals
from ingest.trust.quarantine import Examined, examine, read_record, write_record
from ontology.errors import EgotoolsError, NotFoundError
from ontology.tool import CONTEXT_PARAMETERS, OVERLAY_ORIGINS, Tool
from retrieval.index.records import Records
from retrieval.snapshot.layout import Layout
from retrieval.snapshot.publish import current_snapshot
from retrieval.snapshot.verify import verify_snapshot

__all__ = ["as_read", "examine_tools", "published_tools"]

_LOG = logging.getLogger(__name__)


def examine_tools(tools: tuple[Tool, ...], store: Path, policy: str) -> Examined:
    """Examine the tools of a build against what the store published, found and released before.

    The record is written before anything is published: a build that is cut off in between must not let a tool that it left out
    pass for a new one in the next.

    :raises CatalogError: under ``refuse``, for a severe finding that was not approved; under ``quarantine``, when no tool is left.
    """
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
    """The tools of the published snapshot, as they were read, by id; none where there is no snapshot, or a damaged one."""
    try:
        return {tool.id: as_read(tool) for tool in Records(Layout(current_snapshot(store)).tools, Tool.from_json)}
    except NotFoundError:
        return {}
    except (EgotoolsError, OSError) as error:
        _LOG.warning(
            "%s: changed descriptions are not found, as the published snapshot cannot be read: %s", store, error
        )
        return {}


def as_read(tool: Tool) -> Tool:
    """Return a tool of a snapshot without what the build adds to its metadata."""
    metadata = {key: value for key, value in tool.metadata.items() if key not in (CONTEXT_PARAMETERS, OVERLAY_ORIGINS)}
    return replace(tool, metadata=metadata)
