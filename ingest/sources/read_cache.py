"""The read cache: the tools of files that have not changed, so that a build reads only those that have.

An entry belongs to one file of one catalogue, and is replaced when the file changes. It holds for the digests of the file, of the files
that it refers to, and of the program's own readers. Live addresses are never kept: they must be asked.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from inference.result_cache import ResultCache
from ingest.sources.document import Document
from ingest.sources.file_state import FileState, file_state, is_unchanged
from ingest.sources.naming import DocumentRead
from ingest.sources.stored_read import read_from_bytes, read_to_bytes
from ontology.digests import code_digest

__all__ = ["ReadCache"]

_KIND = "read.v2"
_READERS = ("egotools", "ontology", "ingest")  # the packages whose code decides what is read
_MAX_BYTES = 2**28  # chosen, not tuned: a third of what SQLite takes as one value


class ReadCache:
    """What was read of files.

    :param results: has the entries of earlier builds; None where there was none.
    """

    def __init__(self, results: ResultCache | None) -> None:
        self._results = results
        self._code = code_digest(*_READERS)
        self._new: dict[str, bytes] = {}

    def state(self, document: Document) -> str | None:
        """The digest of a document that can be kept; None for a live address, and for a file that cannot be read."""
        found = file_state(document.path) if document.path is not None else None
        return found.digest or None if found is not None else None

    def get(self, document: Document, state: str) -> DocumentRead | None:
        """What was read of the document in this state, with its references; None where it must be read."""
        stored = self._results.get(_KIND, _key(document)) if self._results is not None else None
        if stored is None:
            return None
        header, _, body = stored.partition(b"\n")
        try:
            code, known, rows = json.loads(header)
            references = {Path(path): FileState(*state) for path, *state in rows}
            if (code, known) != (self._code, state) or not all(map(is_unchanged, references, references.values())):
                return None
            read = read_from_bytes(body, document)
        except (ValueError, TypeError, AttributeError):
            return None
        document.references.update(references)
        return read

    def put(self, read: DocumentRead, state: str) -> None:
        """Add what was read, unless the document has no tools, or changed while it was read."""
        document = read.document
        if not read.tools or self.state(document) != state:
            return
        references = [(str(path), *reference) for path, reference in sorted(document.references.items())]
        header = json.dumps([self._code, state, references]).encode()
        body = read_to_bytes(read)
        if len(body) <= _MAX_BYTES:
            self._new[_key(document)] = header + b"\n" + body

    def write(self, results: ResultCache) -> None:
        """Write the new entries, each in the place of an older one. Apart from :meth:`put`: the store of a build is made after its
        documents are read.
        """
        for key, entry in self._new.items():
            results.put(_KIND, key, entry)
        self._new.clear()


def _key(document: Document) -> str:
    """What a file is read with, beside its content: its address and namespace are in what is read, references depend on its folders."""
    path, root = (os.path.realpath(each) if each is not None else "" for each in (document.path, document.root))
    return hashlib.sha256(json.dumps([document.address, document.namespace, path, root]).encode()).hexdigest()
