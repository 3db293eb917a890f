"""The command ``egotools validate``: check an ontology, sources and overlay files, documents or a snapshot without building."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.markup import escape

from ontology.errors import CatalogError, InvalidArgumentError, OntologyError
from services.cli.console import print_json, stdout
from services.cli.options import Json

__all__ = ["validate"]

Summary = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class _Finding:
    """One error: ``where`` is a file with its line, or the position of a record in a document."""

    where: str
    problem: str


class _CheckedDocuments(NamedTuple):
    """The counts of a catalogue, and its rejected records."""

    summary: Summary
    rejected: list[_Finding]


def validate(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            help="Tool documents to read without building: addresses as for build. Of a sources file, the file itself "
            "is checked, and nothing that it names is read; likewise of an overlay file, an access policy and a catalogues file."
        ),
    ] = None,
    ontology: Annotated[Path | None, typer.Option(help="Ontology file to check.")] = None,
    overlay: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Overlay file to check. Repeat for several.")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store", "-s", file_okay=False, help="Store whose snapshot is checked: every file against its hash."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check an ontology, sources files, overlay files, tool documents or a snapshot, and list every fault.

    The exit code is 5 for faults of an ontology, a sources file, an overlay file or a file of the server, 4 for rejected records of documents, 6 for a damaged snapshot.
    """
    if not (paths or ontology or overlay or store):
        raise InvalidArgumentError(
            "there is nothing to check",
            subject="validate",
            remedy="Name documents, --ontology FILE, --overlay FILE or --store FOLDER",
        )
    summaries: dict[str, Summary] = {}
    faults = [] if ontology is None else _ontology_faults(ontology)
    if ontology is not None:
        summaries["ontology"] = {"file": str(ontology), "faults": len(faults)}
    sources_files, paths = _split_sources_files(paths or [])
    if sources_files:
        found = [finding for file in sources_files for finding in _sources_faults(file)]
        summaries["sources"] = {"files": len(sources_files), "faults": len(found)}
        faults += found
    overlay_files, paths = _split_overlay_files(paths)
    if overlay or overlay_files:
        files = [*(overlay or ()), *overlay_files]
        found = [finding for file in files for finding in _overlay_faults(file)]
        summaries["overlays"] = {"files": len(files), "faults": len(found)}
        faults += found
    server_files, paths = _split_server_files(paths)
    if server_files:
        found = [finding for file in server_files for finding in _server_faults(file)]
        summaries["server"] = {"files": len(server_files), "faults": len(found)}
        faults += found
    rejected: list[_Finding] = []
    for path in paths or ():
        if (Path(path) / "CURRENT").is_file():
            remedy = "Use --store to check its snapshot"
            raise InvalidArgumentError("it is a store, not a folder of documents", subject=path, remedy=remedy)
    if paths:
        summaries["documents"], rejected = _check_documents(paths)
    if store is not None:
        summaries["snapshot"] = _check_store(store)
    _show(summaries, [*faults, *rejected], as_json=as_json)
    if faults:
        raise typer.Exit(OntologyError.exit_code)
    if rejected:
        raise typer.Exit(CatalogError.exit_code)


def _ontology_faults(path: Path) -> list[_Finding]:
    from ontology.ontology import check_ontology

    _, faults = check_ontology(path)
    return [_Finding(f"{path}:{fault.line}", f"{fault.problem}. {fault.remedy}".strip(" .")) for fault in faults]


def _split_sources_files(paths: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The sources files, and the other addresses."""
    from ingest.sources.sources_file import is_sources_file

    files = [Path(path) for path in paths if is_sources_file(Path(path))]
    return files, [path for path in paths if not is_sources_file(Path(path))]


def _sources_faults(path: Path) -> list[_Finding]:
    from ingest.sources.sources_file import check_sources

    _, faults = check_sources(path)
    return [_Finding(f"{path}:{fault.line}", f"{fault.problem}. {fault.remedy}".strip(" .")) for fault in faults]


def _split_overlay_files(paths: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The overlay files, and the other addresses."""
    from ingest.overlay.overlay_file import is_overlay_file

    files = [Path(path) for path in paths if is_overlay_file(Path(path))]
    return files, [path for path in paths if Path(path) not in files]


def _overlay_faults(path: Path) -> list[_Finding]:
    from ingest.overlay.overlay_file import check_overlay

    _, faults = check_overlay(path)
    return [_Finding(f"{path}:{fault.line}", f"{fault.problem}. {fault.remedy}".strip(" .")) for fault in faults]


def _split_server_files(paths: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The files that a server reads (access policies, catalogues files), and the other addresses."""
    files = [Path(path) for path in paths if _server_key(Path(path))]
    return files, [path for path in paths if Path(path) not in files]


def _server_key(path: Path) -> str:
    """The key at the left margin that tells a file of a server: ``rules`` or ``catalogs``; empty for other files."""
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return ""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((key for key in ("rules", "catalogs") if any(line.startswith(f"{key}:") for line in lines)), "")


def _server_faults(path: Path) -> list[_Finding]:
    from services.server.access.policy import read_policy
    from services.server.settings import read_catalogs

    try:
        if _server_key(path) == "rules":
            read_policy(path)
        else:
            read_catalogs(path)
    except InvalidArgumentError as error:
        return [_Finding(str(path), f"{error.problem}. {error.remedy}".strip(" ."))]
    return []


def _check_documents(addresses: Sequence[str]) -> _CheckedDocuments:
    """Read the documents without building.

    :raises CatalogError: when no tool can be read at all.
    """
    from ingest.sources import read_catalog

    catalog = read_catalog(addresses)
    summary = {"tools": len(catalog.tools), "rejected": len(catalog.rejected), **catalog.rejected_by_reason()}
    rejected = [_Finding(record.subject, f"{record.reason}: {record.detail}") for record in catalog.rejected]
    return _CheckedDocuments(summary, rejected)


def _check_store(store: Path) -> Summary:
    """Open the published snapshot and check every hash.

    :raises SnapshotError: for a file that differs, with its name.
    """
    from retrieval.ranking.weights import weights_of
    from retrieval.snapshot.reader import open_snapshot

    snapshot = open_snapshot(store, verify=True)
    weights_of(snapshot)  # names and ranges; the manifest itself is checked for its form only
    return {"snapshot_id": snapshot.id, "files": len(snapshot.manifest.files), "tools": snapshot.tool_count}


def _show(summaries: Mapping[str, Summary], findings: Sequence[_Finding], *, as_json: bool) -> None:
    if as_json:
        print_json({**summaries, "findings": [asdict(finding) for finding in findings]})
        return
    for finding in findings:
        stdout.print(f"[yellow]{escape(finding.where)}[/]: {escape(finding.problem)}", soft_wrap=True)
    for name, summary in summaries.items():
        stdout.print(f"{name}: " + escape(", ".join(f"{key} {value}" for key, value in summary.items())))
