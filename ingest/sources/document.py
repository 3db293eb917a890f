"""The Document: one thing to read tools from, opened at most once."""

from __future__ import annotations

import gzip
import json
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from ontology.errors import DocumentError

__all__ = ["Document"]

_HEAD_BYTES = 4096


class Document:
    """One file, or one live address, to read tools from.

    :param address: what the user named: a path, ``python:module:name``, ``aws:SERVICE``, ``google-discovery:API``,
        ``mcp:COMMAND …``, ``mcp+http(s)://…``, ``http(s)://…``.
    :param path: the file, or None for a live address.
    :param namespace: the first part of the ids of its tools.
    """

    def __init__(self, address: str, *, path: Path | None = None, namespace: str = "") -> None:
        self.address = address
        self.path = path
        self.namespace = namespace

    def __repr__(self) -> str:
        return f"Document({self.address!r})"

    @property
    def suffix(self) -> str:
        """The file's ending in lower case without ``.gz`` (``.json``), or empty."""
        if self.path is None:
            return ""
        name = self.path.name.lower().removesuffix(".gz")
        return Path(name).suffix

    @cached_property
    def content(self) -> bytes:
        """The bytes, unpacked when gzipped.

        :raises DocumentError: when the file is missing, unreadable, or a torn gzip.
        """
        if self.path is None:
            raise DocumentError("a live address has no file content", subject=self.address)
        try:
            raw = self.path.read_bytes()
            return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        except (OSError, EOFError) as error:
            raise DocumentError(f"the file cannot be read: {error}", subject=self.address) from error

    @cached_property
    def text(self) -> str:
        """The content as UTF-8 text (a byte order mark is dropped).

        :raises DocumentError: when it is empty or not UTF-8, with the offset of the first bad byte.
        """
        try:
            text = self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.content.count(b"\n", 0, error.start) + 1
            raise DocumentError(
                f"the file is not UTF-8 (byte {error.start})",
                subject=f"{self.address}:{line}",
                remedy="Save it as UTF-8",
            ) from error
        if not text.strip():
            raise DocumentError("the file is empty", subject=self.address)
        return text

    @property
    def head(self) -> str:
        """The first 4 KiB as text, for detection; wrong bytes are replaced, never raised."""
        return self.content[:_HEAD_BYTES].decode("utf-8-sig", errors="replace")

    @cached_property
    def data(self) -> Any:
        """The content parsed as JSON, or as YAML where the ending or the first character says so.

        :raises DocumentError: with the line of the fault.
        """
        if self.suffix in {".yaml", ".yml"} or self.text.lstrip()[:1] not in "{[":
            return self._yaml()
        try:
            return json.loads(self.text)
        except json.JSONDecodeError as error:
            raise DocumentError(
                f"invalid JSON: {error.msg}", subject=f"{self.address}:{error.lineno}", remedy="Mend the JSON"
            ) from error
        except RecursionError as error:
            raise DocumentError("the JSON is nested too deeply", subject=self.address) from error

    def _yaml(self) -> Any:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            return yaml.load(self.text, Loader=loader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            where = f"{self.address}:{mark.line + 1}" if mark else self.address
            raise DocumentError(f"invalid YAML: {error.problem}", subject=where, remedy="Mend the YAML") from error
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            raise DocumentError(f"invalid YAML: {error}", subject=self.address, remedy="Mend the YAML") from error
