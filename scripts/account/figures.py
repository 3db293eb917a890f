"""The file of figures that the tables of a page are made of, by section."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ontology.files import write_file

__all__ = ["keep_section"]


def keep_section(name: str, figures: Any, path: Path) -> None:
    """Put the figures of a section into the file, and leave the others alone."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    write_file(path, json.dumps({**kept, name: figures}, indent=1, sort_keys=True) + "\n")
