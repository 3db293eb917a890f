"""Answers over HTTP are asked for and taken without compression, so that limits count all that is kept in memory."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["IDENTITY", "is_encoded"]

IDENTITY = {"Accept-Encoding": "identity"}
"""The header of a request whose answer shall not be compressed."""


def is_encoded(headers: Mapping[str, str]) -> bool:
    """Whether an answer with these headers is compressed (``Content-Encoding`` other than ``identity``)."""
    encodings = headers.get("content-encoding", "").lower().split(",")
    return any(encoding.strip() not in ("", "identity") for encoding in encodings)
