"""Labelled requests: read as they are, or refused with every fault in its place."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from eval.queries import (
    LabelledQuery,
    missing_gold,
    read_queries,
    require_gold,
    sample_queries,
    with_needs,
)
from ontology.errors import DocumentError, InvalidArgumentError
from tests.eval.planted import query_set, written

GOOD: dict[str, Any] = {"id": "q1", "query": "send an invoice", "tools": ["send"], "class": "single"}


def test_rows_are_read_in_order_and_other_keys_are_ignored(tmp_path: Path) -> None:
    second = {"id": "q 2/é", "query": "给我发票", "tools": ["b", "a", "b"], "ordered": True}
    third = {"id": "q3", "query": "pay it", "tools": ["a"], "class": None}
    queries = read_queries([written(tmp_path / "mine.jsonl", GOOD, "", second, "   ", third)])
    assert queries.name == "mine"
    assert queries.queries == (
        LabelledQuery(id="q1", text="send an invoice", slots=(("send",),), request_class="single"),
        LabelledQuery(id="q 2/é", text="给我发票", slots=(("b",), ("a",))),
        LabelledQuery(id="q3", text="pay it", slots=(("a",),)),
    )


def test_tools_that_would_do_equally_are_one_slot(tmp_path: Path) -> None:
    tools = [["send", "mail", "send"], "pay", ["pay"], ["mail", "send"], ["pay", "send"]]
    (query,) = read_queries([written(tmp_path / "mine.jsonl", {**GOOD, "tools": tools})]).queries
    assert query.slots == (("send", "mail"), ("pay",), ("pay", "send"))
    assert query.tools == ("send", "mail", "pay")
    assert query.least_tools == 2  # what fills the first two may fill the third


def test_rows_without_tools_are_read_apart_where_they_are_wanted(tmp_path: Path) -> None:
    none = {"id": "n1", "query": "play some music", "tools": [], "class": "none", "kind": "other-domain"}
    by_class = {"id": "n2", "query": "thank you", "tools": [], "class": "chit-chat", "split": "test"}
    without: dict[str, Any] = {"id": "n3", "query": "hi there", "tools": [], "class": "none", "kind": None}
    path = written(tmp_path / "mine.jsonl", none, GOOD | {"kind": 7}, by_class, without)
    queries = read_queries([path], unanswerable=True)
    assert [query.id for query in queries.queries] == ["q1"]
    assert [(query.id, query.kind, query.tools) for query in queries.unanswerable] == [
        ("n1", "other-domain", ()),
        ("n2", "chit-chat", ()),
        ("n3", "", ()),
    ]
    assert [query.id for query in queries.asked] == ["q1", "n1", "n2", "n3"]
    assert queries.sha256 != read_queries([written(tmp_path / "good.jsonl", GOOD)]).sha256
    assert [query.id for query in read_queries([path], split="test", unanswerable=True).asked] == ["n2"]
    assert len(sample_queries(queries, 2).asked) == 2
    with pytest.raises(DocumentError, match="3 rows are not labelled requests"):
        read_queries([path])
    with pytest.raises(DocumentError, match="'kind' must be a text"):
        read_queries([written(path, {"id": "n1", "query": "hi", "tools": [], "kind": ["talk"]})], unanswerable=True)


def test_the_hash_is_of_what_is_measured_and_its_order(tmp_path: Path) -> None:
    other = {**GOOD, "id": "q2"}
    base = read_queries([written(tmp_path / "a.jsonl", GOOD, other)])
    spaced = json.dumps(dict(reversed(GOOD.items())), indent=None, separators=(" , ", " : "))
    same = read_queries([written(tmp_path / "b.jsonl", spaced), written(tmp_path / "c.jsonl", {**other, "main": "x"})])
    assert same.sha256 == base.sha256
    for changed in (
        [other, GOOD],
        [GOOD],
        [GOOD, {**other, "tools": ["send", "pay"]}],
        [GOOD, {**other, "query": "send an invoice!"}],
        [GOOD, {**other, "class": "multi"}],
    ):
        assert read_queries([written(tmp_path / "d.jsonl", *changed)]).sha256 != base.sha256


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ('{"id": "q1",', "Invalid JSON"),
        ('{"id": ' + "[" * 200_000, "recursion limit"),
        ("[1, 2]", "should be an object"),
        ({"query": "x"}, "'id' is missing"),
        ({**GOOD, "id": ""}, "'id': String should have at least 1"),
        ({**GOOD, "tools": "send"}, "'tools': it must be a list of ids"),
        ({**GOOD, "tools": []}, "'tools': it is empty"),
        ({**GOOD, "tools": ["send", ["pay", ["x"]]]}, "a list in it has the ids of tools that would do equally"),
        ({**GOOD, "query": " ?! "}, "a letter or digit"),
        ({**GOOD, "query": "x" * 20_001}, "20001 characters"),
        ('{"id": "q1", "query": "half \\ud800", "tools": ["send"]}', "Invalid JSON"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_with_file_and_line(tmp_path: Path, row: Any, fault: str) -> None:
    path = written(tmp_path / "mine.jsonl", {**GOOD, "id": "q0"}, "", row)
    with pytest.raises(DocumentError) as caught:
        read_queries([path])
    assert caught.value.subject == f"{path}:3"
    assert fault in caught.value.problem
    assert caught.value.remedy == "Correct or remove this row"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("{", "Invalid JSON"),
        ({"id": "q1", "needs": "pay an invoice"}, "'needs': Input should be a valid array"),
        ({"id": "q1", "needs": ["pay"] * 33}, "there are 33 needs"),
        ({"id": "q1", "needs": ["pay", "x" * 501]}, "needs[1]: a need is a phrase of 1 to 500"),
        ({"id": "q0", "needs": ["pay"]}, "the id 'q0' was already used at"),
    ],
)
def test_needs_that_cannot_be_used_are_named_with_file_and_line(tmp_path: Path, row: Any, fault: str) -> None:
    queries = read_queries([written(tmp_path / "mine.jsonl", GOOD)])
    path = written(tmp_path / "needs.jsonl", {"id": "q0", "needs": ["pay an invoice"]}, row)
    with pytest.raises(DocumentError) as caught:
        with_needs(queries, [path])
    assert caught.value.subject == f"{path}:2"
    assert fault in caught.value.problem


def test_requests_without_needs_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = [{**GOOD, "id": f"q{number}", "split": "dev" if number < 4 else "test"} for number in range(6)]
    queries = read_queries([written(tmp_path / "mine.jsonl", *rows)])
    recorded = [
        {"id": "q5", "needs": ["pay"]},
        {"id": "q1", "needs": ["send a bill", "pay"]},
        {"id": "q3", "needs": []},
    ]
    path = written(
        tmp_path / "needs.jsonl", *recorded, {"id": "gone", "needs": ["pay"]}, {"id": "q0", "of": "another use"}
    )
    kept = with_needs(queries, [path], split="dev")
    assert [(query.id, query.needs) for query in kept.queries] == [("q1", ("send a bill", "pay")), ("q3", ())]
    assert (kept.without_needs, kept.unknown_needs) == (2, ("gone",))
    assert (
        kept.sha256
        != with_needs(queries, [written(path, *recorded[:2], {"id": "q3", "needs": ["pay"]})], split="dev").sha256
    )
    with pytest.raises(InvalidArgumentError, match="no request has recorded needs"):
        with_needs(queries, [written(path, {"id": "gone", "needs": ["pay"]})])


def test_an_id_given_twice_names_both_places_also_across_files(tmp_path: Path) -> None:
    first, second = written(tmp_path / "a.jsonl", GOOD), written(tmp_path / "b.jsonl", {**GOOD, "id": "q0"}, GOOD)
    with pytest.raises(DocumentError, match="the id 'q1' was already used at") as caught:
        read_queries([first, second])
    assert caught.value.subject == f"{second}:2"
    assert f"{first}:1" in caught.value.problem


def test_all_faults_are_counted_and_the_first_ten_named(tmp_path: Path) -> None:
    path = written(
        tmp_path / "mine.jsonl", GOOD, *[{**GOOD, "id": f"q{number}", "tools": []} for number in range(2, 14)]
    )
    with pytest.raises(DocumentError) as caught:
        read_queries([path])
    message = str(caught.value)
    assert caught.value.subject == str(path)
    assert "12 rows are not labelled requests" in message
    assert all(f"{path}:{line}:" in message for line in range(2, 12))
    assert f"{path}:12" not in message
    assert "and 2 more" in message


def test_files_without_requests_and_files_that_are_not_there(tmp_path: Path) -> None:
    empty = written(tmp_path / "empty.jsonl", "", " ")
    for path, problem in [
        (empty, "no request in this file"),
        (tmp_path / "absent.jsonl", "No such file"),
        (tmp_path, "directory"),
    ]:
        with pytest.raises(DocumentError, match=problem) as caught:
            read_queries([path])
        assert caught.value.subject == str(path)
    with pytest.raises(DocumentError, match="no request in this file"):
        read_queries([written(tmp_path / "good.jsonl", GOOD), empty])
    with pytest.raises(InvalidArgumentError):
        read_queries([])


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    for path in (tmp_path / "pipe.jsonl", Path("/dev/zero")):
        with pytest.raises(DocumentError, match="no regular file"):
            read_queries([path])
    linked = tmp_path / "linked.jsonl"
    linked.symlink_to(written(tmp_path / "good.jsonl", GOOD))
    assert len(read_queries([linked]).queries) == 1


def test_missing_gold_is_found_and_refused_by_name() -> None:
    queries = query_set({"q1": ["a", "b"], "q2": ["c"], "q3": ["x", "a", "y"]})
    missing = missing_gold(queries, ["a", "b", "c"])
    assert missing == {"q3": ("x", "y")}
    assert missing_gold(queries, {"a", "b", "c", "x", "y"}) == {}
    with pytest.raises(InvalidArgumentError) as caught:
        require_gold(queries, missing)
    assert "1 of 3 requests need 2 tools" in caught.value.problem
    assert "'q3' needs 'x', 'y'" in caught.value.problem
    assert "--allow-missing" in caught.value.remedy
    require_gold(queries, {})


def test_a_sample_keeps_the_order_and_grows_by_adding() -> None:
    queries = query_set({f"q{number:02}": ["t"] for number in range(40)})
    small, large = sample_queries(queries, 10), sample_queries(queries, 20)
    assert (small.name, len(small.queries), len(large.queries)) == ("planted", 10, 20)
    assert small.queries == tuple(query for query in queries.queries if query in small.queries)
    assert set(small.queries) < set(large.queries)
    assert small.sha256 != large.sha256
    assert small.queries != queries.queries[:10]
    assert sample_queries(queries, 99).queries == queries.queries
    with pytest.raises(InvalidArgumentError, match="at least one request"):
        sample_queries(queries, 0)


def test_a_split_is_read_alone_and_an_unknown_one_says_which_there_are(tmp_path: Path) -> None:
    rows = [
        {"id": str(n), "query": f"request {n}", "tools": ["a"], "split": "test" if n % 3 else "dev"} for n in range(6)
    ]
    file = written(tmp_path / "queries.jsonl", *rows)
    assert [query.id for query in read_queries([file], split="dev").queries] == ["0", "3"]
    assert len(read_queries([file]).queries) == 6
    assert read_queries([file], split="dev").sha256 != read_queries([file], split="test").sha256
    with pytest.raises(InvalidArgumentError, match=r"dev, test"):
        read_queries([file], split="train")
