"""The read cache: the tools of files that have not changed, so that a build reads only those that have.

An entry belongs to one file of one catalogue, and is replaced when the file changes. It holds for the digests of the file, of the files
that it refers to, and of the program's own readers. Live addresses are never kept: they must be asked.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from inference.result_cache import ResultCache
from ingest.sources.document import Document, FileState, file_state, is_unchanged
from ingest.sources.naming import DocumentRead
from ingest.sources.source import RejectedRecord
from ingest.tool_cache import Digests, digests_of
from ontology.errors import DocumentError
from ontology.files import code_digest
from ontology.json_values import JsonObject, call_from_json, call_to_json, canonical_text
from ontology.tool import Dependency, Parameter, Tool

_FAST = 1  # the level of zlib; a higher one makes the bytes a tenth smaller and takes several times as long
_PARAMETER = tuple(each.name for each in fields(Parameter))
_DEPENDENCY = tuple(each.name for each in fields(Dependency))


def _row(tool: Tool, parameters: dict[str, int], definitions: dict[str, int]) -> dict[str, Any]:
    return {
        "id": tool.id,
        "name": tool.name,
        "description": tool.description,
        "parameters": [_number(parameter, parameters) for parameter in tool.parameters],
        "returns": [_number(parameter, parameters) for parameter in tool.returns],
        "depends_on": [[getattr(dependency, key) for key in _DEPENDENCY] for dependency in tool.depends_on],
        "metadata": dict(tool.metadata),
        "input_schema": _schema_row(tool.input_schema, definitions),
        "output_schema": _schema_row(tool.output_schema, definitions),
        "call": None if tool.call is None else call_to_json(tool.call),
    }


def _number(parameter: Parameter, numbers: dict[str, int]) -> int:
    """The number of a parameter. Equal ones share it; by their text, because 1 and 1.0 are equal, but not as text."""
    text = json.dumps([getattr(parameter, key) for key in _PARAMETER], ensure_ascii=False)
    return numbers.setdefault(text, len(numbers))


def _schema_row(schema: Mapping[str, Any] | None, definitions: dict[str, int]) -> list[Any] | None:
    """The text of a schema, and the number of each of its definitions, by name."""
    if not isinstance(schema, JsonObject):
        return None if schema is None else [canonical_text(schema), {}]
    numbers = {name: definitions.setdefault(text, len(definitions)) for name, text in schema.definitions}
    return [schema.own_text, numbers]


def _schema(row: list[Any] | None, definitions: list[str]) -> JsonObject | None:
    if row is None:
        return None
    own, numbers = row
    return JsonObject(own, {name: definitions[number] for name, number in numbers.items()})


def _tool(row: Mapping[str, Any], parameters: list[Parameter], definitions: list[str]) -> Tool:
    return Tool(
        id=row["id"],
        name=row["name"],
        description=row["description"],
        parameters=tuple(parameters[number] for number in row["parameters"]),
        returns=tuple(parameters[number] for number in row["returns"]),
        depends_on=tuple(Dependency(**dict(zip(_DEPENDENCY, each, strict=True))) for each in row["depends_on"]),
        metadata=row["metadata"],
        call=None if row["call"] is None else call_from_json(row["call"]),
        input_schema=_schema(row["input_schema"], definitions),
        output_schema=_schema(row["output_schema"], definitions),
    )


_KIND = "read.v3"
_READERS = ("egotools", "ontology", "ingest")  # the packages whose code decides what is read
_MAX_BYTES = 2**28  # chosen, not tuned: a third of what SQLite takes as one value


class ReadCache:
    """What was read of files; ``results`` has the entries of earlier builds, or is None."""

    def __init__(self, results: ResultCache | None) -> None:
        self._results = results
        self._code = code_digest(*_READERS)
        self.unwritten: dict[str, bytes] = {}
        self.digests: list[Digests] = []

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
            code, known, rows, hashes = json.loads(header)
            references = {Path(path): FileState(*state) for path, *state in rows}
            if (code, known) != (self._code, state) or not all(map(is_unchanged, references, references.values())):
                return None
            entry = json.loads(zlib.decompress(body).decode("utf-8", "surrogatepass"))
            parameters: list[Parameter] = []
            for text in entry["parameters"]:
                stated = dict(zip(_PARAMETER, json.loads(text), strict=True))
                stated["enum"] = tuple(stated["enum"])
                stated["bounds"] = tuple((keyword, bound) for keyword, bound in stated["bounds"])
                parameters.append(Parameter(**stated))
            read = DocumentRead(
                document=document,
                format=entry["format"],
                keeps_ids=entry["keeps_ids"],
                secrets=entry["secrets"],
                rejected=[RejectedRecord(*record) for record in entry["rejected"]],
                tools=[_tool(row, parameters, entry["definitions"]) for row in entry["tools"]],
            )
            self.digests += [
                Digests(tool, bytes.fromhex(core), bytes.fromhex(whole))
                for tool, (core, whole) in zip(read.tools, hashes, strict=True)
            ]
        except (zlib.error, ValueError, LookupError, TypeError, AttributeError, DocumentError):  # it is damaged
            return None
        document.references.update(references)
        return read

    def put(self, read: DocumentRead, state: str) -> None:
        """Add what was read, unless the document has no tools, or changed while it was read."""
        document = read.document
        if not read.tools or self.state(document) != state:
            return
        references = [(str(path), *reference) for path, reference in sorted(document.references.items())]
        digests = list(map(digests_of, read.tools))
        self.digests += digests
        hashes = [(each.core.hex(), each.whole.hex()) for each in digests]
        header = json.dumps([self._code, state, references, hashes]).encode()
        parameters: dict[str, int] = {}
        definitions: dict[str, int] = {}
        rows = [_row(tool, parameters, definitions) for tool in read.tools]
        entry = {
            "format": read.format,
            "keeps_ids": read.keeps_ids,
            "secrets": read.secrets,
            "rejected": [astuple(record) for record in read.rejected],
            "parameters": list(parameters),
            "definitions": list(definitions),
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
