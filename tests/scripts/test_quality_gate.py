"""The regression gate of CI: it passes while default is not below its baselines, and fails where it or its graph got worse."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from eval.measured_set import MeasuredSet
from eval.regression_gate import (
    GATE_MEASURES,
    falls,
    losses,
    missing_gains,
    read_reference,
    reference_of,
    stale,
    write_reference,
)
from eval.summary import summarise
from inference import Floats1d
from ontology.errors import DocumentError, InvalidArgumentError, NotFoundError
from retrieval.ranking.fusion import FeatureMatrix
from retrieval.ranking.weights import SHIPPED, RankingWeights
from scripts.bench_sets import BenchSet, bench_sets
from scripts.quality_gate import REFERENCE, KnownLoss, run_gate
from tests.eval.planted import query_set, run_of

THINGS = (
    "invoice",
    "supplier",
    "employee",
    "contract",
    "shipment",
    "warehouse",
    "budget",
    "ticket",
    "license",
    "vehicle",
)


@pytest.fixture
def planted(tmp_path: Path) -> BenchSet:
    """Two tools for each thing, and a request that names one of each pair."""
    folder = tmp_path / "planted"
    folder.mkdir()
    tools = [
        {
            "id": f"{verb}_{thing}",
            "name": f"{verb}_{thing}",
            "description": f"{verb.title()}s a {thing}.",
            "parameters": [],
        }
        for thing in THINGS
        for verb in ("find", "delete")
    ]
    queries = [
        {
            "id": f"q{number}",
            "query": f"please find the {thing} of last week",
            "tools": [f"find_{thing}"],
            "class": "single",
        }
        for number, thing in enumerate(THINGS)
    ]
    for name, rows in (("tools", tools), ("queries", queries)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return BenchSet(name="planted", catalog=folder / "tools.jsonl", queries=folder / "queries.jsonl")


ACTIONS = {
    "employee": "pay out a bonus",
    "supplier": "block payments",
    "customer": "mail a reminder letter",
    "vehicle": "book an oil change",
    "contract": "start the renewal",
    "warehouse": "count the stock",
    "project": "freeze the budget",
    "shipment": "change the delivery slot",
    "ticket": "raise the priority",
    "license": "extend the term",
}
OTHERS = ("print", "archive", "translate", "sign", "scan", "encrypt", "rename")


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> BenchSet:
    """Each request needs an action and the tool that finds its identifier, which only the graph relates to the request."""
    folder = tmp_path_factory.mktemp("linked")
    tools: list[dict[str, object]] = []
    queries = []
    for thing, action in ACTIONS.items():
        parameters = [{"name": f"{thing}_id", "type": "string", "required": True}]
        name = action.replace(" ", "_")
        tools.append({"id": name, "name": name, "description": f"{action.capitalize()}.", "parameters": parameters})
        tools.append(
            {
                "id": f"search_{thing}s",
                "name": f"search_{thing}s",
                "description": f"Search {thing}s by name.",
                "parameters": [{"name": "name", "type": "string", "required": True}],
                "returns": [{"name": f"{thing}_id", "type": "string"}],
            }
        )
        tools += [
            {
                "id": f"{verb}_{name}",
                "name": f"{verb}_{name}",
                "description": f"{verb.capitalize()} it.",
                "parameters": [],
            }
            for verb in OTHERS
        ]
        queries.append({"id": f"q-{thing}", "query": f"{action}, for Nordwind", "tools": [name, f"search_{thing}s"]})
    for name, rows in (("tools", tools), ("queries", queries)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return BenchSet(name="linked", catalog=folder / "tools.jsonl", queries=folder / "queries.jsonl")


def test_it_passes_while_the_default_and_its_graph_are_worth_something(
    linked: BenchSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_gate([linked], "default", tmp_path / "out") == 0
    said = capsys.readouterr().out
    assert "0 faults on 1 sets" in said
    assert "CompleteRecall@3     +100.0%; sign-flip p 1.000" in said
    assert run_gate([linked], "default", tmp_path / "out", judge_mean=False) == 0
    assert "Some sets only: the rule on the mean gain of the graph was not applied." in capsys.readouterr().out


@pytest.fixture
def regression(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scores of default, upside down."""
    forwards = FeatureMatrix.scores

    def backwards(self: FeatureMatrix, weights: RankingWeights) -> Floats1d:
        scores: Floats1d = -forwards(self, weights)
        return scores

    monkeypatch.setattr(FeatureMatrix, "scores", backwards)


