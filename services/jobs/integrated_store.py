"""The store of the integrated tools of ``egotools solve``."""

from __future__ import annotations

import json
from pathlib import Path

from ontology.files import write_file
from planners.calls.sandbox import Sandbox
from planners.kgot.tools.standard_tools import standard_tools
from planners.kgot.tools.task_files import TaskFiles
from services.jobs.cached_store import cached_store
from services.jobs.user_folders import cache_folder

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
    return cached_store(
        documents,
        folder or cache_folder("integrated-tools"),
        lambda building: write_file(building / "integrated.json", documents),
    )
