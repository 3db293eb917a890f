"""Tools of large documents, read once for all processes of a test run."""

from __future__ import annotations

import fcntl
import hashlib
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from ontology.tool import Tool

__all__ = ["ToolsOf", "read_tools"]

ToolsOf: TypeAlias = Callable[[str], Sequence[Tool]]
"""From the address of a document to its tools."""


def read_tools(shared: Path, address: str) -> Sequence[Tool]:
    """The tools of a document; who asks for them first reads it, and the others wait.

    :param shared: a folder that the processes of this run share, and no other run.
    """
    from ingest.sources import read_catalog  # every run of tests imports this module, and few read a document

    name = hashlib.sha256(address.encode()).hexdigest()[:16]
    shared.mkdir(parents=True, exist_ok=True)
    kept = shared / f"{name}.pickle"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            making = kept.with_suffix(".new")
            making.write_bytes(pickle.dumps(read_catalog([address]).tools, protocol=pickle.HIGHEST_PROTOCOL))
            making.rename(kept)
    read: Sequence[Tool] = pickle.loads(kept.read_bytes())
    return read
