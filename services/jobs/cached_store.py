"""Stores of documents that are part of the program: built once for each set of them, and kept in a cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from examples.company.shipped_documents import SHIPPED_CATALOG
from ontology.files import disk_errors, write_file
from planners.calls.sandbox import Sandbox
from planners.kgot.tools.task_files import TaskFiles
from planners.kgot.tools.tool_set import standard_tools
from services.threads import pin_threads

__all__ = ["cache_folder", "integrated_store", "shipped_store"]


def cache_folder(name: str) -> Path:
    """Return a folder of the user's cache, ``$XDG_CACHE_HOME/egotools/NAME``: what is in it can be made anew."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "egotools" / name


def state_folder() -> Path:
    """Return the folder of what the program keeps for the user, ``$XDG_STATE_HOME/egotools``."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "egotools"


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


def integrated_documents() -> str:
    """Return the documents of the integrated tools as JSON, which ``egotools build`` reads."""
    return json.dumps(standard_tools(TaskFiles(), Sandbox()).documents(), ensure_ascii=False, indent=1)


def integrated_store(folder: Path | None = None) -> Path:
    """Return a store with the integrated tools; where the folder has none, it is built, which takes some seconds.

    :param folder: of such stores; the user's cache folder where None.
    :raises StorageError: when it cannot be written.
    """
    documents = integrated_documents()
    return cached_store(
        documents,
        folder or cache_folder("integrated-tools"),
        lambda building: write_file(building / "integrated.json", documents),
    )


def shipped_store(folder: Path | None = None) -> Path:
    """Return the store; where the folder has none, it is built, which takes some seconds.

    :param folder: of such stores; the user's cache folder where None.
    :raises StorageError: when it cannot be written.
    """
    texts = [f"{path.name}\n{path.read_text(encoding='utf-8')}" for path in sorted(SHIPPED_CATALOG.glob("*.*"))]
    return cached_store("\n".join(texts), folder or cache_folder("company"), lambda building: SHIPPED_CATALOG)
