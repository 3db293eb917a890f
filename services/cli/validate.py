"""The command ``egotools validate``: check an ontology, sources and overlay files, documents or a snapshot without building."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ontology.errors import CatalogError, InvalidArgumentError, OntologyError
from services.cli.console import plain, print_json, say
from services.cli.options import Json

__all__ = ["validate"]


class _Finding(NamedTuple):
    """One error: ``where`` is a file with its line, or the position of a record in a document."""

    where: str
    problem: str


def validate(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            help="Documents, sources and overlay files, access policies, catalogues files; a store or the folder of one snapshot."
        ),
    ] = None,
    ontology: Annotated[Path | None, typer.Option(help="Ontology file to check.")] = None,
    overlay: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Overlay file to check. Repeatable.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option("--store", "-s", file_okay=False, help="Store whose snapshot is checked.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check documents, files of settings or a snapshot, and list every fault. Nothing that a file names is read.

    The exit code is 5 for faults of a file of settings, 4 for rejected records of documents, 6 for a damaged snapshot.
    """
    named = {
        "ontology": [ontology] if ontology is not None else [],
        "sources": [],
        "overlays": list(overlay or ()),
        "server": [],
    }
    documents: list[str] = []
    stores = [store] if store is not None else []
    for path in paths or ():
        kind = _kind(Path(path))
        if kind == "snapshot":
            stores.append(Path(path))
        elif kind:
            named[kind].append(Path(path))
        else:
            documents.append(path)
    if not (any(named.values()) or documents or stores):
        raise InvalidArgumentError("nothing is named", subject="PATHS", remedy="Name documents, a file or a store")
    summaries: dict[str, Any] = {}
    faults: list[_Finding] = []
    for kind, files in named.items():
        if files:
            found = [fault for file in files for fault in _CHECKS[kind](file)]
            one = {"file": str(files[0])} if kind == "ontology" else {"files": len(files)}
            summaries[kind] = {**one, "faults": len(found)}
            faults += found
    rejected: list[_Finding] = []
    if documents:
        summaries["documents"], rejected = _check_documents(documents)
    for each in stores:
        summaries["snapshot"] = _check_snapshot(each)
    _show(summaries, [*faults, *rejected], as_json=as_json)
    if faults or rejected:
        raise typer.Exit(OntologyError.exit_code if faults else CatalogError.exit_code)


def _kind(path: Path) -> str:
    """What a path is: a key of the checks, ``snapshot``, or nothing for documents."""
    from ingest.overlay.overlay_file import is_overlay_file
    from ingest.sources.sources_file import is_sources_file
    from retrieval.snapshot.manifest import Layout

    if (path / "CURRENT").is_file() or Layout(path).manifest.is_file():
        return "snapshot"
    if is_sources_file(path):
        return "sources"
    if is_overlay_file(path):
        return "overlays"
    return "server" if _server_key(path) else ""


def _server_key(path: Path) -> str:
    """The key at the left margin that tells a file of a server: ``rules`` or ``catalogs``; empty for other files."""
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return ""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((key for key in ("rules", "catalogs") if any(line.startswith(f"{key}:") for line in lines)), "")


def _lined(path: Path, check: Callable[[Path], tuple[Any, Any]]) -> list[_Finding]:
    return [_Finding(f"{path}:{each.line}", f"{each.problem}. {each.remedy}".strip(" .")) for each in check(path)[1]]


def _ontology(path: Path) -> list[_Finding]:
    from ontology.ontology import check_ontology

    return _lined(path, check_ontology)


def _sources(path: Path) -> list[_Finding]:
    from ingest.sources.sources_file import check_sources

    return _lined(path, check_sources)


def _overlay(path: Path) -> list[_Finding]:
    from ingest.overlay.overlay_file import check_overlay

    return _lined(path, check_overlay)


def _server(path: Path) -> list[_Finding]:
    from services.server.access.policy import read_policy
    from services.server.settings import read_catalogs

    try:
        _ = read_policy(path) if _server_key(path) == "rules" else read_catalogs(path)
    except InvalidArgumentError as error:
        return [_Finding(str(path), f"{error.problem}. {error.remedy}".strip(" ."))]
    return []


_CHECKS = {"ontology": _ontology, "sources": _sources, "overlays": _overlay, "server": _server}


def _check_documents(addresses: Sequence[str]) -> tuple[dict[str, int], list[_Finding]]:
    """The counts of a catalogue, and its rejected records.

    :raises CatalogError: when no tool can be read at all.
    """
    from ingest.sources import read_catalog

    catalog = read_catalog(addresses)
    summary = {"tools": len(catalog.tools), "rejected": len(catalog.rejected), **catalog.rejected_by_reason()}
    return summary, [_Finding(each.subject, f"{each.reason}: {each.detail}") for each in catalog.rejected]


def _check_snapshot(store: Path) -> dict[str, str | int]:
    """Open a snapshot and check every hash.

    :raises SnapshotError: for a file that differs, with its name.
    """
    from retrieval.ranking.weights import weights_of
    from retrieval.snapshot.reader import open_snapshot

    snapshot = open_snapshot(store, verify=True)
    weights_of(snapshot)  # names and ranges; the manifest itself is checked for its form only
    return {"snapshot_id": snapshot.id, "files": len(snapshot.manifest.files), "tools": snapshot.tool_count}


def _show(summaries: dict[str, Any], findings: Sequence[_Finding], *, as_json: bool) -> None:
    if as_json:
        print_json({**summaries, "findings": [each._asdict() for each in findings]})
        return
    for each in findings:
        say(f"[yellow]{plain(each.where)}[/]: {plain(each.problem)}")
    for name, summary in summaries.items():
        say(plain(f"{name}: " + ", ".join(f"{key} {value}" for key, value in summary.items())))
