"""The shipped questions on graphs with their true answers, and whether an answer is right, by two rules.

The paper's (appendix B.3): numbers are exact, and of names one needed is enough. Ours: the whole set and nothing else. Truths were computed
without the planner: by pandas from the tables of the EV graph, by NetworkX from the snapshot of the shipped catalogue.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from benchmarks.command import ROOT

TASKS = ROOT / "planners" / "graphseek" / "tasks"
Table: TypeAlias = Mapping[str, Sequence[object]]
"""Name of a column → its values."""

_NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?")
"""Not the digits of a name, as in BM-289 or Q2."""
_TOLERANCE = 1e-9
"""Relative: sums of the same numbers in another order differ by less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What a right answer holds.

    :param kind: ``names``: sets of names, mostly one; ``ranking``: names in order; ``number``: one number; ``pairs``: names, each with a
        number.
    :param parts: sets of names; else one part. Of pairs: names and numbers in turn. Of a long part the first names alone, with ``digests``.
    :param digests: for each part the SHA-256 of its sorted names, a line each; empty where the part is whole.
    :param also: names that may stand in the answer too, as England for a county of the United Kingdom.
    """

    kind: Literal["names", "ranking", "number", "pairs"]
    parts: tuple[tuple[str | float, ...], ...]
    digests: tuple[str, ...]
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question.

    :param graph: ``ev``, ``countries`` or ``tool_graph``.
    :param family: access pattern, as in appendix C of the paper.
    :param follows: the question of the same talk that is asked before; empty: none.
    """

    id: str
    graph: str
    family: str
    text: str
    truth: Truth
    follows: str = ""


def shipped_questions(graph: str) -> list[Question]:
    """The questions on a graph: ``ev``, ``countries`` or ``tool_graph``."""
    lines = (TASKS / f"{graph}.jsonl").read_text(encoding="utf-8").splitlines()
    return [_question(json.loads(line)) for line in lines]


def _question(record: Mapping[str, Any]) -> Question:
    truth = record["truth"]
    parts = [(part["first"], part["sha256"]) if isinstance(part, dict) else (part, "") for part in truth["parts"]]
    return Question(
        id=record["id"],
        graph=record["graph"],
        family=record["family"],
        text=record["text"],
        follows=record["follows"],
        truth=Truth(
            kind=truth["kind"],
            parts=tuple(tuple(names) for names, _ in parts),
            digests=tuple(digest for _, digest in parts),
            also=tuple(truth["also"]),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a system answered.

    :param tables: the results that the answer shows or rests on.
    """

    text: str = ""
    tables: Sequence[Table] = field(default_factory=tuple)

    @property
    def is_given(self) -> bool:
        """Whether anything was answered; a table without rows says that there is none."""
        return bool(self.text or self.tables)


@dataclass(frozen=True, slots=True)
class Score:
    """By the paper's rule, and by ours."""

    paper: bool
    whole: bool


def score_answer(truth: Truth, answer: Answer) -> Score:
    """Score an answer. What counts is its text and the results that it names."""
    if truth.kind == "number":
        return _number(float(truth.parts[0][0]), answer)
    if truth.kind == "pairs":
        return _pairs(truth.parts[0], answer)
    needed = {_plain(name) for part in truth.parts for name in part}
    if not needed:
        empty = answer.is_given and not any(any(map(len, table.values())) for table in answer.tables)
        return Score(empty, empty)
    cells = {_plain(value) for table in answer.tables for column in table.values() for value in column}
    said = _plain(answer.text)
    paper = bool(needed & cells) or any(_stands_in(name, said) for name in needed)
    if truth.kind == "ranking":
        return Score(paper, _is_ranked(truth.parts[0], answer))
    in_text = not any(truth.digests) and all(_stands_in(name, said) for name in needed)
    return Score(paper, _in_columns(truth, answer) or in_text)


def _plain(value: object) -> str:
    return " ".join(str(value).split()).casefold()


def _stands_in(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _in_columns(truth: Truth, answer: Answer) -> bool:
    """Each part is a column, or one column is all parts together."""
    also = {_plain(name) for name in truth.also}
    parts = [{_plain(name) for name in part} for part in truth.parts]
    columns = [
        {str(value) for value in column if value is not None} for table in answer.tables for column in table.values()
    ]
    digests = {hashlib.sha256("\n".join(sorted(column)).encode()).hexdigest() for column in columns}
    if any(truth.digests):
        return all(digest in digests for digest in truth.digests if digest)
    plain = [{_plain(value) for value in column} for column in columns]
    sets = [column - (also - set().union(*parts)) for column in plain]
    return all(part in sets for part in parts) or set().union(*parts) in sets


def _is_ranked(ranked: tuple[str | float, ...], answer: Answer) -> bool:
    """A column begins with the names in order, or the text tells them in order."""
    wanted = [_plain(name) for name in ranked]
    columns = [[_plain(value) for value in column] for table in answer.tables for column in table.values()]
    said = _plain(answer.text)
    places = [found.start() if (found := re.search(rf"(?<!\w){re.escape(n)}(?!\w)", said)) else -1 for n in wanted]
    return any(column[: len(wanted)] == wanted for column in columns) or (min(places) >= 0 and places == sorted(places))


def _equal(given: str, truth: float) -> bool:
    """Whether a written number is the truth, or the truth rounded to its decimals, which are at least two or none of a whole number."""
    text = given.replace(",", "")
    if abs(float(text) - truth) <= _TOLERANCE * max(abs(truth), 1.0):
        return True
    decimals = len(text.partition(".")[2])
    return decimals >= 2 and float(text) == round(truth, decimals)


def _number(truth: float, answer: Answer) -> Score:
    said = any(_equal(each, truth) for each in _NUMBER.findall(answer.text))
    cells = [
        (len(column), value)
        for table in answer.tables
        for column in table.values()
        for value in column
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    rows = [count for count, value in cells if _equal(repr(value), truth)]
    return Score(said or bool(rows), said or 1 in rows)


def _pairs(part: tuple[str | float, ...], answer: Answer) -> Score:
    wanted = {(_plain(name), float(number)) for name, number in zip(part[::2], part[1::2], strict=True)}
    found: list[set[tuple[str, float]]] = [
        {
            (_plain(name), float(value))
            for name, value in zip(names, values, strict=False)
            if name is not None and isinstance(value, int | float)
        }
        for table in answer.tables
        for names in table.values()
        for values in table.values()
    ]
    said = _plain(answer.text)
    told = [
        re.search(rf"(?<!\w){re.escape(name)}(?!\w)\D{{0,40}}{number:g}(?![\d.])", said.replace(",", ""))
        for name, number in wanted
    ]
    return Score(any(each & wanted for each in found) or any(told), wanted in found or all(told))
