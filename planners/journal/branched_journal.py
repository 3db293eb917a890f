"""A journal that begins with records of another one: a run that goes another way from some step on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ontology.errors import InvalidArgumentError
from planners.journal.run_journal import RunJournal, RunRecord, open_run_journal

__all__ = ["branch_journal"]

_PAYLOAD = "result"


def branch_journal(
    source: RunJournal, target: Path, begun: Mapping[str, Any], takes_over: Callable[[RunRecord], bool]
) -> None:
    """Write a new journal: its first record, and those of another journal's steps that it takes over, with their payloads.

    :param target: where no file may be; the source stays as it is.
    :param begun: the data of its first record.
    :param takes_over: whether a record of a step is taken over.
    :raises InvalidArgumentError: when the target exists, or a payload of the source is missing or was altered.
    :raises StorageError: when it cannot be written.
    """
    if target.exists():
        raise InvalidArgumentError("the file exists", subject=str(target), remedy="Give the branch a file of its own")
    with open_run_journal(target, sync="batch") as journal:
        journal.append("run_begun", **begun)
        for record in source.records:
            if record.kind == "step_ended" and takes_over(record):
                journal.keep(source.payload(record.data[_PAYLOAD]))
                journal.append(record.kind, **record.data)
