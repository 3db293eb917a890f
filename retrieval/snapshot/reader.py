"""The Snapshot: everything a request needs, in one immutable, memory-mapped folder with one id."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ontology.errors import NotFoundError, SnapshotCorruptError, SnapshotVersionError
from ontology.tool import Tool
from ontology.tool_text import tool_text
from retrieval.index.adjacency import read_adjacency
from retrieval.index.bm25 import read_bm25
from retrieval.index.lookup import Lookup
from retrieval.index.records import Picked, Records, Texts
from retrieval.index.text_fields import FIELDS, NAMES
from retrieval.index.vectors import NodeVectors
from retrieval.snapshot.layout import FORMAT_VERSION
from retrieval.snapshot.publish import MANIFEST, content_id, current_snapshot, file_digest
from retrieval.snapshot.weights import read_weights

__all__ = ["Snapshot", "open_snapshot"]


def open_snapshot(store: Path, *, verify: bool = True) -> Snapshot:
    """Open the published snapshot of a store, or a snapshot folder itself.

    :param verify: check size and SHA-256 of every file first.
    :raises NotFoundError: when there is none.
    :raises SnapshotVersionError: when it has another format version.
    :raises SnapshotCorruptError: naming the file that is missing, truncated or altered.
    """
    folder = current_snapshot(store)
    manifest = _read_manifest(folder)
    version = manifest.get("format_version")
    if version != FORMAT_VERSION:
        raise SnapshotVersionError(
            f"the snapshot has format version {version}; this egotools reads {FORMAT_VERSION}",
            subject=str(folder),
            remedy="Build it again with this egotools, or serve it with the one that wrote it",
        )
    if verify:
        _verify(folder, manifest)
    try:
        return Snapshot(folder, manifest)
    except (OSError, ValueError, EOFError, RuntimeError) as error:
        raise SnapshotCorruptError(f"the snapshot cannot be read: {error}", subject=str(folder)) from error


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SnapshotCorruptError(f"the manifest cannot be read: {error}", subject=str(path)) from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise SnapshotCorruptError("the manifest lists no files", subject=str(path), remedy="Build again")
    return manifest


def _verify(folder: Path, manifest: Mapping[str, Any]) -> None:
    files: Mapping[str, Mapping[str, Any]] = manifest["files"]
    with ThreadPoolExecutor(max_workers=2) as pool:  # hashing releases the interpreter lock
        checks = [pool.submit(_check_file, folder / name, said) for name, said in sorted(files.items())]
        for check in checks:
            check.result()
    said = {key: value for key, value in manifest.items() if key != "snapshot_id"}
    if content_id(said) != manifest.get("snapshot_id"):
        raise SnapshotCorruptError("the manifest was altered", subject=str(folder / MANIFEST), remedy="Build again")


def _check_file(path: Path, said: Mapping[str, Any]) -> None:
    remedy = "Build again, or publish an older snapshot"
    if not path.is_file():
        raise SnapshotCorruptError("the file is missing", subject=str(path), remedy=remedy)
    size = path.stat().st_size
    if size != said.get("bytes"):
        raise SnapshotCorruptError(
            f"the file has {size} bytes, not {said.get('bytes')}", subject=str(path), remedy=remedy
        )
    if file_digest(path) != said.get("sha256"):
        raise SnapshotCorruptError("the file was altered (SHA-256 differs)", subject=str(path), remedy=remedy)


class Snapshot:
    """Read access to one snapshot. Thread-safe; nothing in it ever changes."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        self.id: str = manifest["snapshot_id"]
        self.weights = read_weights(manifest, subject=str(folder / MANIFEST))
        self.predicates: tuple[str, ...] = tuple(manifest["predicates"])
        self.abbreviations: Mapping[str, str] = manifest["abbreviations"]
        self.tools = Records(folder / "tools")
        self.nodes = Records(folder / "nodes")
        self._node_keys = Texts(folder / "node_keys")
        self.edges: Records | Picked = Records(folder / "edges")
        self.adjacency = read_adjacency(folder)
        self.vectors = NodeVectors(folder, "nodes", often=len(self.tools))
        self.name_vectors = NodeVectors(folder, "names")
        self.fields = {field: read_bm25(folder, field, len(self.tools)) for field in FIELDS}
        self.names_index = read_bm25(folder, NAMES, len(self.tools))
        self.ngrams = Lookup(folder, "ngrams")
        self._keys = Lookup(folder, "keys")
        self._filters = Lookup(folder, "filters")

    @property
    def tool_count(self) -> int:
        """Number of tools; they are the first nodes."""
        return len(self.tools)

    def tool(self, number: int) -> Tool:
        """The tool with this number."""
        return Tool.from_json(self.tools[number])

    def tool_id(self, number: int) -> str:
        """The id of the tool with this number."""
        return self.node_key(number).removeprefix("tool:")

    def tool_number(self, tool_id: str) -> int:
        """The number of the tool with this id.

        :raises NotFoundError: when the catalogue has no such tool.
        """
        number = self.find_node(f"tool:{tool_id}")
        if number is None:
            raise NotFoundError("the catalogue has no such tool", subject=tool_id)
        return number

    def node_key(self, number: int) -> str:
        """``type:name`` of a node."""
        return self._node_keys[number]

    def find_node(self, key: str) -> int | None:
        """The number of the node with this key, or None."""
        for number in self._keys[key]:
            if self.node_key(int(number)) == key:
                return int(number)
        return None

    def node_text(self, number: int) -> str:
        """The text of a node that is embedded and shown."""
        text: str = tool_text(self.tool(number)) if number < self.tool_count else self.nodes[number]["text"]
        return text

    def allowed(self, filters: Mapping[str, tuple[str, ...]]) -> NDArray[np.bool_] | None:
        """The nodes that a filtered request may see, bool [nodes]; None when nothing is filtered.

        A tool must have one of the values of every key; any other node must touch an allowed tool.
        """
        if not filters:
            return None
        tools = np.ones(self.tool_count, dtype=bool)
        for key, values in sorted(filters.items()):
            has = np.zeros(self.tool_count, dtype=bool)
            for value in values:
                has[self._filters[f"{key}={value}"]] = True
            tools &= has
        allowed = np.zeros(len(self.nodes), dtype=bool)
        allowed[: self.tool_count] = tools
        allowed = self.adjacency.touched_by(allowed)
        allowed[: self.tool_count] = tools
        return allowed

    def only_tools(self, allowed: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """The tools among the allowed nodes, as a mask over all nodes, bool [nodes]; None allows all."""
        mask = np.zeros(len(self.nodes), dtype=bool)
        mask[: self.tool_count] = True if allowed is None else allowed[: self.tool_count]
        return mask

    def without(self, predicates: Collection[str]) -> Snapshot:
        """This snapshot with the edges of these predicates out of sight, under the same id: for measuring, not for serving."""
        hidden = [number for number, name in enumerate(self.predicates) if name in predicates]
        kept = np.flatnonzero(~np.isin(self.adjacency.predicates, hidden))
        seen = copy.copy(self)
        seen.edges = Picked(self.edges, kept)
        seen.adjacency = self.adjacency.only(kept)
        vars(seen).pop("tool_degrees", None)  # counted over all edges, if it was asked before
        return seen

    def rarity(self, node: int) -> float:
        """Inverse document frequency of a node over the tools, > 0: ``ln(1 + tools / (1 + tools it touches))``."""
        return math.log1p(self.tool_count / (1 + int(self.tool_degrees[node])))

    @cached_property
    def tool_degrees(self) -> NDArray[np.int32]:
        """For each node the number of edges to tools, int32 [nodes]: how common it is in the catalogue."""
        return self.adjacency.tool_degrees(self.tool_count, len(self.nodes))
