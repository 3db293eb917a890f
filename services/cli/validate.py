"""The command ``egotools validate``: check documents, files of settings or a snapshot without building."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ontology.errors import CatalogError, InvalidArgumentError, OntologyError
from services.cli.console import plain, print_json, say
from services.cli.options import Json

__all__ = ["validate"]

_KEYS = {
    "entity_types": "ontology",
    "predicates": "ontology",
    "rules": "server",
    "catalogs": "server",
}
"""Key at the left margin of a YAML file that neither is a sources file nor an overlay → what the file is."""


def validate(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Documents, sources, overlay and ontology files, access policies, catalogues files; a store or the folder of one snapshot."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Check documents, files of settings or a snapshot, and list every fault. Nothing that a file names is read.

    The exit code is 5 for faults of a file of settings, 4 for rejected records of documents, 6 for a damaged snapshot.
    """
    named: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        named[_kind(Path(path))].append(path)
    summaries: dict[str, Any] = {}
    faults: list[tuple[str, str]] = []
    for kind in ("ontology", "sources", "overlays", "server"):
        if files := named[kind]:
            found = [fault for file in files for fault in _faults(kind, Path(file))]
            summaries[kind] = {"files": len(files), "faults": len(found)}
            faults += found
    rejected: list[tuple[str, str]] = []
    if named["documents"]:
        summaries["documents"], rejected = _check_documents(named["documents"])
    for store in named["snapshot"]:
        summaries["snapshot"] = _check_snapshot(Path(store))
    if as_json:
        findings = [{"where": where, "problem": problem} for where, problem in (*faults, *rejected)]
        print_json({**summaries, "findings": findings})
    else:
        for where, problem in (*faults, *rejected):
            say(f"[yellow]{plain(where)}[/]: {plain(problem)}")
        for name, summary in summaries.items():
            say(plain(f"{name}: " + ", ".join(f"{key} {value}" for key, value in summary.items())))
    if faults or rejected:
        raise typer.Exit(OntologyError.exit_code if faults else CatalogError.exit_code)


def _kind(path: Path) -> str:
    """What a path is."""
    from ingest.overlay.overlay_file import is_overlay_file
    from ingest.sources.sources_file import is_sources_file
    from retrieval.snapshot.manifest import MANIFEST

    if (path / "CURRENT").is_file() or (path / MANIFEST).is_file():
        return "snapshot"
    if is_sources_file(path):
        return "sources"
    if is_overlay_file(path):
        return "overlays"
    return _KEYS.get(_key(path), "documents")


def _key(path: Path) -> str:
    """The first key at the left margin of a YAML file that tells what it is; empty for other files."""
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return ""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((key for key in (line.partition(":")[0] for line in lines) if key in _KEYS), "")


def _faults(kind: str, path: Path) -> list[tuple[str, str]]:
    """The faults of a file of settings: where, and what."""
    if kind == "server":
        from services.server.access.policy import read_policy
        from services.server.settings import read_catalogs

        try:
            _ = read_policy(path) if _key(path) == "rules" else read_catalogs(path)
        except InvalidArgumentError as error:
            return [(str(path), f"{error.problem}. {error.remedy}".strip(" ."))]
        return []
    from ingest.overlay.overlay_file import check_overlay
    from ingest.sources.sources_file import check_sources
    from ontology.ontology import check_ontology

    _, found = {"ontology": check_ontology, "sources": check_sources, "overlays": check_overlay}[kind](path)
    return [(f"{path}:{each.line}", f"{each.problem}. {each.remedy}".strip(" .")) for each in found]


def _check_documents(addresses: Sequence[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The counts of a catalogue, and its rejected records.

    :raises CatalogError: when no tool can be read at all.
    """
    from ingest.sources import read_catalog

    catalog = read_catalog(addresses)
    summary = {"tools": len(catalog.tools), "rejected": len(catalog.rejected), **catalog.rejected_by_reason()}
    return summary, [(each.subject, f"{each.reason}: {each.detail}") for each in catalog.rejected]


def _check_snapshot(store: Path) -> dict[str, str | int]:
    """Open a snapshot and check every hash.

    :raises SnapshotError: for a file that differs, with its name.
    """
    from retrieval.ranking.weights import weights_of
    from retrieval.snapshot.reader import open_snapshot

    snapshot = open_snapshot(store, verify=True)
    weights_of(snapshot)  # names and ranges; the manifest itself is checked for its form only
    return {"snapshot_id": snapshot.id, "files": len(snapshot.manifest.files), "tools": snapshot.tool_count}
