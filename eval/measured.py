"""A MeasuredSet on disk: ``set.json`` beside the runs, so that a report can be made, or compared, from its folder alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from eval.answers import read_run, write_run
from eval.queries import LabelledQuery, QuerySet
from eval.summary import MeasuredSet
from ontology.errors import DocumentError, NotFoundError
from ontology.files import write_file

__all__ = ["SET_FILE", "read_measured", "write_measured"]

SET_FILE = "set.json"


def write_measured(folder: Path, measured: MeasuredSet) -> None:
    """Write the runs, then the set that names them.

    :raises StorageError: when the disk refuses.
    """
    for run in measured.runs:
        write_run(folder, run)
    said = {
        "name": measured.queries.name,
        "sha256": measured.queries.sha256,
        "snapshot_id": measured.snapshot_id,
        "tools": measured.tools,
        "systems": [run.system for run in measured.runs],
        "missing_gold": {query: list(tools) for query, tools in measured.missing_gold.items()},
        "graph": measured.graph,
        "queries": [
            {"id": query.id, "query": query.text, "tools": query.tools, "class": query.request_class}
            for query in measured.queries.queries
        ],
    }
    write_file(folder / SET_FILE, json.dumps(said, ensure_ascii=False, indent=1) + "\n")


def read_measured(folder: Path) -> MeasuredSet:
    """Read back what :func:`write_measured` wrote.

    :raises NotFoundError: when the folder has no results.
    :raises DocumentError: when they are damaged, or a run is not of this set.
    """
    path = folder / SET_FILE
    if not path.is_file():
        raise NotFoundError(
            "there are no results of an evaluation here",
            subject=str(folder),
            remedy="Name the folder that egotools eval wrote with --out",
        )
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        measured = _measured(folder, said)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DocumentError(
            f"the results cannot be read: {error!r}", subject=str(path), remedy="Run the evaluation again"
        ) from error
    for run in measured.runs:
        if (run.queries_sha256, run.snapshot_id) != (measured.queries.sha256, measured.snapshot_id):
            raise DocumentError(
                f"the run of {run.system!r} is of other requests or of another snapshot",
                subject=str(path),
                remedy="Run the evaluation again",
            )
    return measured


def _measured(folder: Path, said: dict[str, Any]) -> MeasuredSet:
    queries = tuple(
        LabelledQuery(id=row["id"], text=row["query"], tools=tuple(row["tools"]), request_class=row["class"])
        for row in said["queries"]
    )
    return MeasuredSet(
        queries=QuerySet(name=said["name"], queries=queries, sha256=said["sha256"]),
        runs=tuple(read_run(folder, system) for system in said["systems"]),
        tools=said["tools"],
        snapshot_id=said["snapshot_id"],
        missing_gold={query: tuple(tools) for query, tools in said["missing_gold"].items()},
        graph=said["graph"],
    )
