"""The tasks of the account: 24 shipped ones, and 60 public ones where the folder of public sets lies beside the checkout."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from random import Random
from typing import Any

from scripts.bench_sets import ROOT

__all__ = ["AccountTask", "account_tasks", "round_robin"]

_SHIPPED = ROOT / "planners" / "kgot" / "tasks"
_PUBLIC = ROOT.parent / "shared" / "bench" / "bigbench" / "tasks.jsonl"
_ASKED = {
    "penguins_in_a_table": "Answer with a number, or with as few words as possible.",
    "tracking_shuffled_objects": "Complete the last sentence; answer with the missing words only.",
    "periodic_elements": "Answer with the name of the element only.",
}
"""What is said after a public question, so that its form is known: the sources give a list of choices instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountTask:
    """One task with its true answer.

    :param kind: ``own``, or the name of a public set; sampling is stratified by it.
    :param level: 1 to 3 of an own task; 0 of a public one.
    """

    id: str
    kind: str
    level: int
    question: str
    answer: str
    files: tuple[Path, ...] = ()


def account_tasks(public: Path = _PUBLIC) -> list[AccountTask]:
    """Return the shipped tasks, then the public ones where their file exists."""
    return [*_own(), *(_of_public(public) if public.exists() else ())]


def _own() -> Iterator[AccountTask]:
    for row in _rows(_SHIPPED / "tasks.jsonl"):
        files = tuple(_SHIPPED / "files" / name for name in row["files"])
        yield AccountTask(
            id=row["id"],
            kind="own",
            level=row["level"],
            question=row["question"],
            answer=row["answer"],
            files=files,
        )


def _of_public(path: Path) -> Iterator[AccountTask]:
    for row in _rows(path):
        kind = row["task"].partition("/")[0]
        question = "\n".join(text.strip() for text in (row["context"], row["question"], _ASKED[kind]) if text)
        yield AccountTask(id=row["id"], kind=kind, level=0, question=question, answer=row["answer"].rstrip("."))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def round_robin(tasks: Sequence[AccountTask], *, seed: int) -> list[AccountTask]:
    """Return tasks so that each prefix has about equally many of each kind, and of each level of the own ones."""
    strata: dict[str, list[AccountTask]] = {}
    for task in tasks:
        strata.setdefault(f"own {task.level}" if task.level else task.kind, []).append(task)
    random = Random(seed)
    for each in strata.values():
        random.shuffle(each)
    rounds = zip_longest(*(strata[name] for name in sorted(strata)))
    return [task for task in chain.from_iterable(rounds) if task is not None]
