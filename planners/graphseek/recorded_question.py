"""Questions with a journal: a killed run goes on, a finished one is replayed without anybody, and another run branches off from any step.

The journal of a finished run is not written any more.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ontology.errors import InvalidArgumentError
from ontology.json_values import first_error
from planners.graphseek.question_run import AnsweredQuestion, QuestionParts, answer_question, check_question
from planners.graphseek.turn import AgentEvent, AgentSettings, Question, event_of
from planners.journal.recorded import Steps, not_recorded, request_key
from planners.journal.run_journal import DAMAGED, RunJournal, RunRecord, branch_journal
from planners.journal.step_log import seconds_since, unheard

Observe: TypeAlias = Callable[[AgentEvent], None]
_SETTINGS = AgentSettings()
_GOES_ON = frozenset({"model", "store", "budget", "deadline", "cancelled"})
"""Outcomes of a run that can go on when what stopped it is over."""
_KEY = re.compile(r"begin|(?:offer|turn|ground|invocation)/(\d{1,6})(?:/\d{1,6})?")


class _Header(BaseModel):
    """What a run was begun with.

    :param taken_over: steps of another run that it goes on from.
    """

    model_config = ConfigDict(frozen=True)

    run: Literal["graphseek"] = "graphseek"
    question: Question
    settings: AgentSettings
    taken_over: int = Field(default=0, ge=0)


async def answer_recorded(
    question: Question,
    journal: RunJournal,
    parts: QuestionParts,
    settings: AgentSettings = _SETTINGS,
    observe: Observe = unheard,
) -> AnsweredQuestion:
    """Run a question, or go on with the run of a journal; one that has ended is replayed.

    :param observe: gets each event, those too that the journal has.
    :raises InvalidArgumentError: when the journal is of another run, or damaged.
    :raises StorageError: when the journal cannot be written.
    """
    if journal.first is None:
        check_question(question, settings)
        header = _Header(question=question, settings=settings)
        journal.append("run_begun", **header.model_dump(mode="json"))
    header = _begun(journal)
    if header.question != question:
        remedy = "Give a new file, or branch it"
        raise InvalidArgumentError("the journal is of another question", subject=str(journal.path), remedy=remedy)
    if journal.end is not None:
        return await replay_question(journal, observe)
    started, heard = time.perf_counter(), _Heard(observe)
    limits = replace(header.settings, max_seconds=settings.max_seconds, call_seconds=settings.call_seconds)
    steps = Steps(journal, event_of=event_of)
    answered = await answer_question(question, parts, limits, heard, steps=steps, taken_over=header.taken_over)
    seconds, end = seconds_since(started), answered.end
    if end.outcome in _GOES_ON:
        journal.append("run_stopped", outcome=end.outcome, missing=end.missing, seconds=seconds)
    else:
        journal.append("run_ended", answer=end.to_json(), events=heard.told[0], told=heard.told[1], seconds=seconds)
    return answered


async def replay_question(journal: RunJournal, observe: Observe = unheard) -> AnsweredQuestion:
    """Tell a finished run again. Nobody is asked, and the graph is not opened.

    :raises InvalidArgumentError: when the run has not ended, or the replay differs from it.
    """
    header, ended = _begun(journal), journal.end
    if ended is None:
        problem = "the run of this journal has not ended"
        raise InvalidArgumentError(problem, subject=str(journal.path), remedy="Let it go on first")
    heard = _Heard(observe)
    answered = await answer_question(
        header.question,
        None,
        replace(header.settings, max_seconds=None),
        heard,
        steps=Steps(journal, is_replay=True, event_of=event_of),
        taken_over=header.taken_over,
    )
    if heard.told != (ended.get("events"), ended.get("told")):
        raise not_recorded("the replay differs from the run", subject=str(journal.path))
    return answered


def branch_question(journal: RunJournal, step: int, target: Path) -> Question:
    """Write a new journal whose run takes over the first steps of another one, and goes its own way from there.

    :param step: the last that is taken over; 0 takes over none but the schema.
    :param target: the new file; give it to :func:`answer_recorded` with the question that is returned.
    :raises InvalidArgumentError: when the journal has not so many steps, or the target exists.
    """
    header, taken = _begun(journal), _steps(journal)
    if not 0 <= step <= taken:
        raise InvalidArgumentError(f"the run has {taken} steps", subject="step", remedy=f"Use 0 to {taken}")
    _branch(journal, target, header, step)
    return header.question


def refine_question(journal: RunJournal, request: str, target: Path) -> Question:
    """Write a new journal whose run goes on from the end of a finished one, with another request: its results are there, and the
    question and its answer are a turn before it.

    :param target: the new file; give it to :func:`answer_recorded` with the question that is returned.
    :raises InvalidArgumentError: when the run has not ended, or there is no request or too long a one, or the target exists.
    """
    header, question = _begun(journal), next_question(journal, request)
    check_question(question, header.settings)
    last = _steps(journal)
    answers = (each for each in _ended_steps(journal) if each.data["key"] == f"turn/{last}")
    taken = last - any(each.data["gave"]["answer"] is not None for each in answers)
    _branch(journal, target, header.model_copy(update={"question": question, "taken_over": taken}), taken)
    return question


def next_question(journal: RunJournal, text: str) -> Question:
    """Return a question that follows that of a finished run.

    :raises InvalidArgumentError: when the run has not ended.
    """
    before, ended = question_of(journal), journal.end
    if ended is None:
        remedy = "Ask its question again, and it goes on"
        raise InvalidArgumentError("the turn before has not ended", subject=str(journal.path), remedy=remedy)
    return Question(text=text, earlier=(*before.earlier, (before.text, ended["answer"]["answer"])))


def invocations_upto(journal: RunJournal, step: int) -> int:
    """Return how many invocations of operators a run and the turns before it had up to a step; results are numbered by them."""
    number = 0
    for record in _ended_steps(journal):
        if record.data["key"] == "begin":
            number += record.data["gave"]["first"]
        elif record.data["key"].startswith("invocation/"):
            number += 0 <= _step_of(record) <= step
    return number


def question_of(journal: RunJournal) -> Question:
    """Return the question of a journal.

    :raises InvalidArgumentError: when it is no journal of a question.
    """
    return _begun(journal).question


class _Heard:
    """Hands events on, counts them, and keeps a digest of them without measured seconds."""

    def __init__(self, observe: Observe) -> None:
        self._observe = observe
        self.told = (0, "")

    def __call__(self, event: AgentEvent) -> None:
        """Hear an event."""
        fields = {name: value for name, value in event.to_json().items() if name not in event.left_out}
        self.told = (self.told[0] + 1, request_key([self.told[1], fields]))
        self._observe(event)


def _begun(journal: RunJournal) -> _Header:
    first = journal.first
    if first is None:
        raise InvalidArgumentError("the journal is empty", subject=str(journal.path), remedy="Ask a question first")
    if first.kind != "run_begun" or first.data.get("run") != "graphseek":
        problem = "it is the journal of another command"
        raise InvalidArgumentError(problem, subject=str(journal.path), remedy="Give a new file")
    try:
        return _Header.model_validate(first.data)
    except ValidationError as error:
        problem = f"the first record is damaged: {first_error(error)}"
        raise InvalidArgumentError(problem, subject=f"{journal.path}:1", remedy=DAMAGED) from None


def _branch(journal: RunJournal, target: Path, header: _Header, step: int) -> None:
    begun: dict[str, Any] = {**header.model_dump(mode="json"), "branched": {"step": step, "records": journal.count}}
    branch_journal(journal, target, begun, lambda record: 0 <= _step_of(record) <= step)


def _step_of(record: RunRecord) -> int:
    """Return the number of the step of a record: 0 of the beginning; -1 of a subtask, which the invocation in its step stands for."""
    found = _KEY.fullmatch(record.data["key"])
    return int(found[1] or 0) if found else -1


def _steps(journal: RunJournal) -> int:
    return max(map(_step_of, _ended_steps(journal)), default=0)


def _ended_steps(journal: RunJournal) -> Iterator[RunRecord]:
    return (record for record in journal.records if record.kind == "step_ended")
