"""The store of the integrated tools of ``egotools solve``: built once for each set of them, and kept in a cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

from ontology.files import disk_errors, write_file
from planners.calling.sandbox import Sandbox
from planners.kgot.tools.standard_tools import standard_tools
from planners.kgot.tools.task_files import TaskFiles
from services.threads import pin_threads

__all__ = ["integrated_documents", "integrated_store"]


def integrated_documents() -> str:
    """Return the documents of the integrated tools as JSON, which ``egotools build`` reads."""
    return json.dumps(standard_tools(TaskFiles(), Sandbox()).documents(), ensure_ascii=False, indent=1)


def integrated_store(folder: Path | None = None) -> Path:
    """Return a store with the integrated tools; where the folder has none, it is built, which takes some seconds.

    :param folder: of such stores; the user's cache folder where None.
    :raises StorageError: when it cannot be written.
    """
    documents = integrated_documents()
    name = hashlib.sha256(f"{version('egotools')}\n{documents}".encode()).hexdigest()[:16]
    store = (folder or _cache()) / name
    if (store / "CURRENT").exists():
        return store
    pin_threads()  # before a numeric library is imported
    from inference import DEFAULT_ENCODER, load_encoder
    from services.jobs.build import build_snapshot

    with disk_errors(store):
        store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=".building-", dir=store.parent))
    try:
        source = write_file(building / "integrated.json", documents)
        build_snapshot([str(source)], building / name, encoder=load_encoder(DEFAULT_ENCODER, workers=1), workers=1)
        with contextlib.suppress(OSError):  # another process was faster
            (building / name).rename(store)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return store


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or (Path.home() / ".cache")
    return Path(home) / "egotools" / "integrated-tools"
