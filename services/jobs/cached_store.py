"""Stores of documents that are part of the program: built once for each set of them, and kept in a cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from ontology.files import disk_errors
from services.threads import pin_threads

__all__ = ["cached_store"]


def cached_store(documents: str, folder: Path, write: Callable[[Path], Path]) -> Path:
    """Return a store with documents; where the folder has none, it is built, which takes some seconds.

    :param documents: the text of all of them: another one is another store.
    :param folder: of such stores.
    :param write: returns the file or folder that is built; it may write it in the folder that it is given.
    :raises StorageError: when it cannot be written.
    """
    name = hashlib.sha256(f"{version('egotools')}\n{documents}".encode()).hexdigest()[:16]
    store = folder / name
    if (store / "CURRENT").exists():
        return store
    pin_threads()  # before a numeric library is imported
    from inference import DEFAULT_ENCODER, load_encoder
    from services.jobs.build import build_snapshot

    with disk_errors(store):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=".building-", dir=folder))
    try:
        encoder = load_encoder(DEFAULT_ENCODER, workers=1)
        build_snapshot([str(write(building))], building / name, encoder=encoder, workers=1)
        with contextlib.suppress(OSError):  # another process was faster
            (building / name).rename(store)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return store
