"""Digests of a configuration and of the code. A stored result is valid only for the same digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

__all__ = ["code_digest", "config_hash"]

_DIGITS = 12
_NOT_SOURCE = (".pyc", ".onnx")  # compiled code, and model weights: the configurations hold the digests of the weights


def config_hash(config: Mapping[str, Any]) -> str:
    """Return the first 12 hex digits of the SHA-256 of a configuration's canonical JSON."""
    text = json.dumps(config, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


@cache
def code_digest(*packages: str) -> str:
    """Return the SHA-256 (64 hex digits) of the source and data files of these packages."""
    digest = hashlib.sha256()
    for package in packages:
        for name, content in sorted(_sources(files(package), f"{package}/")):
            digest.update(f"{name}\n{len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()


def _sources(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _sources(entry, f"{prefix}{entry.name}/")
        elif entry.is_file() and not entry.name.endswith(_NOT_SOURCE):
            yield f"{prefix}{entry.name}", entry.read_bytes()