@pytest.mark.usefixtures("regression")
def test_a_planted_regression_is_caught(planted: BenchSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_gate([planted], "default", tmp_path / "out", judge_mean=False) == 1
    said = capsys.readouterr().out
    assert "LOST   planted, CompleteRecall@3: -" in said


@pytest.mark.usefixtures("regression")
def test_a_known_loss_passes_while_it_is_as_large_and_is_told_when_it_is_gone(
    planted: BenchSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def gate(known: Mapping[tuple[str, str, str], float]) -> tuple[int, str]:
        losses_ = {key: KnownLoss(difference, "a cause") for key, difference in known.items()}
        monkeypatch.setattr("scripts.quality_gate.KNOWN_LOSSES", losses_)
        code = run_gate([planted], "default", tmp_path / "out", judge_mean=False)
        return code, capsys.readouterr().out

    _, said = gate({})
    found = re.findall(r"LOST   (planted), (\S+): (\S+)% to (\S+),", said)
    lost = {(baseline, name, measure): float(points) / 100 for name, measure, points, baseline in found}
    assert {(baseline, name) for baseline, name, _ in lost} == {("rrf", "planted")}
    assert gate(lost)[0] == 0
    assert gate({key: difference + 0.019 for key, difference in lost.items()})[0] == 0
    code, said = gate({key: difference + 0.021 for key, difference in lost.items()})
    assert code == 1
    assert said.count("WORSE  planted") == len(lost)
    assert "% was accepted" in said
    code, said = gate({("default-no-graph", *key[1:]): difference for key, difference in lost.items()})
    assert code == 1
    assert said.count("LOST   planted") == said.count("FIXED  planted") == len(lost)
    code, said = gate(lost | {("rrf", "planted", "CompleteRecall@100"): -0.5})
    assert code == 0
    assert "FIXED  planted, CompleteRecall@100: not lost to rrf any more" in said


def test_a_perturbed_weight_is_caught_although_no_baseline_is_better(
    linked: BenchSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def gate(folder: str, *, renew: bool = False) -> tuple[int, str]:
        reference = tmp_path / "reference.json"
        code = run_gate([linked], "default", tmp_path / folder, judge_mean=False, reference=reference, renew=renew)
        return code, capsys.readouterr().out

    code, said = gate("before")
    assert code == 1
    assert "STALE  linked: not in the reference; record it with --renew-reference" in said
    assert gate("before", renew=True)[0] == gate("before")[0] == 0
    monkeypatch.setattr("retrieval.ranking.weights.SHIPPED", SHIPPED.replace(resolver_margin=50.0))
    code, said = gate("after")
    assert code == 1
    assert "FELL   linked, CompleteRecall@" in said
    assert " to the reference, at best -" in said
    assert "LOST" not in said


def _measured(candidate_right: int, baseline_right: int, of: int) -> MeasuredSet:
    queries = query_set({f"q{number}": ["gold"] for number in range(of)})

    def right(count: int) -> dict[str, list[str]]:
        return {f"q{number}": ["gold" if number < count else "other"] for number in range(of)}

    runs = (
        run_of(queries, right(baseline_right), system="rrf"),
        run_of(queries, right(candidate_right), system="default"),
    )
    return MeasuredSet(queries=queries, runs=runs, tools=40, snapshot_id=runs[0].snapshot_id)


def test_a_loss_within_the_interval_is_no_loss() -> None:
    summary = summarise([_measured(99, 100, 200)], baseline="rrf")
    assert losses(summary, "default") == []


def test_a_loss_beyond_the_interval_is_named_with_its_size() -> None:
    summary = summarise([_measured(80, 100, 200)], baseline="rrf")
    lost = losses(summary, "default")
    assert [loss.measure for loss in lost] == ["CompleteRecall@3", "CompleteRecall@5", "CompleteRecall@10"]
    assert all(loss.difference == pytest.approx(-0.1) and -0.1 < loss.high < 0 for loss in lost)


def test_a_mean_is_a_gain_only_above_0_at_ten_tools_with_its_whole_interval_and_not_below_before() -> None:
    def reasons(candidate: int, baseline: int) -> list[str]:
        return missing_gains(summarise([_measured(candidate, baseline, 200)], baseline="rrf"), "default")

    assert reasons(120, 100) == []
    assert [reason.partition(": ")[0] for reason in reasons(101, 100)] == ["mean of 1 sets, CompleteRecall@10"]
    assert len(reasons(100, 100)) == 1
    assert len(reasons(80, 100)) == 3


def test_a_fall_is_a_net_loss_beyond_the_paired_interval_of_a_set_or_of_the_mean() -> None:
    reference = {"planted": reference_of(_measured(100, 0, 200), "default")}
    assert falls([_measured(100, 0, 200)], "default", reference) == []
    assert falls([_measured(120, 0, 200)], "default", reference) == []
    assert falls([_measured(98, 0, 200)], "default", reference) == []
    fallen = falls([_measured(94, 0, 200)], "default", reference)
    assert [fall.measure for fall in fallen] == list(GATE_MEASURES)
    assert all(fall.difference == pytest.approx(-0.03) and -0.03 < fall.high < 0 for fall in fallen)

    def named(right: int) -> list[MeasuredSet]:
        one = _measured(right, 0, 200)
        return [replace(one, queries=replace(one.queries, name=f"set {number}")) for number in range(12)]

    many = {one.queries.name: reference_of(one, "default") for one in named(100)}
    assert {fall.set_name for fall in falls(named(98), "default", many)} == {"mean of 12 sets"}


def test_a_set_of_other_requests_is_not_compared(tmp_path: Path) -> None:
    reference = {"planted": reference_of(_measured(100, 0, 200), "default")}
    other = [_measured(10, 0, 100)]
    assert falls(other, "default", reference) == []
    assert stale(other, reference) == ["planted: other requests than the reference"]
    with pytest.raises(NotFoundError, match="paper"):
        reference_of(other[0], "paper")
    path = tmp_path / "reference.json"
    assert read_reference(path) == {}
    write_reference(path, reference)
    assert read_reference(path) == reference
    path.write_text('{"planted": {}}', encoding="utf-8")
    with pytest.raises(DocumentError, match="cannot be read"):
        read_reference(path)


def test_the_committed_reference_is_of_every_set_of_the_gate(shared: Path) -> None:
    reference = read_reference(REFERENCE)
    assert set(reference) == {bench_set.name for bench_set in bench_sets(bench=shared / "bench")}
    for one in reference.values():
        assert one.system == "default"
        assert set(one.complete) == set(GATE_MEASURES)
        for measure, hits in one.complete_requests.items():
            assert int(hits, 16).bit_count() / one.queries == pytest.approx(one.complete[measure], abs=1e-6)


def test_a_gate_that_measured_nothing_does_not_pass() -> None:
    summary = summarise([_measured(80, 100, 200)], baseline="rrf")
    with pytest.raises(InvalidArgumentError, match="paper"):
        missing_gains(summary, "paper")
    with pytest.raises(InvalidArgumentError, match="paper"):
        losses(summary, "paper")
    with pytest.raises(InvalidArgumentError, match="no difference"):
        losses(summary, "rrf")
