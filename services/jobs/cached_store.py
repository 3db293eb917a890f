"""Stores of documents that are part of the program: built once for each set of them, and kept in a cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

from examples.company.shipped_documents import SHIPPED_CATALOG
from ontology.files import disk_errors, write_file
from services.threads import pin_threads


def cache_folder(name: str) -> Path:
    """Return a folder of the user's cache, ``$XDG_CACHE_HOME/egotools/NAME``: what is in it can be made anew."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "egotools" / name


def integrated_store(folder: Path | None = None) -> Path:
    """Return a store with the integrated tools of ``egotools solve``, in a folder or the user's cache; where that has
    none, it is built, which takes some seconds. StorageError when it cannot be written."""
    from planners.calls.sandbox import Sandbox
    from planners.kgot.tools.task_files import TaskFiles
    from planners.kgot.tools.tool_set import standard_tools

    documents = standard_tools(TaskFiles(), Sandbox()).documents()
    text = json.dumps(documents, ensure_ascii=False, indent=1)
    return _cached_store(text, folder or cache_folder("integrated-tools"), name="integrated.json")


def shipped_store(folder: Path | None = None) -> Path:
    """Return a store with the tools of the shipped company, as :func:`integrated_store` does."""
    texts = [f"{path.name}\n{path.read_text(encoding='utf-8')}" for path in sorted(SHIPPED_CATALOG.glob("*.*"))]
    return _cached_store("\n".join(texts), folder or cache_folder("company"), SHIPPED_CATALOG)


def _cached_store(documents: str, folder: Path, address: Path | None = None, *, name: str = "") -> Path:
    """Return a store with documents, whose text is ``documents``: another one is another store. Without their address it is one, of that name."""
    key = hashlib.sha256(f"{version('egotools')}\n{documents}".encode()).hexdigest()[:16]
    store = folder / key
    if (store / "CURRENT").exists():
        return store
    pin_threads()  # before a numeric library is imported
    from inference import DEFAULT_ENCODER, load_encoder
    from services.jobs.build import build_snapshot

    with disk_errors(store):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=".building-", dir=folder))
    try:
        address = address or write_file(building / name, documents)
        build_snapshot([str(address)], building / key, encoder=load_encoder(DEFAULT_ENCODER, workers=1))
        with contextlib.suppress(OSError):  # another process was faster
            (building / key).rename(store)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return store
