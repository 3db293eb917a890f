"""A measured set: labelled requests with the runs of all systems, and its file format.

``set.json`` is in the folder of the runs, so the folder is enough to write a report or to compare two evaluations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import PlainSerializer, TypeAdapter

from eval.answers import READ_REMEDY, Run, read_run, reading_problem, write_run
from eval.graph_quality.quality import GraphQuality
from eval.queries import QuerySet
from ontology.errors import DocumentError, NotFoundError
from ontology.files import write_file

__all__ = ["SET_FILE", "MeasuredSet", "read_measured", "write_measured"]

SET_FILE = "set.json"
_REMEDY = "Run the evaluation again"


def _systems(runs: tuple[Run, ...]) -> list[str]:
    """Return the names of the systems, which replace the runs in ``set.json``."""
    return [run.system for run in runs]


@dataclass(frozen=True, kw_only=True)
class MeasuredSet:
    """One set of requests with the runs of every system: the input of all figures.

    :param tools: size of the catalogue.
    :param missing_gold: map from query id to gold tools that the catalogue does not have (``--allow-missing``). They stay
        in the gold set, so such a request can never be complete.
    :param graph: quality of the tool graph; None when it was not measured.
    """

    queries: QuerySet
    runs: Annotated[tuple[Run, ...], PlainSerializer(_systems)]
    tools: int
    snapshot_id: str
    missing_gold: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    graph: GraphQuality | None = None


_SET = TypeAdapter(MeasuredSet)


def write_measured(folder: Path, measured: MeasuredSet) -> None:
    """Write the runs, then ``set.json``.

    :raises StorageError: when a file cannot be written.
    """
    for run in measured.runs:
        write_run(folder, run)
    value = _SET.dump_python(measured, mode="json", by_alias=True)
    write_file(folder / SET_FILE, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def read_measured(folder: Path) -> MeasuredSet:
    """Read the files of :func:`write_measured`.

    :raises NotFoundError: when the folder has no results.
    :raises DocumentError: when they are damaged, or a run belongs to another set.
    """
    path = folder / SET_FILE
    if not path.is_file():
        raise NotFoundError(
            "there are no results of an evaluation here",
            subject=str(folder),
            remedy="Name the folder that egotools eval wrote with --out",
        )
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        measured = _SET.validate_python(value | {"runs": [read_run(folder, system) for system in value["runs"]]})
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise DocumentError(
            f"the results cannot be read: {reading_problem(error)}", subject=str(path), remedy=READ_REMEDY
        ) from error
    for run in measured.runs:
        if (run.queries_sha256, run.snapshot_id) != (measured.queries.sha256, measured.snapshot_id):
            raise DocumentError(
                f"the run of {run.system!r} belongs to other requests or to another snapshot",
                subject=str(path),
                remedy=_REMEDY,
            )
    return measured
