"""The manifest of a snapshot: its content, how it was built, and the hash of every file. Its own hash is the snapshot's id."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from ontology.errors import SnapshotCorruptError, SnapshotError, SnapshotVersionError
from ontology.json_values import first_error
from ontology.tool import NamedSource
from retrieval.snapshot.signing import TrustedKeys, check_signature, is_signature, load_trusted_keys, regular_file

FORMAT_VERSION = 8  # A snapshot of another version is not read: build again
MANIFEST = "manifest.json"
# Records and texts of a snapshot folder, without their extension.
TOOLS, NODES, NODE_KEYS = "tools", "nodes", "node_keys"
NODE_VECTORS, NAME_VECTORS = "nodes", "names"
NGRAMS, KEYS = "ngrams", "keys"
_MAX_MANIFEST_BYTES = 256 * 1024 * 1024
_MAX_NAME_BYTES, _MAX_PROBLEM = 255, 300
MAX_WEIGHT = 1_000.0  # of the ranking
_REMEDY = "Build again, or publish an older snapshot"


def _plain_name(name: str) -> str:
    """Return the name of a file of the folder itself; raises ValueError for a path, and for a name that the reader reserves."""
    if not name.isprintable() or len(name.encode()) > _MAX_NAME_BYTES or "/" in name or "\\" in name:
        raise ValueError("it is no plain file name")
    if not name or name.startswith(".") or name.startswith("manifest."):
        raise ValueError("it is no name of a file of a snapshot")
    return name


FileName: TypeAlias = Annotated[str, AfterValidator(_plain_name)]
Count: TypeAlias = Annotated[int, Field(ge=0, lt=2**48)]
Digest: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class OntologyVersion(_Section):
    """The ontology of the graph; ``sha256`` is the digest of its content."""

    name: str
    version: int
    sha256: str


class EncoderInfo(_Section):
    """The encoder that made the vectors; ``sha256`` is the digest of its weights, or empty."""

    name: str
    sha256: str
    dimensions: Annotated[int, Field(ge=1, le=65_536)]


class Counts(_Section):
    """Number of tools, of nodes by entity type, and of edges by predicate."""

    tools: Count
    nodes: dict[str, Count]
    edges: dict[str, Count]


class RankingSection(_Section):
    """The snapshot's own ranking weights, by name, and the ranker that they belong to."""

    ranker: str
    weights: dict[str, Annotated[float, Field(ge=0, le=MAX_WEIGHT)]]


class OverlayInfo(_Section):
    """An overlay file that the catalogue was built with: its name without the folder, and its SHA-256."""

    name: str
    sha256: str


class PhrasesInfo(_Section):
    """The everyday phrases of the tools."""

    tools: Count
    phrases: Count
    by: tuple[str, ...]


class LearnedSection(_Section):
    """What was learned from use (``egotools learn``), in the files ``use.*`` and ``bm25.use.*``."""

    past_requests: Annotated[int, Field(ge=0)]
    reporters: Annotated[int, Field(ge=0)]
    min_reporters: Annotated[int, Field(ge=1)]
    weight: Annotated[float, Field(ge=0, le=1_000)]  # of the votes, in standard deviations of the scores


class FileInfo(_Section):
    """Size and SHA-256 of a file."""

    bytes: Count
    sha256: Digest


class Manifest(_Section):
    """The content of ``manifest.json``. What is None is not in the file."""

    format_version: int = FORMAT_VERSION
    snapshot_id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")] = ""
    created_by: str  # name and version of the program
    ontology: OntologyVersion
    predicates: tuple[str, ...]  # of the ontology, sorted; edges store the position in this list
    encoder: EncoderInfo
    extractor: str  # versioned name of the extractor of the triples
    abbreviations: dict[str, str]
    counts: Counts
    ranking: RankingSection | None = None  # None for the shipped weights
    sources: tuple[NamedSource, ...] | None = None  # the named ones, sorted by name
    overlays: tuple[OverlayInfo, ...] | None = None  # in the order in which they were applied
    # tool id → standard deviations of the scores that are added to its score
    boosts: dict[str, Annotated[float, Field(ge=-1, le=1)]] | None = None
    learned: LearnedSection | None = None
    phrases: PhrasesInfo | None = None
    files: Annotated[dict[FileName, FileInfo], Field(min_length=1)] = {}  # every other file of the folder

    def content(self) -> dict[str, Any]:
        """Return all fields except the id, as JSON values."""
        return self.model_dump(mode="json", exclude={"snapshot_id"}, exclude_none=True)


