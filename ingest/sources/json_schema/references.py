"""Resolve a ``$ref`` in the same document or in another file.

Only files inside the folder that the user gave are read. So a document cannot make egotools fetch from the network or read other
files of the disk.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from ingest.sources.document import Document, file_state
from ingest.sources.json_schema.schema import at_pointer, dangling_reference
from ontology.errors import DocumentError


def _absolute(base: str, ref: str) -> str:
    """A reference as an absolute URI, or as it is where it is no valid one (``//[``); a fragment is added to any base, also to ``urn:``."""
    if ref.startswith("#"):
        return f"{base}{ref}"
    try:
        return urljoin(base, ref)
    except ValueError:
        return ref


class References:
    """Resolver of the references of one document; each file is read once."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.root: Mapping[str, Any] = document.data
        self._base = document.path.resolve().as_uri() if document.path is not None else "urn:egotools:document"
        self._resources: dict[str, Any] = {self._base: self.root}
        self._found: dict[str, Mapping[str, Any]] = {}

    def lookup(self, ref: str) -> Mapping[str, Any]:
        """Return the object that ``ref`` refers to; an error has the line of the reference."""
        if ref not in self._found:
            target = self._target(ref)
            if not isinstance(target, Mapping):
                raise self._dangling(ref, "its target is no object")
            self._found[ref] = target
        return self._found[ref]

    def resolve(self, node: Any) -> Mapping[str, Any]:
        """Return ``node``, or its target when it is a reference; an empty object when that is no object."""
        seen: set[str] = set()
        while isinstance(node, Mapping) and isinstance(ref := node.get("$ref"), str):
            if ref in seen:
                raise self._dangling(ref, "it refers to itself")
            seen.add(ref)
            node = self.lookup(ref)
        return node if isinstance(node, Mapping) else {}

    def _target(self, ref: str) -> Any:
        absolute = _absolute(self._base, ref)
        if absolute in self._resources:
            return self._resources[absolute]
        uri, _, fragment = absolute.partition("#")
        try:
            node = self._resources[uri] if uri in self._resources else self._file(uri)
        except DocumentError as error:
            raise self._dangling(ref, error.problem) from error
        except ValueError as error:
            raise self._dangling(ref, "") from error
        if fragment and not fragment.startswith("/"):
            raise self._dangling(ref, "")
        try:
            return at_pointer(node, unquote(fragment))
        except LookupError as error:
            raise self._dangling(ref, "") from error

    def _dangling(self, ref: str, why: str) -> DocumentError:
        name = ref.partition("#")[0].removeprefix(self._base) or ref
        shown = ref if name == ref or not ref.startswith("file:") else ref.rsplit("/", 1)[-1]
        text, subject = self._document.text, self._document.address
        start = text.find(ref)
        if start >= 0:
            subject = f"{subject}:{text.count(chr(10), 0, start) + 1}"
        return dangling_reference(shown, subject=subject, why=why)

    def _file(self, uri: str) -> Any:
        parts = urlsplit(uri)
        if parts.scheme != "file" or parts.netloc or self._document.root is None:
            raise DocumentError("only files in the folder of the document are read", subject=uri)
        named = Path(unquote(parts.path))
        path = Path(os.path.realpath(named))
        root = Path(os.path.realpath(self._document.root))
        is_inside = path.is_relative_to(root)
        state = self._document.references[named] = file_state(named, content=is_inside)
        if not is_inside:
            problem = f"it is outside the folder {root.name}"
            raise DocumentError(problem, subject=uri, remedy="Name the folder that holds both")
        if state.kind == "other":  # a pipe or a device could be read without end
            raise DocumentError("it is no regular file", subject=uri, remedy="Refer to a file")
        data = Document(path.name, path=path).data
        # Its references are made absolute, so that they resolve from every document; an alias of YAML is one object.
        pending, done = [data], set[int]()
        while pending:
            node = pending.pop()
            if id(node) not in done:
                done.add(id(node))
                if isinstance(node, dict) and isinstance(node.get("$ref"), str):
                    node["$ref"] = _absolute(path.as_uri(), node["$ref"])
                inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
                pending += [each for each in inner if isinstance(each, (dict, list))]
        self._resources[uri] = data
        return data
