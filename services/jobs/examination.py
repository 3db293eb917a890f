"""The examination of a build: tools with severe findings are left out before anything is extracted from them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from ingest.trust.approvals import read_approvals
from ingest.trust.quarantine import Examined, examine, read_record, write_record
from ontology.errors import EgotoolsError, NotFoundError
from ontology.tool import Tool
from retrieval.index.records import Records
from retrieval.snapshot.layout import Layout
from retrieval.snapshot.publish import current_snapshot

__all__ = ["examine_tools", "published_tools"]

_LOG = logging.getLogger(__name__)


def examine_tools(tools: tuple[Tool, ...], store: Path, policy: str) -> Examined:
    """Examine the tools of a build against what the store published, found and released before.

    The record is written before anything is published: a build that is cut off in between must not let a tool that it left out
    pass for a new one in the next.

    :raises CatalogError: under ``refuse``, for a severe finding that was not approved; under ``quarantine``, when no tool is left.
    """
    examined = examine(
        tools, policy, previous=published_tools(store), earlier=read_record(store), approvals=read_approvals(store)
    )
    write_record(store, examined.record)
    if examined.refused is not None:
        raise examined.refused
    return examined


def published_tools(store: Path) -> Mapping[str, Tool]:
    """The tools of the published snapshot by id; none where there is no snapshot, or a damaged one."""
    try:
        records = Records(Layout(current_snapshot(store)).tools, Tool.from_json)
        return {tool.id: tool for tool in (records[number] for number in range(len(records)))}
    except NotFoundError:
        return {}
    except (EgotoolsError, OSError) as error:
        _LOG.warning(
            "%s: changed descriptions are not found, as the published snapshot cannot be read: %s", store, error
        )
        return {}
