"""Approvals: who released which content of which tool, when and why; one line each in the store's ``approvals.jsonl``.

An approval is of the exact content of a tool: any later change of its document voids it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from ontology.appended_file import append
from ontology.errors import StorageError
from ontology.files import disk_errors, flush_to_disk, lock_within
from ontology.tool import Tool

__all__ = ["APPROVALS", "Approval", "Audit", "approve", "content_hash", "read_approvals"]

APPROVALS = "approvals.jsonl"
"""The name of the file in a store."""
Audit: TypeAlias = Callable[[str, str, str, str, str], object]
"""Is told of each approval: action, actor, tenant, subject, outcome."""
_LOG = logging.getLogger(__name__)
_LOCK_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One release of a tool.

    :param tool: its id.
    :param sha256: of its content, see :func:`content_hash`.
    :param by: who released it.
    :param at: when, ISO 8601 in UTC.
    :param rules: names of the rules whose findings were known then.
    """

    tool: str
    sha256: str
    reason: str
    by: str
    at: str
    rules: tuple[str, ...] = ()


def content_hash(tool: Tool) -> str:
    """Return the SHA-256 of all of a tool's document, as hexadecimal text."""
    return hashlib.sha256(tool.canonical_json().encode("utf-8", "surrogatepass")).hexdigest()


def approve(
    store: Path,
    tools: Iterable[tuple[str, str, tuple[str, ...]]],
    *,
    reason: str,
    by: str,
    audit: Audit | None = None,
) -> list[Approval]:
    """Release tools, durably: the lines are on the disk when this returns.

    :param tools: id, content hash, and names of the rules that found something.
    :param audit: told of each after it is written.
    :raises StorageError: when they cannot be written; none counts then.
    """
    at = datetime.now(UTC).isoformat(timespec="seconds")
    made = [
        Approval(tool=tool, sha256=sha256, reason=reason, by=by, at=at, rules=rules) for tool, sha256, rules in tools
    ]
    path = store / APPROVALS
    lines = "".join(json.dumps(asdict(each), sort_keys=True) + "\n" for each in made).encode()
    with disk_errors(path), open(path, "a+b") as file:
        lock_within(file.fileno(), _LOCK_S, path, remedy="End the process that holds it, and approve again")
        end = file.seek(0, os.SEEK_END)
        torn = end and os.pread(file.fileno(), 1, end - 1) != b"\n"  # a crash has cut off the last line
        append(file.fileno(), b"\n" * bool(torn) + lines, end)
        flush_to_disk(store)
    for each in made:
        if audit is not None:
            audit("findings.approve", by, "", f"{each.tool}@sha256:{each.sha256}", "ok")
    return made


def read_approvals(store: Path) -> list[Approval]:
    """Return the approvals of a store in the order in which they were made; a line that is none is left out, with a warning.

    :raises StorageError: when the file is there and cannot be read.
    """
    path = store / APPROVALS
    try:
        lines = path.read_bytes().splitlines() if path.is_file() else []
    except OSError as error:
        problem = f"it cannot be read: {error.strerror}"
        raise StorageError(problem, subject=str(path), remedy="Check its permissions") from error
    found = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            found.append(Approval(**{**row, "rules": tuple(row.get("rules", ()))}))
        except (ValueError, TypeError, AttributeError) as error:
            _LOG.warning("%s:%d: no approval: %s", path, number, type(error).__name__)
    return found
