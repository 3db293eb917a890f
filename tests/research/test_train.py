"""What the shipped models are taught with: requests out of documentation, hard negatives, batches."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from inference import HashingEncoder
from inference.minilm import WEIGHTS
from ontology.tool import Parameter, Tool
from research.train.documentation_requests import ask, document_without, wish
from research.train.hard_negatives import Miner
from research.train.measure_encoder import measure, read_set
from research.train.train_encoder import schedule
from research.train.training_batches import Batch, Group, batches, read_groups
from research.train.training_catalogues import GENERATED, HELD_OUT
from research.train.training_data import balanced, documents


def tool(name: str, description: str, *parameters: str) -> Tool:
    return Tool(
        id=name, name=name, description=description, parameters=tuple(Parameter(name=one) for one in parameters)
    )


@pytest.mark.parametrize(
    ("description", "said"),
    [
        ("Archives a purchase order of your plant. It cannot be undone.", "archive a purchase order of our plant"),
        ("This operation archives the log group.", "archive the log group"),
        ("Enables you to archive an existing AWS Backup plan.", "archive an existing plan"),
        (
            "Archives the BackupPlan of a vault, unless it is locked; see the manual.",
            "archive the backup plan of a vault",
        ),
    ],
)
def test_a_description_becomes_a_wish(description: str, said: str) -> None:
    found = wish(tool("x", description), random.Random(0))
    assert found is not None
    assert found.said == said


@pytest.mark.parametrize(
    "description", ["", "Stops it.", "The state of the queue at any time.", "- lists of all the things"]
)
def test_a_description_that_says_no_deed_gives_no_wish(description: str) -> None:
    assert wish(tool("x", description), random.Random(0)) is None


def test_the_document_does_not_have_the_sentence_that_was_asked_with() -> None:
    one = tool("CloseCase", "Closes a case. A closed case can be opened again.", "case_id")
    found = wish(one, random.Random(1))
    assert found is not None
    document = document_without(one, found.sentence)
    assert "Closes a case." not in document
    assert document.endswith("A closed case can be opened again. case_id")


def test_several_wishes_are_one_request() -> None:
    for seed in range(20):
        text = ask(["close the case", "tell the buyer"], random.Random(seed))
        assert text.index("lose the case") < text.index("tell the buyer")


def test_negatives_are_neither_needed_nor_their_twins() -> None:
    texts = [f"archive the purchase order number {number}" for number in range(6)]
    texts += [texts[0], "rotate the certificate of a server", "archive the purchase order of a plant"]
    encoder = HashingEncoder()
    miner = Miner(texts, encoder)
    query = "archive a purchase order"
    found = miner.mine(query, encoder.encode([query])[0], [0], random.Random(0))
    assert found
    assert len(found) == len(set(found)) <= 8
    assert not {0, 6} & set(found)


def test_documents_are_what_the_product_encodes() -> None:
    tools = [tool("closeCase", "Closes a case.", "case_id")]
    assert documents(tools, "name") == ["close case"]
    assert documents(tools, "text") == ["closeCase. Closes a case."]
    assert documents(tools, "text and params") == ["closeCase. Closes a case. case_id"]


def test_requests_are_balanced_over_the_tools_and_some_are_joined() -> None:
    rows = [{"query": f"a {number}", "tools": ["a"]} for number in range(90)]
    rows += [{"query": f"b {number}", "tools": ["b"]} for number in range(10)]
    kept = balanced(rows, 20, random.Random(0))
    assert sum(row["query"].count("a ") for row in kept) == 20
    assert sum(row["query"].count("b ") for row in kept) == 10
    assert any(row["tools"] == ["a", "b"] for row in kept)


def test_no_catalogue_is_both_trained_on_and_held_out() -> None:
    assert not set(GENERATED) & set(HELD_OUT)


def group(key: str, *, gold: int, length: int = 3) -> Group:
    ids = [1] * length
    return Group(ids, [(f"{key}{number}", ids) for number in range(gold)], [(f"not {key}{n}", ids) for n in range(5)])


def test_a_batch_never_pushes_away_what_is_needed() -> None:
    needs_all = Group([1], [(f"a{number}", [1]) for number in range(4)], [("b0", [1])])
    needs_one = Group([2], [("b0", [1])], [("a3", [1]), ("a2", [1])])
    for seed in range(10):
        batch = next(batches([needs_all, needs_one], 2, 2, random.Random(seed)))
        first = batch.queries.index([1])
        pulled = [pair for pair in batch.wanted if pair[0] == first]
        hidden = [pair for pair in batch.hidden if pair[0] == first]
        # Of a's four documents, those that stand in the batch for either request are pulled or hidden; b's is pushed.
        assert len(pulled) == 2
        assert len(pulled) + len(hidden) == len(batch.documents) - 1
        assert not set(batch.wanted) & batch.hidden


def test_a_document_stands_once_in_a_batch_and_lengths_keep_together() -> None:
    groups = [group(f"g{number}", gold=1, length=3 + number % 40) for number in range(64)]
    supply = batches(groups, 4, 1, random.Random(0))
    epoch: list[Batch] = [next(supply) for _ in range(16)]
    assert sorted(len(query) for batch in epoch for query in batch.queries) == sorted(len(one.query) for one in groups)
    for batch in epoch:
        assert len(batch.documents) == 8
        lengths = [len(document) for document in batch.documents]
        assert max(lengths) - min(lengths) <= 4


def test_groups_without_a_negative_are_left_out(tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    row = {
        "query": "close it " * 60,
        "positives": ["Close case"],
        "positive_ids": ["a"],
        "negatives": [],
        "negative_ids": [],
    }
    full = {**row, "negatives": ["Open case " * 99], "negative_ids": ["b"]}
    path = tmp_path / "groups.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (row, full)), encoding="utf-8")
    tokenizer = Tokenizer.from_file(str(WEIGHTS / "tokenizer.json"))
    tokenizer.no_padding()
    (only,) = read_groups(path, tokenizer)
    assert (len(only.query), only.length, only.positives[0][0]) == (48, 56, "a")


def test_the_rate_rises_and_falls() -> None:
    rates = [schedule(step, 100) for step in range(100)]
    assert rates[9] == max(rates) == 1
    assert rates[:10] == sorted(rates[:10])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert 0.05 <= rates[-1] < 0.1


def test_measuring_counts_requests_with_every_tool_at_the_top(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    tools = [{"id": f"t{number}", "name": name, "description": f"{name}."} for number, name in enumerate(NAMES)]
    rows = [
        {"query": NAMES[0], "tools": ["t0"]},
        {"query": f"{NAMES[1]} and {NAMES[2]}", "tools": ["t1", "t2"]},
        {"query": ", ".join(NAMES[:3]), "tools": ["t0", "t4"]},
        {"query": NAMES[3], "tools": ["unknown"]},
    ]
    (folder / "tools.jsonl").write_text("".join(json.dumps(one) + "\n" for one in tools), encoding="utf-8")
    (folder / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    labelled = read_set(folder, 300)
    assert len(labelled.requests) == 3
    found = measure(labelled, HashingEncoder())
    # Two of three are complete at 3; the third needs a tool that it says nothing of, and all five tools are within 5.
    assert found["cosine@3"] == found["fused@3"] == 66.7
    assert found["cosine@5"] == found["fused@10"] == 100


NAMES = ("close case", "rotate certificate", "archive invoice", "book flight", "approve holiday")
