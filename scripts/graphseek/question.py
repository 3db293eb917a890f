"""A question with its true answer, and the files in which questions stand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from scripts.bench_sets import ROOT

__all__ = [
    "FIRST_PARAPHRASES",
    "SECOND_PARAPHRASES",
    "TASKS",
    "Part",
    "Question",
    "Truth",
    "paraphrases",
    "question_of_record",
    "write_questions",
]

TASKS = ROOT / "planners" / "graphseek" / "tasks"
"""The folder of the shipped questions: ``ev.jsonl``, ``countries.jsonl``, ``tool_graph.jsonl``, and two files of paraphrases."""
FIRST_PARAPHRASES, SECOND_PARAPHRASES = "paraphrases.jsonl", "second_paraphrases.jsonl"
Part: TypeAlias = tuple[str | float, ...]

_MOST_KEPT = 100
"""Names of a truth that stand in the file; of more only count, digest and the first ones do."""
_FIRST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What a right answer holds.

    :param kind: ``names``: sets of names, mostly one; ``ranking``: names in order; ``number``: one number; ``pairs``: names, each with a
        number.
    :param parts: sets of names, sorted, as "sites and regions" has two; else one part. Of pairs: names and numbers in turn.
    :param also: names that may stand in the answer too, as England for a county of the United Kingdom.
    """

    kind: Literal["names", "ranking", "number", "pairs"]
    parts: tuple[Part, ...]
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question.

    :param graph: ``ev``, ``countries`` or ``tool_graph``.
    :param family: access pattern, as in appendix C of the paper.
    :param parameters: what the text was filled with.
    :param follows: the question of the same talk that is asked before; empty: none.
    """

    id: str
    graph: Literal["ev", "countries", "tool_graph"]
    family: str
    text: str
    truth: Truth
    parameters: Mapping[str, str | int] = field(default_factory=dict)
    follows: str = ""


def write_questions(path: Path, questions: Sequence[Question]) -> None:
    """Write one question a line. Of long truths count, digest and the first names are written."""
    lines = []
    for question in questions:
        record = asdict(question)
        record["truth"]["parts"] = [_kept(part) for part in question.truth.parts]
        lines.append(json.dumps(record, ensure_ascii=False))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _kept(part: Part) -> object:
    if len(part) <= _MOST_KEPT:
        return list(part)
    digest = hashlib.sha256("\n".join(map(str, part)).encode()).hexdigest()
    return {"count": len(part), "sha256": digest, "first": list(part[:_FIRST])}


def question_of_record(record: Mapping[str, Any]) -> Question:
    """Return the question of JSON whose truth is written out."""
    truth = record["truth"]
    parts = tuple(tuple(part) for part in truth["parts"])
    return Question(**{**record, "truth": Truth(kind=truth["kind"], parts=parts, also=tuple(truth["also"]))})


def paraphrases(questions: Sequence[Question], file: str = FIRST_PARAPHRASES) -> dict[str, str]:
    """Return other words for questions by their ids.

    :param file: the first ones, written before the rules, which were extended on them later; or the second ones, whose first line says by
        whom they were written.
    """
    records = map(json.loads, (TASKS / file).read_text(encoding="utf-8").splitlines())
    templates = {record["question"]: record["template"] for record in records if "question" in record}
    return {each.id: templates[each.id].format(**each.parameters) for each in questions if each.id in templates}
