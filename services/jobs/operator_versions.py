"""Where versions of operators are kept: a folder of the user."""

from __future__ import annotations

import os
from pathlib import Path

from services.jobs.user_folders import state_folder

__all__ = ["versions_folder"]


def versions_folder() -> Path:
    """Return the folder: ``EGOTOOLS_OPERATORS``, else one in the user's folder of state."""
    if named := os.environ.get("EGOTOOLS_OPERATORS"):
        return Path(named)
    return state_folder() / "operators"
