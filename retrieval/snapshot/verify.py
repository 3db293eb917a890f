"""Whether the files of a snapshot are those of its manifest, and the manifest that of somebody who is trusted."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tokenize import TokenError
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ontology.errors import SnapshotCorruptError
from retrieval.index.bm25 import FIELDS, NAMES
from retrieval.index.filters import FILTERS
from retrieval.index.phrases import PHRASES_FIELD
from retrieval.index.records import load_mapped
from retrieval.snapshot.manifest import (
    KEYS,
    NAME_VECTORS,
    NGRAMS,
    NODE_VECTORS,
    FileInfo,
    Layout,
    Manifest,
    file_digest,
    read_manifest,
)
from retrieval.snapshot.signing import is_signature, is_unfinished_signature, load_trusted_keys

__all__ = ["check_arrays", "verify_listing", "verify_snapshot"]

_Array: TypeAlias = NDArray[Any]
_INFINITE = 0x7C00  # the exponent bits of a float16: all set for infinities and NaN
_CHUNK = 1 << 20
_UNREADABLE = (OSError, ValueError, EOFError, SyntaxError, TokenError, RecursionError, MemoryError, TypeError)


def check_arrays(folder: Path, manifest: Manifest) -> None:
    """Check all arrays of a snapshot against each other and the counts of the manifest.

    :raises SnapshotCorruptError: naming the file that cannot be meant.
    """
    counts = manifest.counts
    tools, nodes, edges = counts.tools, sum(counts.nodes.values()), sum(counts.edges.values())
    arrays = _Folder(folder)
    if tools > nodes:
        raise SnapshotCorruptError("the manifest has more tools than nodes", subject=str(folder), remedy="Build again")
    for name, suffix, rows in (
        ("tools", ".jsonl", tools),
        ("nodes", ".jsonl", nodes),
        ("node_keys", ".txt", nodes),
        ("edges", ".jsonl", edges),
        ("filter_values", ".jsonl", None),
        ("value_shapes", ".jsonl", None),
    ):
        arrays.check_rows(name, suffix, rows)
    _check_graph(arrays, nodes, edges, len(manifest.predicates))
    for name, limit in ((KEYS, nodes), (NGRAMS, nodes), (FILTERS, tools)):
        _check_lookup(arrays, name, limit)
    for field in (*FIELDS, NAMES):
        _check_postings(arrays, f"bm25.{field}", tools)
    dimensions = manifest.encoder.dimensions
    _check_vectors(arrays, f"{NODE_VECTORS}.vectors", nodes, dimensions)
    _check_vectors(arrays, f"{NAME_VECTORS}.vectors", tools, dimensions)
    if manifest.phrases is not None:
        _check_postings(arrays, f"bm25.{PHRASES_FIELD}", tools)
        rows = len(arrays.load(f"{PHRASES_FIELD}.vectors", np.float16, None, dimensions))
        _check_vectors(arrays, f"{PHRASES_FIELD}.vectors", rows, dimensions)
        arrays.pointers(f"{PHRASES_FIELD}.pointers", tools, rows, least=1)
        _check_index(folder / f"{PHRASES_FIELD}.tools.hnsw", rows, dimensions)
    for part, rows in (("tools", tools), ("others", nodes - tools)):
        _check_index(folder / f"{NODE_VECTORS}.{part}.hnsw", rows, dimensions)


@dataclass(frozen=True, slots=True)
class _Folder:
    """The arrays of a snapshot folder, by the names of their files."""

    folder: Path

    def load(self, name: str, dtype: type[np.generic], *shape: int | None) -> _Array:
        """Return an array, memory-mapped; each None of the shape allows any size.

        :raises SnapshotCorruptError: when it has another type or shape, or cannot be read.
        """
        path = self.folder / f"{name}.npy"
        try:
            array = load_mapped(path)
        except _UNREADABLE as error:
            raise _impossible(path, f"the array cannot be read: {str(error)[:100]}") from error
        fits = len(array.shape) == len(shape) and all(
            want in (None, have) for want, have in zip(shape, array.shape, strict=True)
        )
        if array.dtype != np.dtype(dtype) or not fits or not array.flags.c_contiguous:
            wanted = " × ".join("any" if size is None else f"{size:,}" for size in shape)
            found = " × ".join(f"{size:,}" for size in array.shape)
            raise _impossible(path, f"it has {found} {array.dtype}, not {wanted} {np.dtype(dtype)}")
        return array

    def pointers(self, name: str, count: int | None, last: int, *, least: int = 0) -> None:
        """Check that an array has ascending positions from 0 to ``last``, each ``least`` or more above the one before."""
        array = self.load(name, np.int64, None if count is None else count + 1)
        if not len(array) or array[0] != 0 or array[-1] != last or (np.diff(array) < least).any():
            raise self.refuse(name, f"its positions do not ascend from 0 to {last:,}")

    def numbers(self, name: str, dtype: type[np.generic], count: int | None, limit: int) -> _Array:
        """Check that an array has whole numbers from 0 to below ``limit``; return it."""
        array = self.load(name, dtype, count)
        if len(array) and not (0 <= int(array.min()) and int(array.max()) < limit):
            raise self.refuse(name, f"it has numbers that are not from 0 to below {limit:,}")
        return array

    def check_rows(self, name: str, suffix: str, count: int | None) -> None:
        """Check the positions of the rows of a file; each row ends with a line feed."""
        path = self.folder / f"{name}{suffix}"
        try:
            size = path.stat().st_size
        except OSError as error:
            raise _impossible(path, f"the file cannot be read: {error.strerror}") from error
        self.pointers(f"{name}.offsets", count, size, least=1)

    def refuse(self, name: str, problem: str) -> SnapshotCorruptError:
        """Return the error for an array."""
        return _impossible(self.folder / f"{name}.npy", problem)


def _impossible(path: Path, problem: str) -> SnapshotCorruptError:
    return SnapshotCorruptError(problem, subject=str(path), remedy="Build again, or publish an older snapshot")


def _check_graph(arrays: _Folder, nodes: int, edges: int, predicates: int) -> None:
    heads = arrays.numbers("graph.heads", np.int32, edges, nodes)
    if (np.diff(heads) < 0).any():
        raise arrays.refuse("graph.heads", "its edges are not in the order of their heads")
    arrays.numbers("graph.tails", np.int32, edges, nodes)
    arrays.numbers("graph.predicates", np.uint8, edges, predicates)
    arrays.numbers("graph.in_edges", np.int32, edges, edges)
    confidences = arrays.load("graph.confidences", np.float32, edges)
    if edges and not (confidences.min() >= 0 and confidences.max() <= 1):  # NaN fails this comparison
        raise arrays.refuse("graph.confidences", "it has numbers that are not from 0 to 1")
    arrays.pointers("graph.out_pointers", nodes, edges)
    arrays.pointers("graph.in_pointers", nodes, edges)


def _check_lookup(arrays: _Folder, name: str, limit: int) -> None:
    keys = arrays.load(f"{name}.keys", np.uint64, None)
    arrays.numbers(f"{name}.values", np.int32, len(keys), limit)
    if (keys[1:] < keys[:-1]).any():
        raise arrays.refuse(f"{name}.keys", "its keys do not ascend")


def _check_postings(arrays: _Folder, name: str, tools: int) -> None:
    terms = arrays.load(f"{name}.terms", np.uint64, None)
    if (terms[1:] <= terms[:-1]).any():
        raise arrays.refuse(f"{name}.terms", "its terms do not ascend")
    docs = arrays.numbers(f"{name}.docs", np.int32, None, tools)
    arrays.pointers(f"{name}.pointers", len(terms), len(docs), least=1)
    weights = arrays.load(f"{name}.weights", np.float32, len(docs))
    if not np.isfinite(weights).all():
        raise arrays.refuse(f"{name}.weights", "it has weights that are no finite numbers")


def _check_vectors(arrays: _Folder, name: str, rows: int, dimensions: int) -> None:
    flat = arrays.load(name, np.float16, rows, dimensions).reshape(-1)
    # As whole numbers, positive ones and then negative ones ascend with their exponent: two maxima need no copy.
    positive, negative = flat.view(np.int16), flat.view(np.uint16)
    for start in range(0, len(flat), _CHUNK):
        part = slice(start, start + _CHUNK)
        if positive[part].max() >= _INFINITE or negative[part].max() >= _INFINITE | 0x8000:
            raise arrays.refuse(name, "it has vectors that are no finite numbers")


def _check_index(path: Path, rows: int, dimensions: int) -> None:
    """Check an approximate index, which FAISS walks without looking: every neighbour must be a row."""
    if not path.exists():
        return
    faiss: Any = import_module("faiss")
    try:
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        walk, storage = index.hnsw, faiss.downcast_index(index.storage)
        neighbours, offsets, levels = (
            faiss.vector_to_array(each) for each in (walk.neighbors, walk.offsets, walk.levels)
        )
        per_level = faiss.vector_to_array(walk.cum_nneighbor_per_level)
        stored = storage.codes.size(), storage.ntotal, storage.d
        code_bytes = storage.code_size
    except (RuntimeError, AttributeError, TypeError, ValueError, MemoryError) as error:
        raise _impossible(path, f"the index cannot be read: {str(error)[:100]}") from error
    if (
        type(index) is not faiss.IndexHNSWSQ
        or index.metric_type != faiss.METRIC_INNER_PRODUCT
        or (index.ntotal, index.d) != (rows, dimensions)
        or stored != (rows * code_bytes, rows, dimensions)
        or code_bytes != dimensions
    ):
        raise _impossible(path, f"it is no index of {rows:,} vectors of {dimensions} numbers")
    whole = (
        len(levels) == rows
        and len(offsets) == rows + 1
        and 0 <= walk.entry_point < rows
        and 0 <= walk.max_level < len(per_level) - 1
        and levels.min(initial=1) >= 1
        and levels.max(initial=1) <= walk.max_level + 1
        and levels[walk.entry_point] == walk.max_level + 1
        and (np.diff(offsets.astype(np.int64)) == per_level[levels]).all()
        and (not rows or (int(offsets[0]), int(offsets[-1])) == (0, len(neighbours)))
        and neighbours.min(initial=-1) >= -1
        and neighbours.max(initial=-1) < rows
        and _levels_fit(neighbours, offsets.astype(np.int64), levels, per_level)
    )
    if not whole:
        raise _impossible(path, "its neighbours are not rows of it")


def _levels_fit(neighbours: _Array, offsets: _Array, levels: _Array, per_level: _Array) -> bool:
    """Whether the neighbours of a row on an upper level are on that level too: else their neighbours there are those of others."""
    for level in range(1, int(levels.max(initial=1))):
        having = np.flatnonzero(levels > level)
        places = offsets[having][:, None] + np.arange(per_level[level], per_level[level + 1])
        found = neighbours[places]
        if (levels[found[found >= 0]] <= level).any():
            return False
    return True


_REMEDY = "Build again, or publish an older snapshot"
_DELETED_BUT_OPEN = ".nfs"  # what a network file system makes of a deleted file that is still read


def verify_snapshot(folder: Path, *, digests: bool = True) -> Manifest:
    """Check signature, manifest and files of a snapshot; return its manifest.

    :param digests: False to check names and sizes of the files only.
    :raises SnapshotVersionError: when the snapshot has another format version.
    :raises SnapshotSignatureError: when ``EGOTOOLS_TRUSTED_KEYS`` is set and none of these keys has signed it.
    :raises SnapshotCorruptError: naming the file that is missing, truncated, altered, or not in the manifest.
    """
    manifest = read_manifest(Layout(folder), load_trusted_keys())
    verify_listing(folder, manifest)
    if digests:
        with ThreadPoolExecutor(max_workers=2) as pool:  # hashing releases the interpreter lock
            checks = [pool.submit(_check_digest, folder / name, info) for name, info in sorted(manifest.files.items())]
            for check in checks:
                check.result()
    return manifest


def verify_listing(folder: Path, manifest: Manifest) -> None:
    """Check that the folder has the files of the manifest in their sizes, all of them files of its own, and no others.

    :raises SnapshotCorruptError: naming the first that differs.
    """
    try:
        with os.scandir(folder) as entries:
            found = {
                entry.name: entry.stat(follow_symlinks=False).st_size if entry.is_file(follow_symlinks=False) else -1
                for entry in entries
                if not entry.name.startswith(_DELETED_BUT_OPEN)
            }
    except OSError as error:
        raise SnapshotCorruptError(
            f"the snapshot cannot be read: {error.strerror}", subject=str(folder), remedy=_REMEDY
        ) from error
    for name, info in sorted(manifest.files.items()):
        path, size = folder / name, found.get(name)
        if size is None:
            raise SnapshotCorruptError("the file is missing", subject=str(path), remedy=_REMEDY)
        if size < 0:
            raise SnapshotCorruptError("it is a link or a folder, not a file", subject=str(path), remedy=_REMEDY)
        if size != info.bytes:
            raise SnapshotCorruptError(
                f"the file has {size} bytes, not {info.bytes}", subject=str(path), remedy=_REMEDY
            )
    for name in sorted(found.keys() - manifest.files.keys()):
        if name != "manifest.json" and not is_signature(name) and not is_unfinished_signature(name):
            raise SnapshotCorruptError(
                "the manifest does not list this file", subject=str(folder / name), remedy=f"Remove it. {_REMEDY}"
            )


def _check_digest(path: Path, info: FileInfo) -> None:
    try:
        digest = file_digest(path)
    except OSError as error:
        raise SnapshotCorruptError(
            f"the file cannot be read: {error.strerror}", subject=str(path), remedy=_REMEDY
        ) from error
    if digest != info.sha256:
        raise SnapshotCorruptError("the file was altered (SHA-256 differs)", subject=str(path), remedy=_REMEDY)
