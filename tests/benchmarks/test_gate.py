"""The regression gate: it passes while default is not below its baselines, and fails where it or its graph got worse."""

import json
from pathlib import Path

import pytest

from benchmarks.gate import BY_NEEDS, REFERENCE, KnownLoss, judge, judge_needs, run_gate, without_rule
from benchmarks.sets import BenchSet, bench_sets
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
from ontology.errors import DocumentError, InvalidArgumentError, NotFoundError
from tests.eval.planted import query_set, run_of

THINGS = ("invoice", "supplier", "employee", "contract", "shipment", "warehouse", "budget", "ticket")
SYSTEMS = ("rrf", "default-no-graph", "default")


def _measured(*right: int, of: int = 200, name: str = "planted", way: str = "") -> MeasuredSet:
    """A set of which each of the three systems, asked in a way, completes so many requests."""
    queries = query_set({f"q{number}": ["gold"] for number in range(of)}, name=name)
    runs = tuple(
        run_of(queries, {f"q{n}": ["gold" if n < count else "other"] for n in range(of)}, system=system + way)
        for system, count in zip(SYSTEMS, right, strict=True)
    )
    return MeasuredSet(queries=queries, runs=runs, tools=40, snapshot_id=runs[0].snapshot_id)


@pytest.fixture
def planted(tmp_path: Path) -> BenchSet:
    """Two tools for each thing, and a request that names one of each pair."""
    folder = tmp_path / "planted"
    folder.mkdir()
    named = [(f"{verb}_{thing}", f"{verb.title()}s a {thing}.") for thing in THINGS for verb in ("find", "delete")]
    tools = [{"id": name, "name": name, "description": text, "parameters": []} for name, text in named]
    queries = [
        {
            "id": f"q-{thing}",
            "query": f"please find the {thing} of last week",
            "tools": [f"find_{thing}"],
            "class": "single",
        }
        for thing in THINGS
    ]
    for name, rows in (("tools", tools), ("queries", queries)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return BenchSet(name="planted", catalog=folder / "tools.jsonl", queries=folder / "queries.jsonl")


def test_a_set_is_built_asked_and_judged(planted: BenchSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference = tmp_path / "reference.json"
    for renew, code in ((False, 1), (True, 0), (False, 0)):
        found = run_gate([planted], "default", tmp_path / "out", judge_mean=False, reference=reference, renew=renew)
        said = capsys.readouterr().out
        assert found == code, said
        assert ("STALE  planted: not in the reference; record it with --renew-reference" in said) == bool(code)
    assert "Some sets only: the rule on the mean gain of the graph was not applied." in said


@pytest.mark.parametrize(
    ("right", "known", "faults"),
    [
        ((100, 100, 120), {}, []),
        ((100, 100, 99), {}, ["GRAPH"]),  # within the interval, and no gain
        ((140, 100, 120), {}, ["LOST"] * 3),
        ((140, 100, 120), -0.1, []),
        ((140, 100, 120), -0.07, ["WORSE"] * 3),
        ((100, 140, 120), {}, ["LOST"] * 3 + ["GRAPH"] * 3),
    ],
    ids=["better", "no gain", "below rrf", "known", "worse than known", "below itself without the graph"],
)
def test_what_is_a_fault(right: tuple[int, int, int], known: object, faults: list[str]) -> None:
    size = known if isinstance(known, float) else 0.0
    accepted = {("rrf", "planted", measure): KnownLoss(size, "a cause") for measure in GATE_MEASURES if size}
    found = judge([_measured(*right)], "default", known=accepted)
    assert [line.split()[0] for line in found] == faults, found


def test_the_shipped_sets_alone_are_judged_without_the_mean(capsys: pytest.CaptureFixture[str]) -> None:
    names = [bench_set.name for bench_set in bench_sets(bench=Path("no open sets"))]
    assert judge([_measured(100, 100, 120, name=name) for name in names], "default") == []
    assert "that on its mean gain was not applied" in capsys.readouterr().out
    assert judge([_measured(140, 100, 120, name=name) for name in names], "default")


def test_by_needs_a_loss_and_a_fall_are_faults(tmp_path: Path) -> None:
    reference = tmp_path / "reference.json"
    before, now = (_measured(100, 100, count, name="planted@needs", way="@needs") for count in (120, 60))
    write_reference(reference, {"planted@needs": reference_of(before, "default@needs")})
    assert judge_needs([before], "default", reference=reference) == []
    found = [line.split()[0] for line in judge_needs([now], "default", reference=reference)]
    assert found == ["LOST"] * 6 + ["FELL"] * 3  # to both baselines, at 3, 5 and 10 tools


def test_a_known_loss_that_is_gone_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    known = {("rrf", "planted", "CompleteRecall@3"): KnownLoss(-0.1, "a cause")}
    assert judge([_measured(100, 100, 120)], "default", known=known) == []
    assert "FIXED  planted, CompleteRecall@3: not lost to rrf any more" in capsys.readouterr().out


def test_sets_that_a_rule_was_found_on_are_left_out() -> None:
    names = ["apibank", "bfcl", "toollinkos-given", "enterprise", "enterprise-generated", "ultratool"]
    assert without_rule(names) == ["bfcl", "ultratool"]
    assert without_rule(["bfcl", "enterprise", "enterprise-test"]) == ["bfcl"]


def test_a_fall_is_a_net_loss_beyond_the_paired_interval_of_a_set_or_of_the_mean() -> None:
    reference = {"planted": reference_of(_measured(0, 0, 100), "default")}
    assert falls([_measured(0, 0, 100)], "default", reference) == []
    assert falls([_measured(0, 0, 120)], "default", reference) == []
    assert falls([_measured(0, 0, 98)], "default", reference) == []
    fallen = falls([_measured(0, 0, 94)], "default", reference)
    assert [fall.measure for fall in fallen] == list(GATE_MEASURES)
    assert all(fall.difference == pytest.approx(-0.03) and -0.03 < fall.high < 0 for fall in fallen)

    def named(right: int) -> list[MeasuredSet]:
        return [_measured(0, 0, right, name=f"set {number}") for number in range(12)]

    many = {one.queries.name: reference_of(one, "default") for one in named(100)}
    assert {fall.set_name for fall in falls(named(98), "default", many)} == {"mean of 12 sets"}


def test_a_set_of_other_requests_is_not_compared(tmp_path: Path) -> None:
    reference = {"planted": reference_of(_measured(0, 0, 100), "default")}
    other = [_measured(0, 0, 10, of=100)]
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
    by_needs = {*(f"{name}@needs" for name in BY_NEEDS), "reranked enterprise@needs"}
    assert set(reference) == {bench_set.name for bench_set in bench_sets(bench=shared / "bench")} | by_needs
    for name, one in reference.items():
        assert one.system == ("default@needs" if name in by_needs else "default")
        assert set(one.complete) == set(GATE_MEASURES)
        for measure, hits in one.complete_requests.items():
            assert int(hits, 16).bit_count() / one.queries == pytest.approx(one.complete[measure], abs=1e-6)


def test_a_gate_that_measured_nothing_does_not_pass() -> None:
    summary = summarise([_measured(100, 0, 80)], baseline="rrf")
    with pytest.raises(InvalidArgumentError, match="paper"):
        missing_gains(summary, "paper")
    with pytest.raises(InvalidArgumentError, match="paper"):
        losses(summary, "paper")
    with pytest.raises(InvalidArgumentError, match="no difference"):
        losses(summary, "rrf")
