"""What a sync has sent to which catalogue: a file with a digest of each tool, by catalogue and source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ontology.errors import StorageError
from ontology.files import disk_errors, write_file

__all__ = ["REMOVED", "UNKNOWN", "SentTools", "read_sent", "write_sent"]

_FORMAT = "egotools-sync.v2"
UNKNOWN = "?"
"""In place of a digest: the catalogue may have another form of the tool, or none."""
REMOVED = ""
"""In place of a digest: the tool was removed. It may come back with a rollback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentTools:
    """What a catalogue was sent of one source.

    :param base: id of the snapshot that the catalogue was served from, without changes.
    :param tools: id → digest of the tool, :data:`UNKNOWN` or :data:`REMOVED`.
    """

    base: str = ""
    tools: Mapping[str, str] = field(default_factory=dict)

    def over(self, base: str) -> SentTools:
        """What is known when this snapshot answers: over another one, only which tools there may be."""
        return self if base == self.base else SentTools(base=base, tools=dict.fromkeys(self.tools, UNKNOWN))


def read_sent(path: Path, target: str, tenant: str) -> dict[str, SentTools]:
    """Return what a catalogue was sent, by source; nothing where there is no file.

    :param target: the store or the server of the catalogue.
    :raises StorageError: when the file cannot be read, or was written by another program.
    """
    rows = _read(path).get(_key(target, tenant), {})
    try:
        return {name: SentTools(base=row["base"], tools=dict(row["tools"])) for name, row in rows.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _no_state(path) from error


def write_sent(path: Path, target: str, tenant: str, source: str, sent: SentTools) -> None:
    """Keep what a catalogue was sent of one source; the rest of the file stays as it is.

    :raises StorageError: when the file cannot be written.
    """
    catalogues = _read(path)
    row = {"base": sent.base, "tools": dict(sent.tools)}
    catalogues.setdefault(_key(target, tenant), {})[source] = row
    write_file(path, json.dumps({"format": _FORMAT, "catalogues": catalogues}, sort_keys=True))


def _key(target: str, tenant: str) -> str:
    return f"{tenant}@{target}"


def _read(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    with disk_errors(path):
        text = path.read_text(encoding="utf-8")
    try:
        content = json.loads(text)
        if content["format"] != _FORMAT:
            raise ValueError(content["format"])
        return dict(content["catalogues"])
    except (ValueError, KeyError, TypeError) as error:
        raise _no_state(path) from error


def _no_state(path: Path) -> StorageError:
    remedy = "Remove it: all tools are sent again then, and nothing is removed"
    return StorageError("the file is no state of a sync", subject=str(path), remedy=remedy)
