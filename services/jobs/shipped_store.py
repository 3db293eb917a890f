"""The store of the shipped company's tools: built on first use, and kept."""

from __future__ import annotations

from pathlib import Path

from services.company.shipped_documents import SHIPPED_CATALOG
from services.jobs.cached_store import cached_store
from services.jobs.user_folders import cache_folder

__all__ = ["shipped_store"]


def shipped_store(folder: Path | None = None) -> Path:
    """Return the store; where the folder has none, it is built, which takes some seconds.

    :param folder: of such stores; the user's cache folder where None.
    :raises StorageError: when it cannot be written.
    """
    texts = [f"{path.name}\n{path.read_text(encoding='utf-8')}" for path in sorted(SHIPPED_CATALOG.glob("*.*"))]
    return cached_store("\n".join(texts), folder or cache_folder("company"), lambda building: SHIPPED_CATALOG)
