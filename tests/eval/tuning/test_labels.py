"""Labels: what is one group, how groups are dealt into folds, and what a folder of requests must hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.gold_slots import gold_slots
from eval.queries import LabelledQuery
from eval.tuning.labels import folds, group, read_labels
from ontology.errors import DocumentError, EgotoolsError, InvalidArgumentError


def query(query_id: str, *tools: str) -> LabelledQuery:
    return LabelledQuery(id=query_id, text="x", slots=gold_slots(tools))


def test_a_path_or_a_gold_set_in_any_order_makes_a_group_also_through_others() -> None:
    queries = [query("a", "t1", "t2"), query("b", "t2", "t1"), query("c", "t3"), query("d", "t4"), query("e", "t5")]
    assert group(queries, {}).tolist() == [0, 0, 1, 2, 3]
    assert group(queries, {"b": "p1", "c": "p1", "d": "p2", "e": ""}).tolist() == [0, 0, 0, 1, 2]


requests = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=40)


@given(requests, st.randoms(use_true_random=False))
def test_groups_are_the_same_in_whatever_order_requests_come(rows: list[tuple[int, int]], random: Any) -> None:
    queries = [query(f"q{at:02}", f"t{tool}") for at, (tool, _) in enumerate(rows)]
    paths = {each.id: f"p{path}" if path else "" for each, (_, path) in zip(queries, rows, strict=True)}
    known = dict(zip([each.id for each in queries], group(queries, paths).tolist(), strict=True))
    random.shuffle(queries)
    assert [known[each.id] for each in queries] == group(queries, paths).tolist()


@given(requests, st.integers(2, 6), st.integers(0, 3))
def test_no_path_and_no_gold_set_is_in_two_folds(rows: list[tuple[int, int]], count: int, seed: int) -> None:
    queries = [query(f"q{at:02}", f"t{tool}") for at, (tool, _) in enumerate(rows)]
    paths = {each.id: f"p{path}" if path else "" for each, (_, path) in zip(queries, rows, strict=True)}
    dealt = folds(group(queries, paths), count, seed)
    assert sorted(np.concatenate(dealt).tolist()) == list(range(len(rows)))
    for at, fold in enumerate(dealt):
        elsewhere = np.concatenate([other for place, other in enumerate(dealt) if place != at])
        assert not {rows[row][0] for row in fold} & {rows[row][0] for row in elsewhere}
        assert not {rows[row][1] for row in fold if rows[row][1]} & {rows[row][1] for row in elsewhere}


def test_folds_are_of_about_one_size_and_follow_the_seed() -> None:
    groups = np.repeat(np.arange(100), np.arange(100) % 5 + 1)
    dealt = folds(groups, 5, 0)
    assert {len(fold) for fold in dealt} == {60}
    assert [fold.tolist() for fold in folds(groups, 5, 0)] == [fold.tolist() for fold in dealt]
    assert [fold.tolist() for fold in folds(groups, 5, 1)] != [fold.tolist() for fold in dealt]


def written(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "queries.jsonl").write_text(text, encoding="utf-8")
    return folder


def rows(count: int, **others: Any) -> list[dict[str, Any]]:
    return [{"id": f"r{at}", "query": f"request {at}", "tools": [f"t{at}"], **others} for at in range(count)]


def test_a_folder_and_a_file_are_read_alike(tmp_path: Path) -> None:
    folder = written(tmp_path / "mine", rows(20))
    for place in (folder, folder / "queries.jsonl"):
        labels = read_labels(place)
        assert (labels.queries.name, len(labels.queries.queries), labels.left_out) == ("mine", 20, 0)
        assert not labels.test_Q.any()


def test_test_requests_are_kept_apart_and_leave_where_their_path_was_fitted_on(tmp_path: Path) -> None:
    dev = rows(20, split="dev", path_id="")
    test = [{**row, "id": f"x{at}", "split": "test", "tools": [f"new{at}"]} for at, row in enumerate(rows(6))]
    test[0]["tools"] = ["t3"]
    test[1]["path_id"] = dev[4]["path_id"] = "p4"
    labels = read_labels(written(tmp_path, [*test, *dev]))
    assert labels.left_out == 2
    assert [query.id for query, apart in zip(labels.queries.queries, labels.test_Q, strict=True) if apart] == [
        "x2",
        "x3",
        "x4",
        "x5",
    ]
    assert not set(labels.groups_Q[labels.test_Q].tolist()) & set(labels.groups_Q[~labels.test_Q].tolist())


@pytest.mark.parametrize(
    ("made", "error", "told"),
    [
        (rows(19), InvalidArgumentError, "of 19 tool paths or gold sets"),
        (rows(30, path_id="p1"), InvalidArgumentError, "of 1 tool paths"),
        (rows(30, split="test"), InvalidArgumentError, "of 0 tool paths"),
        (rows(30, split="dvelop"), DocumentError, "'r0' has the split 'dvelop'"),
        (rows(30, tools=[]), DocumentError, "'tools' is empty"),
        ([], DocumentError, "there is no request"),
    ],
)
def test_what_nothing_can_be_fitted_on_is_refused_in_words(
    tmp_path: Path, made: list[dict[str, Any]], error: type[EgotoolsError], told: str
) -> None:
    with pytest.raises(error, match=told) as refused:
        read_labels(written(tmp_path, made))
    assert refused.value.remedy
    assert str(tmp_path) in refused.value.subject
