"""The loop that generates, validates and selects: order, rounds of validators, near-duplicates, and what stops it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from datagen.interfaces import GeneratedText, RequestValidator
from datagen.run.generate_loop import GeneratedRequests, RequestGenerator, generate_all
from datagen.run.journal import open_journal
from datagen.run.queue import MAX_REJECTIONS, MAX_REQUESTS
from datagen.synthetic_request import RejectedRequest, SyntheticRequest, Verdict
from datagen.tool_path import ToolPath
from inference import HashingEncoder
from ontology.errors import ModelError

WORDS = "amber birch cobalt dune ember fjord grove heath inlet jetty knoll larch".split()


@dataclass(kw_only=True)
class Scripted:
    """A generator that says what it is told to, and counts."""

    say: Callable[[ToolPath, int], str | RejectedRequest | Exception]
    asked: list[tuple[str, int]] = field(default_factory=list)
    name: str = "scripted.v1"

    def no_words(self, tool: str) -> str:
        return ""

    def no_part(self, tool: str, request_class: str) -> str:
        return ""

    def generate(self, path: ToolPath, request_class: str, *, seed: int) -> GeneratedText | RejectedRequest:
        before = sum(tool == path.tools[0] for tool, _ in self.asked)
        self.asked.append((path.tools[0], before))
        said = self.say(path, before)
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, RejectedRequest) else GeneratedText(text=said, values=())


@dataclass(kw_only=True)
class Validator:
    """Passes what does not have the word."""

    without: str
    check: str = "class"
    name: str = "validator.v1"
    asked: int = 0

    def validate(self, request: SyntheticRequest) -> Verdict:
        self.asked += 1
        passed = self.without not in request.text
        return Verdict(check=self.check, passed=passed, reason=f"it says {self.without!r}", by=self.name)


def own_words(path: ToolPath, attempt: int) -> str:
    place = int(path.tools[0].removeprefix("t"))
    return f"{WORDS[place % 12]} {WORDS[(place * 5 + attempt + 1) % 12]} number {place} {attempt}"


def paths(count: int) -> list[ToolPath]:
    return [ToolPath(tools=(f"t{number}",)) for number in range(count)]


def generated(
    folder: Path,
    generator: Scripted,
    validators: Sequence[Sequence[RequestValidator]] = (),
    *,
    wanted: Mapping[str, int],
    count: int = 12,
) -> GeneratedRequests:
    with open_journal(folder, {"test": 1}) as journal:
        requests = RequestGenerator(generator=generator, validators=validators, journal=journal)
        found = {name: paths(count) for name in wanted}
        return generate_all(found, wanted, requests, HashingEncoder(), seed=0, progress=lambda *_: None)


def test_as_many_are_made_as_are_wanted_by_class_in_order(tmp_path: Path) -> None:
    generator = Scripted(say=own_words)
    made = generated(tmp_path, generator, wanted={"multi-intent": 3, "single-intent": 2})
    assert [request.request_class for request in made.requests] == ["multi-intent"] * 3 + ["single-intent"] * 2
    assert (len(generator.asked), made.rejected, made.stopped) == (5 + len(made.rejected), made.rejected, None)


def test_a_request_that_fails_a_round_is_not_put_before_the_next(tmp_path: Path) -> None:
    first, second = Validator(without="amber"), Validator(without="birch", check="error")
    made = generated(tmp_path, Scripted(say=own_words), [(first,), (second,)], wanted={"single-intent": 8})
    assert second.asked < first.asked
    assert all(len(request.verdicts) == 2 for request in made.requests)
    assert {rejection.reason for rejection in made.rejected} == {"class: it says 'amber'", "error: it says 'birch'"}
    assert all(rejection.stage == "validate" and rejection.text for rejection in made.rejected)


def test_what_says_the_same_is_rejected_and_another_takes_its_place(tmp_path: Path) -> None:
    def say(path: ToolPath, attempt: int) -> str:
        return "Pay the rent, please" if path.tools[0] in ("t1", "t2") else own_words(path, attempt)

    made = generated(tmp_path, Scripted(say=say), wanted={"single-intent": 6})
    assert len(made.requests) == 6
    assert [rejection.subject for rejection in made.rejected] == [("t2",)]
    assert made.rejected[0].stage == "diversity" and "says the same as single-intent-" in made.rejected[0].reason


def test_a_path_without_a_text_is_asked_for_once_and_one_with_a_bad_text_again(tmp_path: Path) -> None:
    def say(path: ToolPath, attempt: int) -> RejectedRequest:
        text = "" if path.tools[0] == "t0" else "no good"
        return RejectedRequest(stage="generate", subject=path.tools, reason="no", request_class="single", text=text)

    generator = Scripted(say=say)
    generated(tmp_path, generator, wanted={"single-intent": 5}, count=2)
    assert [sum(name == tool for name, _ in generator.asked) for tool in ("t0", "t1")] == [1, MAX_REJECTIONS]


@pytest.mark.parametrize("text", ["", "?!", "\ud83d half", "long " * 5_000])
def test_what_eval_could_not_ask_is_rejected(tmp_path: Path, text: str) -> None:
    made = generated(tmp_path, Scripted(say=lambda path, attempt: text), wanted={"single-intent": 1}, count=1)
    assert not made.requests
    assert {rejection.stage for rejection in made.rejected} == {"generate"}


def test_few_paths_get_more_than_one_request(tmp_path: Path) -> None:
    made = generated(tmp_path, Scripted(say=own_words), wanted={"single-intent": 100}, count=4)
    assert 4 < len(made.requests) <= 4 * MAX_REQUESTS
    assert len({request.id for request in made.requests}) == len(made.requests)


def test_what_stops_it_is_told_and_the_rest_is_made_when_it_runs_again(tmp_path: Path) -> None:
    def dying(path: ToolPath, attempt: int) -> str | Exception:
        if path.tools[0] == "t4":
            return ModelError("the model is dead", subject="http://h")
        return own_words(path, attempt)

    wanted = {"single-intent": 8}
    stopped = generated(tmp_path / "a", Scripted(say=dying), wanted=wanted)
    assert str(stopped.stopped).startswith("http://h: the model is dead")
    assert [request.path.tools[0] for request in stopped.requests] == ["t0", "t1", "t2", "t3"]
    generator = Scripted(say=own_words)
    resumed = generated(tmp_path / "a", generator, wanted=wanted)
    assert resumed == generated(tmp_path / "b", Scripted(say=own_words), wanted=wanted)
    assert not {tool for tool, _ in generator.asked} & {"t0", "t1", "t2", "t3"}, "nothing is asked twice"
