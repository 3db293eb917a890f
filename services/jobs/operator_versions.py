"""Where versions of operators are kept: a folder of the user."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["versions_folder"]


def versions_folder() -> Path:
    """Return the folder: ``EGOTOOLS_OPERATORS``, else one in the user's folder of state."""
    if named := os.environ.get("EGOTOOLS_OPERATORS"):
        return Path(named)
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return home / "egotools" / "operators"
