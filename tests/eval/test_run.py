"""Runs: resumed and never mixed, whatever the system does or the process dies of."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from eval.measured_set import MeasuredSet, Run, read_measured, read_run, read_runs, run_files, write_measured
from eval.queries import LabelledQuery, QuerySet
from eval.run import Ranked, run_system
from ontology.errors import (
    DeadlineError,
    DocumentError,
    EgotoolsError,
    InvalidArgumentError,
    ModelError,
    NotFoundError,
    NotReadyError,
)
from ontology.files import config_hash

TOOLS = tuple(f"t{number}" for number in range(6))
QUERIES = QuerySet(
    name="planted",
    queries=tuple(LabelledQuery(id=f"q{n}", text=f"request {n}", slots=((TOOLS[n % 6],),)) for n in range(8)),
    sha256="a" * 64,
)


@dataclass
class Planted:
    """Answers ``t0, t1`` to everything, but what ``tricks`` do at a request."""

    name: str = "planted"
    config: Mapping[str, Any] = field(default_factory=lambda: {"weight": 1})
    tricks: dict[str, Callable[[], Ranked]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def ask(self, query: str, *, k: int, timeout_s: float, needs: Sequence[str] = ()) -> Ranked:
        self.asked.append("; ".join((query, *needs)))
        trick = self.tricks.get(query)
        return trick() if trick else ranked("t0", "t1")


def ranked(*tools: str, **ms: float) -> Ranked:
    return Ranked(tools=tools, ms=ms or {"total": 1.0})


def failing(error: Exception) -> Callable[[], Ranked]:
    def fail() -> Ranked:
        raise error

    return fail


def run(system: Planted, folder: Path, **changed: Any) -> Run:
    given: dict[str, Any] = {"snapshot_id": "s1", "k": 3, "timeout_s": 5.0, "known": TOOLS, **changed}
    queries = given.pop("queries", QUERIES)
    return run_system(system, queries, folder, **given)


def test_every_request_is_asked_once_and_the_first_once_more_to_warm_up(tmp_path: Path) -> None:
    system = Planted()
    seen: list[tuple[str, int, int]] = []
    done = run(system, tmp_path, progress=lambda *said: seen.append(said))
    assert system.asked == ["request 0", *(query.text for query in QUERIES.queries)]
    assert seen == [("planted", number, 8) for number in range(9)]
    assert list(done.answers) == [query.id for query in QUERIES.queries]
    assert all(answer.tools == ("t0", "t1") and not answer.error for answer in done.answers.values())
    assert done.config_hash == config_hash({"weight": 1}) and len(done.config_hash) == 12
    assert done.failure == ""
    assert read_run(tmp_path, "planted") == done
    assert read_runs(tmp_path) == (done,)


@pytest.mark.parametrize("error", [DeadlineError("too late"), InvalidArgumentError("not this one")])
def test_a_request_that_fails_scores_nothing_stops_nothing_and_is_asked_again(
    tmp_path: Path, error: EgotoolsError
) -> None:
    failed = {f"request {number}": failing(error) for number in range(1, 6)}
    first = run(Planted(tricks=failed), tmp_path)
    assert [bool(answer.error) for answer in first.answers.values()] == [False, *[True] * 5, False, False]
    assert str(error) in first.answers["q1"].error and first.answers["q1"].tools == ()
    assert first.failure == ""
    again = Planted()
    second = run(again, tmp_path)
    assert again.asked == ["request 1", *(f"request {number}" for number in range(1, 6))]
    assert not any(answer.error for answer in second.answers.values())
    assert read_run(tmp_path, "planted") == second, "of two rows of a request the last one holds"


def test_an_answer_after_its_time_is_no_answer(tmp_path: Path) -> None:
    done = run(Planted(), tmp_path, timeout_s=1e-9)
    assert {answer.error.partition(":")[0] for answer in done.answers.values()} == {"DeadlineError"}
    assert not any(answer.tools for answer in done.answers.values()) and not done.failure


@pytest.mark.parametrize(
    ("tools", "told"),
    [(("t0", "t1", "t2", "t3"), "4 tools; at most 3"), (("t0", "t0"), "twice"), (("t0", "made up"), "made up")],
)
def test_a_system_that_lies_gets_an_error_for_it(tmp_path: Path, tools: tuple[str, ...], told: str) -> None:
    done = run(Planted(tricks={"request 2": lambda: ranked(*tools)}), tmp_path)
    assert told in done.answers["q2"].error and done.answers["q2"].tools == ()
    assert sum(bool(answer.error) for answer in done.answers.values()) == 1


@pytest.mark.parametrize("error", [ModelError("dead"), NotReadyError("stopping"), ZeroDivisionError(), OSError("gone")])
def test_a_system_that_is_gone_stops_its_run_and_resumes(tmp_path: Path, error: Exception) -> None:
    gone = {f"request {number}": failing(error) for number in range(2, 8)}
    system = Planted(tricks=gone)
    first = run(system, tmp_path)
    assert system.asked[1:] == [f"request {number}" for number in range(5)], "three in a row were tried"
    assert type(error).__name__ in first.failure
    assert [query_id for query_id, answer in first.answers.items() if not answer.error] == ["q0", "q1"]
    assert read_run(tmp_path, "planted") == first
    again = Planted()
    second = run(again, tmp_path)
    assert again.asked[1:] == [f"request {number}" for number in range(2, 8)]
    assert second.failure == "" and not any(answer.error for answer in second.answers.values())


class Stopped(BaseException):
    """What ends a process."""


@pytest.mark.parametrize("torn", [b"", b'{"id": "q3", "too', b'{"id": "q3"}\n'])
def test_what_a_stopped_run_has_answered_is_kept(tmp_path: Path, torn: bytes, caplog: pytest.LogCaptureFixture) -> None:
    def stop() -> Ranked:
        raise Stopped

    with pytest.raises(Stopped):
        run(Planted(tricks={"request 3": stop}), tmp_path)
    _, rows = run_files(tmp_path, "planted")
    assert [json.loads(line)["id"] for line in rows.read_text(encoding="utf-8").splitlines()] == ["q0", "q1", "q2"]
    with open(rows, "ab") as file:
        file.write(torn)
    again = Planted()
    with caplog.at_level(logging.WARNING):
        resumed = run(again, tmp_path)
    assert bool(caplog.records) == bool(torn)
    assert again.asked[1:] == [f"request {number}" for number in range(3, 8)]
    whole = run(Planted(), tmp_path / "whole")
    assert resumed.answers == whole.answers
    assert read_run(tmp_path, "planted").answers == whole.answers


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"config": {"weight": 2}}, "configuration"),
        ({"snapshot_id": "s2"}, "snapshot"),
        ({"k": 2}, "k"),
        ({"queries": replace(QUERIES, sha256="c" * 64)}, "requests"),
    ],
)
def test_runs_of_different_things_are_never_mixed(
    tmp_path: Path, changed: dict[str, Any], named: str, caplog: pytest.LogCaptureFixture
) -> None:
    run(Planted(tricks={query.text: lambda: ranked("t5") for query in QUERIES.queries}), tmp_path)
    system = Planted(config=changed.pop("config", {"weight": 1}))
    with caplog.at_level(logging.WARNING):
        done = run(system, tmp_path, **changed)
    assert named in caplog.text and "replaced" in caplog.text
    assert len(system.asked) == 9
    assert all(answer.tools == ("t0", "t1") for answer in done.answers.values())
    assert read_run(tmp_path, "planted") == done


def test_damaged_files_are_named_when_they_are_read(tmp_path: Path) -> None:
    run(Planted(), tmp_path)
    header, rows = run_files(tmp_path, "planted")
    whole = rows.read_bytes()
    rows.write_bytes(whole.replace(b'"id": "q3"', b'"di": "q3"'))
    with pytest.raises(DocumentError, match=rf"{rows.name}:4"):
        read_runs(tmp_path)
    rows.write_bytes(whole[:-10])
    assert len(read_run(tmp_path, "planted").answers) == 7
    header.write_text('{"system": "planted"}', encoding="utf-8")
    with pytest.raises(DocumentError, match=header.name):
        read_runs(tmp_path)


def test_results_that_are_not_there_or_not_of_the_set_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="--out"):
        read_measured(tmp_path)
    measured = MeasuredSet(queries=QUERIES, runs=(run(Planted(), tmp_path),), tools=6, snapshot_id="s1")
    write_measured(tmp_path, measured)
    run(Planted(), tmp_path, snapshot_id="s2")
    with pytest.raises(DocumentError, match="'planted'"):
        read_measured(tmp_path)
    whole = json.loads((tmp_path / "set.json").read_text(encoding="utf-8"))
    for text, told in (
        (json.dumps({key: value for key, value in whole.items() if key != "runs"}), "'runs' is missing"),
        (json.dumps({key: value for key, value in whole.items() if key != "tools"}), "'tools' is missing"),
        (json.dumps({**whole, "tools": ["x" * 5_000]}), "'tools' is "),
        ("[" * 100_000, "recursion"),
    ):
        (tmp_path / "set.json").write_text(text, encoding="utf-8")
        with pytest.raises(DocumentError, match="another release of egotools") as caught:
            read_measured(tmp_path)
        assert told in caught.value.problem
        assert len(str(caught.value)) < 600
        assert "pydantic" not in str(caught.value)
    (tmp_path / "set.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DocumentError, match=r"set\.json"):
        read_measured(tmp_path)
