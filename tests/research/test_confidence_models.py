"""Fitting the confidence: the models by hand-made evidence, and the texts that they are fitted to."""

from __future__ import annotations

import json

import numpy as np
import pytest

from research.confidence.confidence_evidence import Asked, Evidence
from research.confidence.confidence_models import (
    NAMES,
    answerable,
    fit_logistic,
    fit_needed,
    fit_served,
    fit_task,
    fitted_threshold,
    logistic,
)
from research.confidence.confidence_table import reliability, table
from research.confidence.unserved import CATALOGUES, background_lines, written
from scripts.bench_sets import ROOT

COLUMNS = len(NAMES["task"]) + len(NAMES["served"])


def evidence(name: str, seed: int) -> Evidence:
    """A catalogue whose served requests have more of every evidence, and whose first two tools of ten are needed."""
    rng = np.random.default_rng(seed)
    kinds = {"served": 1.0, "talk": -1.0, "foreign": -1.0, "bereft": -0.5}
    requests = {kind: rng.normal(mean, 0.3, (40, COLUMNS)) for kind, mean in kinds.items()}
    ranks = np.log(np.arange(1, 11))[:, None]
    rows = np.column_stack([ranks, ranks, np.ones((10, len(NAMES["needed"]) - 2))])
    asked = Asked(evidence=rows, gold=np.arange(10) < 2, count=2, complete=2.0)
    return Evidence(name=name, requests=requests, asked=(asked,) * 5)


@pytest.fixture(scope="module")
def catalogues() -> list[Evidence]:
    return [evidence(name, seed) for seed, name in enumerate("abc")]


def test_a_logistic_model_finds_the_weights_of_its_data_and_the_same_each_time() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 2))
    labels = (rng.random(20_000) < logistic(np.asarray([1.5, -1.0, 0.5]), rows)).astype(float)
    first, second = (fit_logistic(rows, labels, np.ones(20_000)) for _ in range(2))
    assert np.allclose(first, [1.5, -1.0, 0.5], atol=0.1)
    assert np.array_equal(first, second)


def test_the_product_keeps_what_is_served_and_refuses_the_rest(catalogues: list[Evidence]) -> None:
    task, served = fit_task(catalogues), fit_served(catalogues)
    threshold = fitted_threshold(catalogues, task, served)
    for one in catalogues:
        found = {kind: answerable(task, served, rows) for kind, rows in one.requests.items()}
        assert (found["served"] >= threshold).mean() >= 0.85
        assert max((found[kind] >= threshold).mean() for kind in ("talk", "foreign")) <= 0.05


def test_probabilities_of_tools_fall_with_the_rank(catalogues: list[Evidence]) -> None:
    chances = logistic(fit_needed(catalogues), catalogues[0].asked[0].evidence)
    assert np.all(np.diff(chances) <= 0)
    assert chances[1] > 0.5 > chances[2]


def test_the_table_has_a_line_a_catalogue_and_their_mean(catalogues: list[Evidence]) -> None:
    lines = list(table(catalogues))
    assert [line.split("|")[1].strip() for line in lines[2:6]] == ["a", "b", "c", "mean"]
    assert "–" in lines[2], "a kind without requests has no share"


def test_reliability_counts_each_catalogue_alike() -> None:
    said = [np.full(10, 0.75), np.full(1_000, 0.75)]
    true = [np.ones(10, dtype=bool), np.zeros(1_000, dtype=bool)]
    ((chance, share),) = reliability(said, true)
    assert (round(chance, 6), round(share, 6)) == (0.75, 0.5)


def test_no_background_text_is_in_what_measures() -> None:
    measured = {
        json.loads(line)["query"].casefold().rstrip("!?.")
        for file in (ROOT / "examples" / "unserved").glob("*.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
    }
    for name in ("talk", "tasks"):
        lines = background_lines(name)
        assert len(lines) == len(set(lines)) >= 200
        assert not {line.casefold().rstrip("!?.") for line in lines} & measured


def test_catalogues_of_other_domains_are_catalogues_and_others() -> None:
    for name, others in CATALOGUES.items():
        assert set(others.split()) <= set(CATALOGUES) - {name}


def test_only_the_half_that_is_asked_for_is_fitted_to() -> None:
    for name in ("talk", "enterprise", "real"):
        assert not set(written(name, "dev")) & set(written(name, "test"))
        assert len(written(name, "dev")) >= 30
    assert written("restbench", "dev") == []
