"""The report: every figure, nothing that a text in it could break, and pictures of the same bytes."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from datagen.report.charts import CHARTS, draw_charts
from datagen.report.figures import RunFigures
from datagen.report.run_report import report_to_markdown
from datagen.synthetic_request import CLASSES
from ontology.errors import MissingExtraError

NASTY = "pay | the_bill <b>now</b> $5 `x` [a](b)\nand more"
ROW: dict[str, Any] = {
    "snapshot_id": "abc123",
    "seed": 7,
    "by": {
        "outputs": ["rules.v1"],
        "sequence": ["rules.v1"],
        "generator": ["rules.v1"],
        "validators": ["rules.v1", "llm.v1"],
        "encoder": ["hashing.v1"],
    },
    "stopped": "",
    "classes": {name: {"wanted": 5, "paths": 9, "made": 5 - place} for place, name in enumerate(CLASSES)},
    "gold_set_sizes": {"single-intent": {"1": 5}, "multi-intent": {"2": 3, "3": 1}},
    "shapes": {"single-intent": {"single": 5}, "multi-intent": {"chain": 3, "set": 1}},
    "graph": {
        "tools_with_outputs": 3,
        "outputs_documented": 4,
        "outputs_inferred": 2,
        "rp_edges": 6,
        "rp_pairs": 5,
        "rp_confidence": {"counts": [1, 2], "edges": [0.0, 0.5, 1.0]},
        "pp_compared": 9,
        "pp_edges": 2,
        "pp_reason": "mean 0.5",
        "pp_threshold": 0.81,
        "pp_distribution": {"counts": [1, 2], "edges": [0.0, 0.5, 1.0]},
    },
    "coverage": {
        "tools": 60,
        "tools_used": 10,
        "groups": [{"name": NASTY, "tools": 60, "used": 10, "requests": 15}],
        "rp_pairs": 5,
        "rp_pairs_used": 3,
        "never_used": {f"tool_{number}": "no path leads over it" for number in range(50)},
    },
    "diversity": {
        "texts": 15,
        "words_a_text": 8.25,
        "distinct_1": 0.5,
        "distinct_2": 0.7,
        "distinct_3": 0.9,
        "distinct_openings": 0.8,
        "nearest_cosine": {"p50": 0.4},
        "max_cosine": 0.9,
        "encoder": "hashing.v1",
        "histogram": {"counts": [5, 10], "edges": [0.0, 0.5, 1.0]},
    },
    "leakage": {
        "requests": 15,
        "content_words": 0.25,
        "content_bigrams": 0.05,
        "requests_with_names": 1,
        "ids": ["r1"],
    },
    "rejected": {"validate": {f"class: reason {number}": 20 - number for number in range(15)}},
    "examples": {name: ["r1"] if name == "single-intent" else [] for name in CLASSES},
}


FIGURES: RunFigures = TypeAdapter(RunFigures).validate_python(ROW)


def page(pictures: list[str] | None = None, **instead: Any) -> str:
    figures = replace(FIGURES, **instead)
    return report_to_markdown(figures, {"r1": NASTY}, list(CHARTS) if pictures is None else pictures)


def test_what_is_fewer_than_wanted_is_said_on_top() -> None:
    assert "15 of 30 requests could be made" in page().partition("## ")[0]


def test_what_stopped_it_is_said_on_top() -> None:
    top = page(stopped="http://h: the model is dead. Start it.").partition("## ")[0]
    assert "stopped: http://h: the model is dead. Start it. The same command again goes on" in top


def test_tables_keep_their_columns_whatever_a_text_says() -> None:
    lines = page().splitlines()
    (row,) = [line for line in lines if "the_bill" in line and line.startswith("|")]
    assert row.replace("\\|", "").count("|") == 5
    (example,) = [line for line in lines if line.startswith("- ")]
    assert "\\<b>" in example and "and more" in example


def test_every_picture_is_drawn_the_same_twice_and_linked() -> None:
    pictures = draw_charts(FIGURES)
    assert list(pictures) == list(CHARTS)
    assert all(png.startswith(b"\x89PNG") for png in pictures.values())
    assert draw_charts(FIGURES) == pictures
    assert all(f"]({name})" in page() for name in CHARTS)


def test_what_has_nothing_to_show_has_no_picture() -> None:
    none = replace(FIGURES.graph.pp_distribution, counts=(0, 0))
    empty = replace(
        FIGURES,
        gold_set_sizes={},
        shapes={},
        rejected={},
        diversity=replace(FIGURES.diversity, texts=0),
        graph=replace(FIGURES.graph, pp_distribution=none),
        classes={name: replace(row, made=0) for name, row in FIGURES.classes.items()},
    )
    pictures = draw_charts(empty)
    assert list(pictures) == ["classes.png"]
    assert "Nothing was rejected" in report_to_markdown(empty, {"r1": NASTY}, list(pictures))


def test_without_matplotlib_there_are_none_and_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"requirements/eval.txt"):
        draw_charts(FIGURES)
    said = page([])
    assert "requirements/eval.txt" in said and ".png" not in said
