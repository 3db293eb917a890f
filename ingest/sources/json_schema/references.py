"""Resolve a ``$ref`` in the same document or in another file, with the ``referencing`` library.

In OpenAPI 3.1 a schema may also have an address of its own (``$id``, ``$anchor``).

Only files inside the folder that the user gave are read. So a document cannot make egotools fetch from the network or read other
files of the disk.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from referencing import Registry, Resource, Specification
from referencing.exceptions import NoSuchResource, Unresolvable, Unretrievable
from referencing.jsonschema import DRAFT202012

from ingest.sources.document import Document
from ingest.sources.file_state import file_state
from ingest.sources.json_schema.schema import dangling_reference
from ingest.sources.json_schema.self_contained import Definitions
from ontology.errors import DocumentError

__all__ = ["References"]

# What these keys hold is data, not schemas.
_DATA = frozenset({"example", "examples", "default", "enum", "const"})
_ANCHORS = ("$anchor", "$dynamicAnchor")


@dataclass(frozen=True, slots=True)
class EmbeddedResources:
    """The schemas of a document by their addresses.

    :param resources: map from the absolute URI of a ``$id`` to its schema.
    :param anchors: map from the absolute URI with an anchor to its schema.
    """

    resources: dict[str, Any] = field(default_factory=dict)
    anchors: dict[str, Mapping[str, Any]] = field(default_factory=dict)


def has_json_schema_addresses(data: Any) -> bool:
    """Whether it is an OpenAPI document whose schemas are those of JSON Schema 2020-12: version 3.1 or later."""
    version = str(data.get("openapi", "")) if isinstance(data, Mapping) else ""
    return version.startswith("3.") and not version.startswith("3.0")


def embedded_resources(data: Any, base: str) -> EmbeddedResources:
    """Find the schemas with addresses, and make the references inside them absolute, in place.

    A ``$dynamicRef`` becomes a ``$ref`` where its anchor stands once. Where it stands several times, the target depends on the path
    of the evaluation; the reference is removed, so that any value is accepted.

    :param base: the URI of the document.
    """
    found = EmbeddedResources()
    dynamic: Counter[str] = Counter()
    references: list[tuple[dict[str, Any], str]] = []
    for node, own in _schemas(data, base):
        if isinstance(node.get("$id"), str) and own != base:
            found.resources.setdefault(own, node)
        for key in _ANCHORS:
            if isinstance(anchor := node.get(key), str):
                found.anchors.setdefault(f"{own}#{anchor}", node)
                dynamic[anchor] += key == "$dynamicAnchor"
        if isinstance(ref := node.get("$ref"), str) and own != base:
            node["$ref"] = absolute_reference(own, ref)
        if isinstance(ref := node.get("$dynamicRef"), str):
            references.append((node, absolute_reference(own, ref)))
    for node, ref in references:
        del node["$dynamicRef"]
        if dynamic[ref.rpartition("#")[2]] <= 1:
            node.setdefault("$ref", ref)
    return found


def absolute_reference(base: str, ref: str) -> str:
    """A reference as an absolute URI, or as it is where it is no valid one (``//[``).

    A fragment is added to any base, also to one of a scheme without paths (``urn:``).
    """
    if ref.startswith("#"):
        return f"{base}{ref}"
    try:
        return urljoin(base, ref)
    except ValueError:
        return ref


def _schemas(data: Any, base: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each object of a document with the URI that its references are relative to."""
    pending: list[tuple[Any, str]] = [(data, base)]
    done: set[int] = set()
    while pending:
        node, own = pending.pop()
        if id(node) in done:  # an alias of YAML
            continue
        done.add(id(node))
        if isinstance(node, list):
            pending += [(inner, own) for inner in reversed(node) if isinstance(inner, (dict, list))]
        elif isinstance(node, dict):
            if isinstance(id_ := node.get("$id"), str):
                own = absolute_reference(own, id_).partition("#")[0]
            yield node, own
            inner_nodes = [(inner, own) for key, inner in node.items() if key not in _DATA]
            pending += [pair for pair in reversed(inner_nodes) if isinstance(pair[0], (dict, list))]


class References:
    """Resolver of the references of one document.

    :meth:`lookup` takes the text of a ``$ref`` and returns its target; each file is read once.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._base = document.path.resolve().as_uri() if document.path is not None else "urn:egotools:document"
        self._files: dict[str, Resource[Any]] = {}
        self._found: dict[str, Mapping[str, Any]] = {}
        registry: Registry[Any] = Registry(retrieve=self._retrieve)  # type: ignore[call-arg]
        data = document.data
        embedded = embedded_resources(data, self._base) if has_json_schema_addresses(data) else EmbeddedResources()
        self._anchors = embedded.anchors
        #: The schemas that are referred to, converted.
        self.definitions = Definitions(self.lookup)
        schemas = [(uri, DRAFT202012.create_resource(schema)) for uri, schema in embedded.resources.items()]
        own = Specification.OPAQUE.create_resource(data)
        self._resolver = registry.with_resources([(self._base, own), *schemas]).resolver(base_uri=self._base)

    def lookup(self, ref: str) -> Mapping[str, Any]:
        """Return the object that ``ref`` refers to.

        :raises DocumentError: when the target does not exist, is no object, or is outside the folder; the subject has
            the line of the reference.
        """
        found = self._found.get(ref) or self._anchors.get(absolute_reference(self._base, ref))
        if found is None:
            try:
                contents = self._resolver.lookup(ref).contents
            except (Unresolvable, NoSuchResource, Unretrievable, ValueError) as error:
                raise self._dangling(ref, _cause(error)) from error
            except (TypeError, KeyError, AttributeError) as error:  # the library goes on through numbers and nulls
                raise self._dangling(ref, "a part of its path is no object and no list") from error
            if not isinstance(contents, Mapping):
                raise self._dangling(ref, "its target is no object")
            found = self._found[ref] = contents
        return found

    def resolve(self, node: Any) -> Mapping[str, Any]:
        """Return ``node``, or its target when it is a reference; an empty object when that is no object.

        :raises DocumentError: as :meth:`lookup`, and for cyclic references.
        """
        seen: set[str] = set()
        while isinstance(node, Mapping) and isinstance(ref := node.get("$ref"), str):
            if ref in seen:
                raise self._dangling(ref, "it refers to itself")
            seen.add(ref)
            node = self.lookup(ref)
        return node if isinstance(node, Mapping) else {}

    def _dangling(self, ref: str, why: str) -> DocumentError:
        name = ref.partition("#")[0].removeprefix(self._base) or ref
        shown = ref if name == ref or not ref.startswith("file:") else ref.rsplit("/", 1)[-1]
        return dangling_reference(shown, subject=self._line_of(ref), why=why)

    def _line_of(self, ref: str) -> str:
        text = self._document.text
        start = text.find(ref)
        return f"{self._document.address}:{text.count(chr(10), 0, start) + 1}" if start >= 0 else self._document.address

    def _retrieve(self, uri: str) -> Resource[Any]:
        if uri not in self._files:
            path = self._allowed_path(uri)
            contents = _with_absolute_references(Document(path.name, path=path).data, path.as_uri(), set())
            self._files[uri] = Specification.OPAQUE.create_resource(contents)
        return self._files[uri]

    def _allowed_path(self, uri: str) -> Path:
        parts = urlsplit(uri)
        if parts.scheme != "file" or parts.netloc or self._document.root is None:
            raise DocumentError("only files in the folder of the document are read", subject=uri)
        named = Path(unquote(parts.path))
        path = Path(os.path.realpath(named))
        root = Path(os.path.realpath(self._document.root))
        is_inside = path.is_relative_to(root)
        self._document.references[named] = file_state(named, content=is_inside)
        if not is_inside:
            raise DocumentError(
                f"it is outside the folder {root.name}", subject=uri, remedy="Name the folder that holds both"
            )
        if path.exists() and not path.is_file():  # a pipe or a device could be read without end
            raise DocumentError("it is no regular file", subject=uri, remedy="Refer to a file")
        return path


def _cause(error: BaseException) -> str:
    """Return the problem of the first DocumentError in a chain of causes, or an empty text."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, DocumentError):
            return cause.problem
        cause = cause.__cause__
    return ""


def _with_absolute_references(node: Any, base: str, done: set[int]) -> Any:
    """Make the references in another file absolute, so that they resolve from every document."""
    if id(node) in done:
        return node
    done.add(id(node))
    if isinstance(node, list):
        for inner in node:
            _with_absolute_references(inner, base, done)
    elif isinstance(node, dict):
        ref = node.get("$ref")
        if isinstance(ref, str):
            node["$ref"] = absolute_reference(base, ref)
        for inner in node.values():
            if isinstance(inner, (dict, list)):
                _with_absolute_references(inner, base, done)
    return node