def read_manifest(folder: Path, trusted: TrustedKeys | None = None) -> Manifest:
    """Read the manifest of a snapshot folder.

    :param trusted: the keys of which one must have signed it; None for no signature.
    :raises SnapshotSignatureError: when none of them has.
    :raises SnapshotVersionError: when the snapshot has another format version.
    :raises SnapshotCorruptError: when the manifest is invalid, or its content does not match its id.
    """
    path = folder / MANIFEST
    try:
        with regular_file(path) as file:
            text = file.read(_MAX_MANIFEST_BYTES + 1)
        if len(text) > _MAX_MANIFEST_BYTES:
            raise ValueError(f"it has more than {_MAX_MANIFEST_BYTES:,} bytes")
        if trusted is not None:
            check_signature(folder, text, trusted)
        content = json.loads(text.decode("utf-8"))
        named = isinstance(content, dict) and content.pop("snapshot_id", None)
        computed = content_id(content) if isinstance(content, dict) else ""
    except (OSError, ValueError, RecursionError) as error:  # a ValueError also for half a surrogate pair
        raise _unreadable(str(error), path) from error
    if not isinstance(content, dict) or not isinstance(content.get("files"), dict) or not content["files"]:
        raise SnapshotCorruptError("the manifest lists no files", subject=str(path), remedy="Build again")
    version = content.get("format_version")
    if version != FORMAT_VERSION:
        problem = f"the snapshot has format version {str(version)[:40]}; this egotools reads {FORMAT_VERSION}"
        remedy = "Build it again with this egotools, or serve it with the one that wrote it"
        raise SnapshotVersionError(problem, subject=str(folder), remedy=remedy)
    if computed != named:
        raise SnapshotCorruptError("the manifest was altered", subject=str(path), remedy="Build again")
    try:
        return Manifest.model_validate_json(json.dumps({**content, "snapshot_id": named}))
    except ValidationError as error:
        raise _unreadable(first_error(error), path) from error


def _unreadable(problem: str, path: Path) -> SnapshotCorruptError:
    problem = f"the manifest cannot be read: {problem[:_MAX_PROBLEM]}"
    return SnapshotCorruptError(problem, subject=str(path), remedy="Build again")


def write_manifest(folder: Path, manifest: Manifest) -> Manifest:
    """Write the manifest of all files in the folder; return it with ``files`` and ``snapshot_id`` computed."""
    path = folder / MANIFEST
    files = {
        each.name: FileInfo(bytes=each.stat().st_size, sha256=file_digest(each))
        for each in sorted(folder.iterdir())
        if each != path and not is_signature(each.name)
    }
    content = manifest.model_copy(update={"files": files}).content()
    complete = {"snapshot_id": content_id(content), **content}
    path.write_text(json.dumps(complete, sort_keys=True, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return Manifest.model_validate_json(json.dumps(complete))


def content_id(content: Mapping[str, Any]) -> str:
    """Return the id of a snapshot: 16 hex digits of the SHA-256 of its manifest's content, which has all file hashes."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal; raises OSError for a link too."""
    with regular_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify_snapshot(folder: Path, *, digests: bool = True) -> Manifest:
    """Check signature, manifest and files of a snapshot; return its manifest.

    :param digests: False to check names and sizes of the files only.
    :raises SnapshotVersionError: when the snapshot has another format version.
    :raises SnapshotSignatureError: when ``EGOTOOLS_TRUSTED_KEYS`` is set and none of these keys has signed it.
    :raises SnapshotCorruptError: naming the file that is missing, truncated, altered, or not in the manifest.
    """
    manifest = read_manifest(folder, load_trusted_keys())
    verify_listing(folder, manifest)
    if digests:
        _check_digests(folder, manifest)
    return manifest


def is_whole(folder: Path) -> bool:
    """Whether a folder has every file of its manifest as it was written, whoever signed it."""
    try:
        manifest = read_manifest(folder)
        verify_listing(folder, manifest)
        _check_digests(folder, manifest)
        return True
    except SnapshotError:
        return False


def verify_listing(folder: Path, manifest: Manifest) -> None:
    """Check that the folder has the files of the manifest in their sizes, all of them files of its own, and no others.

    :raises SnapshotCorruptError: naming the first that differs.
    """
    try:
        with os.scandir(folder) as entries:
            found = {
                entry.name: entry.stat(follow_symlinks=False).st_size if entry.is_file(follow_symlinks=False) else -1
                for entry in entries
                if not entry.name.startswith(".")  # unfinished signatures, and deleted files that are still read
            }
    except OSError as error:
        raise _differs(folder, f"the snapshot cannot be read: {error.strerror}") from error
    for name, info in sorted(manifest.files.items()):
        size = found.get(name)
        if size is None:
            raise _differs(folder / name, "the file is missing")
        if size < 0:
            raise _differs(folder / name, "it is a link or a folder, not a file")
        if size != info.bytes:
            raise _differs(folder / name, f"the file has {size} bytes, not {info.bytes}")
    for name in sorted(found.keys() - manifest.files.keys() - {MANIFEST}):
        if not is_signature(name):
            raise _differs(folder / name, "the manifest does not list this file", f"Remove it. {_REMEDY}")


def _differs(path: Path, problem: str, remedy: str = _REMEDY) -> SnapshotCorruptError:
    return SnapshotCorruptError(problem, subject=str(path), remedy=remedy)


def _check_digests(folder: Path, manifest: Manifest) -> None:
    def check(name: str) -> None:
        try:
            digest = file_digest(folder / name)
        except OSError as error:
            raise _differs(folder / name, f"the file cannot be read: {error.strerror}") from error
        if digest != manifest.files[name].sha256:
            raise _differs(folder / name, "the file was altered (SHA-256 differs)")

    with ThreadPoolExecutor(max_workers=2) as pool:  # hashing releases the interpreter lock
        list(pool.map(check, sorted(manifest.files)))
