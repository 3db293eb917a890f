"""Folders of the user, as the XDG Base Directory Specification names them."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_folder", "state_folder", "versions_folder"]


def cache_folder(name: str) -> Path:
    """Return a folder of the user's cache, ``$XDG_CACHE_HOME/egotools/NAME``: what is in it can be made anew."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "egotools" / name


def state_folder() -> Path:
    """Return the folder of what the program keeps for the user, ``$XDG_STATE_HOME/egotools``."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "egotools"


def versions_folder() -> Path:
    """Return the folder of versions of operators: ``EGOTOOLS_OPERATORS``, else one in :func:`state_folder`."""
    named = os.environ.get("EGOTOOLS_OPERATORS")
    return Path(named) if named else state_folder() / "operators"
