"""The source ``python.v1``: one callable of ``python:module:name``, or all public functions of ``python:module``."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.sources.document import Document
from ingest.sources.python.child import read_module
from ingest.sources.source import RejectedRecord, Source
from ontology.tool import Tool

__all__ = ["PythonSource"]

_SCHEME = "python:"


class PythonSource(Source):
    """Callables of an importable module. An import runs the module, so only modules that the user names are imported."""

    name = "python.v1"
    live_prefixes = (_SCHEME,)

    def accepts(self, document: Document) -> bool:
        """Whether the address is ``python:…``."""
        return not document.has_content and document.address.startswith(self.live_prefixes)

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield one tool for the named callable, or for each public function of the module, read in a process of its own.

        :raises DocumentError: as :func:`ingest.sources.python.child.read_module`.
        """
        yield from read_module(document.address, env=document.access.resolved_env())
