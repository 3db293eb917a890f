"""YAML files that ship beside the code: word lists and templates."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

__all__ = ["SAFE_LOADER", "read_yaml"]

SAFE_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader of plain data: libyaml's where PyYAML has it, ten times as fast, and linear in the depth."""


@cache
def read_yaml(file: Path) -> Any:
    """The content of a file, read once; callers must not change it."""
    return yaml.load(file.read_text(encoding="utf-8"), Loader=SAFE_LOADER)
