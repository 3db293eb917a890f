"""How the packages of an extra get into the environment that runs: from the lock file of a clone, or by name where a wheel is installed."""

from __future__ import annotations

import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path

__all__ = ["how_to_install"]

_LOCKS = Path(__file__).resolve().parents[1] / "requirements"
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")


def how_to_install(extra: str) -> str:
    """Return what to do to get an extra, one sentence without a full stop.

    :param extra: its name in ``pyproject.toml``, and that of its lock file in ``requirements/``; ``default``: the packages of no extra.
    """
    if (_LOCKS / f"{extra}.txt").is_file():
        return f"Run in the folder of the clone: .venv/bin/python -m pip install -r requirements/{extra}.txt"
    packages = _packages(extra)
    if not packages:  # a copy of the folders that nobody installed
        return f"Install egotools with its extra {extra!r}"
    # Environments that uv made have no pip.
    here = [sys.executable, "-m", "pip", "install"]
    command = here if find_spec("pip") else ["uv", "pip", "install", "--python", sys.executable]
    return f"Run: {shlex.join([*command, *packages])}"


def _packages(extra: str) -> list[str]:
    """What the installed egotools says that an extra needs, as pip takes it: ``mcp>=2.0``."""
    try:
        stated = [line.partition(";") for line in requires("egotools") or []]
    except PackageNotFoundError:
        return []
    wanted = [] if extra == "default" else [extra]
    return [package.strip() for package, _, marker in stated if _EXTRA.findall(marker) == wanted]
