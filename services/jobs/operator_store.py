"""The store of the operators of questions, in which those of a step are looked up."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ontology.files import write_file
from planners.graphseek.agent.question_run import CORE
from planners.graphseek.operators.operator import Operator, operator_documents
from services.jobs.cached_store import cached_store
from services.jobs.user_folders import cache_folder

__all__ = ["operator_store"]

_NOT_LOOKED_UP = frozenset({*CORE, "cypher"})
"""Operators that a step has anyway, and the one that is offered by a rule of its own."""


def operator_store(known: Iterable[Operator], folder: Path | None = None) -> Path:
    """Return a store with the operators that are looked up; where the folder has none, it is built, which takes some seconds.

    :param folder: of such stores; the user's cache folder where None.
    :raises StorageError: when it cannot be written.
    """
    documents = operator_documents(each for each in known if each.name not in _NOT_LOOKED_UP)
    text = json.dumps(documents, ensure_ascii=False, indent=1, sort_keys=True)
    return cached_store(
        text, folder or cache_folder("operators"), lambda building: write_file(building / "operators.json", text)
    )
