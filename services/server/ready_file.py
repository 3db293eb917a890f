"""The file that says that a server is ready, and where."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ontology.files import disk_errors, replacing

__all__ = ["read_ready_file", "write_ready_file"]


def write_ready_file(path: Path, address: str, snapshot_id: str, *, admin_address: str = "") -> None:
    """Write ``address``, ``host``, ``port``, ``pid`` and ``snapshot_id`` as JSON.

    :param admin_address: of the admin service, where there is one; it becomes ``admin_address``.
    :raises StorageError: when the file cannot be written.
    """
    host, _, port = address.rpartition(":")
    ready: dict[str, Any] = {
        "address": address,
        "host": host,
        "port": int(port),
        "pid": os.getpid(),
        "snapshot_id": snapshot_id,
    }
    if admin_address:
        ready["admin_address"] = admin_address
    with disk_errors(path, remedy="Choose a folder that exists and can be written"), replacing(path) as temporary:
        temporary.write_text(json.dumps(ready) + "\n", encoding="utf-8")


def read_ready_file(path: Path) -> dict[str, Any]:
    """Read what :func:`write_ready_file` wrote."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
