"""What is true of the card of every model that ships."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def assert_files_are_those_of_the_card(folder: Path, card: Mapping[str, Any]) -> None:
    """Graph and tokenizer, no more and no less, have the hashes that the card says."""
    assert set(card["files"]) == {"model.onnx", "tokenizer.json"}
    for name, entry in card["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == entry["sha256"]
