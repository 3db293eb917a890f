"""Stores of shipped catalogues, built once for all processes of a test run."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

__all__ = ["BuiltStore", "built_store"]

BuiltStore: TypeAlias = Callable[[str, str], Path]
"""From the address of a catalogue and the name of an encoder to a store of one's own."""


def built_store(shared: Path, copy: Path, address: str, encoder: str) -> Path:
    """Copy the store of a catalogue; who asks for it first builds it, and the others wait.

    :param shared: a folder that the processes of this run share, and no other run.
    """
    from inference import load_encoder  # every run of tests imports this module, and few build something
    from services.jobs.build import build_snapshot

    name = hashlib.sha256(f"{address}\n{encoder}".encode()).hexdigest()[:16]
    shared.mkdir(parents=True, exist_ok=True)
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / name).is_dir():
            making = shared / f"{name}.{os.getpid()}"
            build_snapshot([address], making, encoder=load_encoder(encoder))
            making.rename(shared / name)
    return Path(shutil.copytree(shared / name, copy, symlinks=True))
