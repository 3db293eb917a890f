"""The store of the shipped company: built once for each state of its documents, and kept in a cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

from examples.company.shipped_documents import SHIPPED_CATALOG
from ontology.files import disk_errors
from services.threads import pin_threads


def cache_folder(name: str) -> Path:
    """Return a folder of the user's cache, ``$XDG_CACHE_HOME/egotools/NAME``: what is in it can be made anew."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "egotools" / name


def shipped_store(folder: Path | None = None) -> Path:
    """Return a store with the tools of the shipped company, in a folder or the user's cache; where that has none of these documents, it is
    built, which takes some seconds. StorageError when it cannot be written."""
    texts = [f"{path.name}\n{path.read_text(encoding='utf-8')}" for path in sorted(SHIPPED_CATALOG.glob("*.*"))]
    documents, folder = "\n".join(texts), folder or cache_folder("company")
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
        build_snapshot([str(SHIPPED_CATALOG)], building / key, encoder=load_encoder(DEFAULT_ENCODER, workers=1))
        with contextlib.suppress(OSError):  # another process was faster
            (building / key).rename(store)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return store
