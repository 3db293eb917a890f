"""Each of several things of one type has the relation words that are said of it, its first ones, and its time; else the question is refused.

Truths are computed from the rows. The graph has a relationship that is said with a preposition, one from a type to itself, and a type with a
property of its own name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest

from planners.graphs.loading.graph_loading import load_graph
from planners.graphs.loading.loaded_tables import ColumnType, NodeTable, RelationshipTable
from planners.graphs.open_readable import open_readable
from planners.graphseek.catalog.rules_draft import draft_by_rules
from tests.planners.graphseek.rules.rule_runs import Answered, answer_all

_DOCTORS = {
    "Vera Lind": ("2004-05-01", "2021-03-31"),
    "Otto Brand": ("2012-09-15", ""),
    "Ines Roth": ("2019-02-10", ""),
}
_DOCTORS |= {"Paul Kern": ("1995-03-03", "2021-12-31"), "Lena Wolf": ("2020-11-20", "")}
_REFERS = [("Vera Lind", "Otto Brand"), ("Vera Lind", "Paul Kern"), ("Ines Roth", "Vera Lind")]
_REFERS += [("Otto Brand", "Lena Wolf"), ("Lena Wolf", "Otto Brand")]
_PAPERS = {"Alpha Study": 2015, "Beta Study": 2016, "Gamma Study": 2018, "Delta Study": 2020, "Epsilon Study": 2021}
_CITES = [("Beta Study", "Alpha Study"), ("Gamma Study", "Alpha Study"), ("Gamma Study", "Beta Study")]
_CITES += [("Delta Study", "Beta Study"), ("Delta Study", "Gamma Study"), ("Epsilon Study", "Gamma Study")]
_CITES += [("Alpha Study", "Epsilon Study")]
_WROTE = [("Vera Lind", "Alpha Study"), ("Vera Lind", "Beta Study"), ("Otto Brand", "Beta Study")]
_WROTE += [("Otto Brand", "Delta Study"), ("Ines Roth", "Gamma Study"), ("Ines Roth", "Epsilon Study")]
_GRADES = {"low": 10, "high": 50}


def _behind(pairs: Iterable[tuple[str, str]], *starts: str) -> set[str]:
    return {end for start, end in pairs if start in starts}


def _before(pairs: Iterable[tuple[str, str]], *ends: str) -> set[str]:
    return {start for start, end in pairs if end in ends}


def _last(names: Iterable[str]) -> str:
    return max(names, key=_PAPERS.__getitem__)


_RIGHT: dict[str, set[str]] = {
    "Which papers cite Beta Study and are cited by Epsilon Study?": _before(_CITES, "Beta Study")
    & _behind(_CITES, "Epsilon Study"),
    "Which papers are cited by Gamma Study and cite Epsilon Study?": _behind(_CITES, "Gamma Study")
    & _before(_CITES, "Epsilon Study"),
    "Which papers that cite Alpha Study are cited by Delta Study?": _before(_CITES, "Alpha Study")
    & _behind(_CITES, "Delta Study"),
    "Which papers does Gamma Study cite and Delta Study cite?": _behind(_CITES, "Gamma Study")
    & _behind(_CITES, "Delta Study"),
    "Which papers cite papers of Ines Roth and are cited by papers of Ines Roth?": _before(
        _CITES, *_behind(_WROTE, "Ines Roth")
    )
    & _behind(_CITES, *_behind(_WROTE, "Ines Roth")),
    "Which doctors are referred to by Vera Lind?": _behind(_REFERS, "Vera Lind"),
    "Which doctors refer to Otto Brand and are referred to by Otto Brand?": _before(_REFERS, "Otto Brand")
    & _behind(_REFERS, "Otto Brand"),
    "Which papers cite the newest paper of Vera Lind?": _before(_CITES, _last(_behind(_WROTE, "Vera Lind"))),
    "Who wrote the newest paper that cites Alpha Study?": _before(_WROTE, _last(_before(_CITES, "Alpha Study"))),
    "Which is the newest paper of Otto Brand?": {_last(_behind(_WROTE, "Otto Brand"))},
    "Which grade has the greatest grade?": {"high"},
}
_REFUSED = [
    "Which papers cite papers that they are cited by?",
    "Which doctors wrote it?",
    "Who wrote together with Vera Lind?",
    "Who cites Vera Lind?",
    "Whom does the writer of Beta Study refer to?",
    "Which doctors from 2021 are there?",
    "Which doctors worked in 2012?",
    "Which doctors did not write a paper in 2018?",
]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answered]:
    folder = tmp_path_factory.mktemp("words-of-each-place")
    path = folder / "papers.lbdb"
    key: tuple[str, ColumnType] = ("key", "string")
    doctors = [(name, name, hired, retired or None) for name, (hired, retired) in _DOCTORS.items()]
    nodes = [
        NodeTable(
            type="Doctor",
            columns=(key, ("name", "string"), ("hired", "date"), ("retired", "date")),
            key="key",
            rows=doctors,
        ),
        NodeTable(
            type="Paper",
            columns=(key, ("title", "string"), ("year", "integer")),
            key="key",
            rows=[(name, name, year) for name, year in _PAPERS.items()],
        ),
        NodeTable(
            type="Grade",
            columns=(key, ("name", "string"), ("grade", "integer")),
            key="key",
            rows=[(name, name, grade) for name, grade in _GRADES.items()],
        ),
    ]
    said = (
        ("REFERS_TO", "Doctor", "Doctor", _REFERS),
        ("CITES", "Paper", "Paper", _CITES),
        ("WROTE", "Doctor", "Paper", _WROTE),
    )
    relationships = [
        RelationshipTable(type=name, source_type=source, target_type=target, columns=(), rows=rows)
        for name, source, target, rows in said
    ]
    load_graph(path, nodes, relationships)

    async def ask() -> dict[str, Answered]:
        async with open_readable(f"ladybug:{path}", folder) as graph:
            catalog = replace(draft_by_rules(await graph.census()), accepted=True)
        return await answer_all(f"ladybug:{path}", folder, [[text] for text in (*_RIGHT, *_REFUSED)], catalog)

    return asyncio.run(ask())


@pytest.mark.parametrize("question", _RIGHT)
def test_it_is_answered_right(answered: dict[str, Answered], question: str) -> None:
    run = answered[question]
    (table,) = run.tables
    names = {str(each) for each in table.get("title") or table["name"]}
    assert (run.outcome, names) == ("answered", _RIGHT[question]), run.text
    assert _RIGHT[question], "an empty truth shows nothing"


@pytest.mark.parametrize("question", _REFUSED)
def test_it_is_refused(answered: dict[str, Answered], question: str) -> None:
    assert answered[question].outcome == "unreadable", answered[question].text
