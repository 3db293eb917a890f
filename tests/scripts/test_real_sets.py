"""The real documents as sets of the benchmark: there when fetched, and one half kept for the end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.queries import read_queries
from examples.real.labelled import REQUESTS, RealRequest, read_labelled
from ontology.errors import NotFoundError
from scripts.bench_quality import chosen_sets
from scripts.bench_sets import REAL, REAL_KEPT, bench_sets, real_sets, reduced, sampled


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pretends that the documents are in a folder."""
    (tmp_path / "documents").mkdir()
    monkeypatch.setenv("EGOTOOLS_REAL", str(tmp_path))
    return tmp_path / "documents"


def test_without_the_documents_there_is_no_such_set_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EGOTOOLS_REAL", str(tmp_path))
    assert real_sets() == []
    assert REAL not in {one.name for one in chosen_sets(())}
    assert "python -m examples.real.fetch out/real" in capsys.readouterr().err
    with pytest.raises(NotFoundError, match=r"examples\.real\.fetch"):
        bench_sets([REAL])


def test_each_half_is_a_set_and_neither_is_in_the_list_of_the_gate(fetched: Path) -> None:
    dev, kept = bench_sets([REAL, REAL_KEPT])
    assert (dev.name, dev.split, dev.catalog) == (REAL, "dev", fetched)
    assert (kept.name, kept.split, kept.catalog) == (REAL_KEPT, "test", fetched)
    assert not {REAL, REAL_KEPT} & {one.name for one in bench_sets()}
    halves = [{query.id for query in read_queries([one.queries], split=one.split).queries} for one in (dev, kept)]
    assert halves[0].isdisjoint(halves[1])
    assert len(halves[0] | halves[1]) == len(read_labelled(REQUESTS, RealRequest))


def test_the_kept_half_is_measured_only_when_it_is_named(fetched: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [one.name for one in chosen_sets(())]
    assert (REAL in names, REAL_KEPT in names) == (True, False)
    assert not capsys.readouterr().err
    assert [one.name for one in chosen_sets([REAL_KEPT])] == [REAL_KEPT]
    assert "kept for the end" in capsys.readouterr().err


def test_a_sample_is_of_the_split_of_its_set(fetched: Path, tmp_path: Path) -> None:
    (dev,) = bench_sets([REAL])
    everything = sampled(dev, 0)
    assert {row["split"] for row in everything} == {"dev"}
    small = reduced(dev, tmp_path / "small", queries=5, tools=10)
    rows = [json.loads(line) for line in small.queries.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 5
    assert {row["id"] for row in rows} <= {row["id"] for row in everything}
