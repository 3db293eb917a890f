"""The read cache: the tools of files that have not changed, so that a build reads only those that have.

An entry belongs to one file of one catalogue, and is replaced when the file changes. It holds for the digests of the file, of the files
that it refers to, and of the program's own readers. Live addresses are never kept: they must be asked.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

from inference.result_cache import ResultCache
from ingest.sources.document import Document, FileState, file_state, is_unchanged
from ingest.sources.naming import DocumentRead
from ingest.sources.source import RejectedRecord
from ingest.tool_cache import Digests
from ontology.errors import DocumentError
from ontology.files import code_digest
from ontology.json_values import JsonObject
from ontology.tool import Parameter, Tool

_FAST = 1  # the level of zlib; a higher one makes the bytes a tenth smaller and takes several times as long
_SCHEMAS = ("input_schema", "output_schema")


def _row(tool: Tool, digest: bytes, definitions: dict[str, int], fields: dict[tuple[Parameter, str], int]) -> list[Any]:
    """A tool without inputs, outputs and schemas, which share much with other tools: the numbers of its inputs, those of its
    outputs, and of each schema the own text and the numbers of its definitions by name; and the digest of all these."""
    schemas: dict[str, Any] = {
        key: [
            schema.own_text,
            {name: definitions.setdefault(text, len(definitions)) for name, text in schema.definitions},
        ]
        for key in _SCHEMAS
        if isinstance(schema := getattr(tool, key), JsonObject)
    }
    # Of two equal fields one may be bounded by 1 and the other by 1.0.
    numbers = [
        [fields.setdefault((each, repr(each.bounds)), len(fields)) for each in listed]
        for listed in (tool.parameters, tool.returns)
    ]
    bare: dict[str, Any] = {"parameters": (), "returns": (), **dict.fromkeys(schemas)}
    return [replace(tool, **bare).to_json(), *numbers, schemas, digest.hex()]


def _tool(row: list[Any], fields: list[Parameter], definitions: list[str]) -> Tool:
    bare, inputs, outputs, schemas, _ = row
    whole: dict[str, Any] = {
        key: JsonObject(text, {name: definitions[number] for name, number in own.items()})
        for key, (text, own) in schemas.items()
    }
    whole |= {"parameters": tuple(map(fields.__getitem__, inputs)), "returns": tuple(map(fields.__getitem__, outputs))}
    return replace(Tool.from_json(bare), **whole)


_KIND = "read.v5"
_READERS = ("egotools", "ontology", "ingest")  # the packages whose code decides what is read
_MAX_BYTES = 2**28  # chosen, not tuned: a third of what SQLite takes as one value


class ReadCache:
    """What was read of files; ``results`` has the entries of earlier builds, or is None. ``digests`` are those of its tools."""

    def __init__(self, results: ResultCache | None) -> None:
        self._results = results
        self._code = code_digest(*_READERS)
        self.unwritten: dict[str, bytes] = {}
        self.digests = Digests()

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
            entry = json.loads(zlib.decompress(body).decode("utf-8", "surrogatepass"))
            fields = list(map(Parameter.from_json, entry["fields"]))
            read = DocumentRead(
                document=document,
                format=entry["format"],
                keeps_ids=entry["keeps_ids"],
                secrets=entry["secrets"],
                rejected=[RejectedRecord(*record) for record in entry["rejected"]],
                tools=[_tool(row, fields, entry["definitions"]) for row in entry["tools"]],
            )
            for tool, (*_, digest) in zip(read.tools, entry["tools"], strict=True):
                self.digests.of_fields(tool, bytes.fromhex(digest))
        except (
            zlib.error,
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            RecursionError,
            DocumentError,
        ):  # damaged
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
        definitions, fields = dict[str, int](), dict[tuple[Parameter, str], int]()
        rows = [_row(tool, self.digests.of_fields(tool), definitions, fields) for tool in read.tools]
        entry = {
            "format": read.format,
            "keeps_ids": read.keeps_ids,
            "secrets": read.secrets,
            "rejected": [astuple(record) for record in read.rejected],
            "definitions": list(definitions),
            "fields": [each.to_json() for each, _ in fields],
            "tools": rows,
        }
        body = zlib.compress(json.dumps(entry, ensure_ascii=False).encode("utf-8", "surrogatepass"), _FAST)
        if len(body) <= _MAX_BYTES:
            self.unwritten[_key(document)] = header + b"\n" + body

    def write(self, results: ResultCache) -> None:
        """Write the new entries, each in the place of an older one, once the store of the build is made."""
        for key, entry in self.unwritten.items():
            results.put(_KIND, key, entry)
        self.unwritten.clear()


def _key(document: Document) -> str:
    """What a file is read with, beside its content: its address and namespace are in what is read, references depend on its folders."""
    path, root = (os.path.realpath(each) if each is not None else "" for each in (document.path, document.root))
    return hashlib.sha256(json.dumps([document.address, document.namespace, path, root]).encode()).hexdigest()
