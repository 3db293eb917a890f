"""Rows of a JSONL file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["read_rows"]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSONL file."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]
