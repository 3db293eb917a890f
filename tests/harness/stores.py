"""Stores and documents that are made once for all processes of a test run."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from ontology.tool import Tool

BuiltStore: TypeAlias = Callable[[str, str], Path]
"""From the address of a catalogue and the name of an encoder to a store of one's own."""
ToolsOf: TypeAlias = Callable[[str], Sequence[Tool]]
"""From the address of a document to its tools."""
MadeOnce: TypeAlias = Callable[[str, Callable[[Path], object]], Path]
"""From a name, and what writes at the path that it is given, to that path."""


def once(shared: Path, name: str, make: Callable[[Path], object]) -> Path:
    """A file or folder that the first process which asks for it makes, while the others wait.

    :param shared: a folder that the processes of this run share, and no other run.
    :param make: writes it at the path that it is given.
    """
    path = shared / hashlib.sha256(name.encode()).hexdigest()[:16]
    shared.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            making = path.with_suffix(f".{os.getpid()}")
            make(making)
            making.rename(path)
    return path


def built_store(shared: Path, copy: Path, address: str, encoder: str) -> Path:
    """Copy the store of a catalogue."""
    from inference import load_encoder  # every run of tests imports this module, and few build something
    from services.jobs.build import build_snapshot

    def make(making: Path) -> None:
        build_snapshot([address], making, encoder=load_encoder(encoder))

    return Path(shutil.copytree(once(shared, f"store {address} {encoder}", make), copy, symlinks=True))


def read_tools(shared: Path, address: str) -> Sequence[Tool]:
    """The tools of a document."""
    from ingest.sources import read_catalog

    def make(making: Path) -> None:
        making.write_bytes(pickle.dumps(read_catalog([address]).tools, protocol=pickle.HIGHEST_PROTOCOL))

    read: Sequence[Tool] = pickle.loads(once(shared, f"tools {address}", make).read_bytes())
    return read
