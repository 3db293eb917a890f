"""Questions with a journal: a killed run goes on, a finished one is replayed without anybody, and another run branches off from any step.

The journal of a finished run is not written any more.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError

from ontology.errors import InvalidArgumentError
from ontology.first_error import first_error
from planners.graphseek.agent.agent_settings import AgentSettings
from planners.graphseek.agent.question_parts import QuestionParts
from planners.graphseek.agent.question_run import AnsweredQuestion, answer_question, check_question
from planners.graphseek.agent_events import AgentEvent, ModelAsked, event_json, event_of
from planners.graphseek.turn import Question
from planners.journal.branched_journal import branch_journal
from planners.journal.journal_index import request_key
from planners.journal.journal_lines import DAMAGED, RunRecord
from planners.journal.record_forms import check_records
from planners.journal.recorded_steps import RecordedSteps
from planners.journal.run_journal import RunJournal, seconds_since
from planners.journal.step_log import unheard

__all__ = [
    "answer_recorded",
    "branch_question",
    "invocations_upto",
    "next_question",
    "question_of",
    "refine_question",
    "replay_question",
]

Observe: TypeAlias = Callable[[AgentEvent], None]
_SETTINGS = AgentSettings()
_GOES_ON = frozenset({"model", "store", "budget", "deadline", "cancelled"})
"""Outcomes of a run that can go on when what stopped it is over."""
_RUN = "graphseek"
_KEY = re.compile(r"begin|(?:offer|turn|ground|invocation)/(\d{1,6})(?:/\d{1,6})?")
_QUESTION: TypeAdapter[Question] = TypeAdapter(Question)
_SETTINGS_JSON: TypeAdapter[AgentSettings] = TypeAdapter(AgentSettings)


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
    header = _header(journal)
    if header is None:
        check_question(question, settings)
        begun = {"run": _RUN, "question": _json(question), "settings": asdict(settings), "taken_over": 0}
        header = journal.append("run_begun", **begun).data
    elif _json(question) != header["question"]:
        raise InvalidArgumentError(
            "the journal is of another question", subject=str(journal.path), remedy="Give a new file, or branch it"
        )
    check_records(journal)
    journal.check_payloads()
    if journal.end is not None:
        return await replay_question(journal, observe)
    started, heard = time.perf_counter(), _Heard(observe)
    begun_with = _SETTINGS_JSON.validate_python(header["settings"])
    limits = replace(begun_with, max_seconds=settings.max_seconds, call_seconds=settings.call_seconds)
    answered = await answer_question(
        question, parts, limits, heard.hear, recorder=_recorder(journal), taken_over=header["taken_over"]
    )
    seconds = seconds_since(started)
    end = answered.end
    if end.outcome in _GOES_ON:
        journal.append("run_stopped", outcome=end.outcome, missing=end.missing, seconds=seconds)
    else:
        kept = journal.keep(event_json(end))
        journal.append("run_ended", answer=kept, events=heard.count, told=heard.digest, seconds=seconds)
    return answered


async def replay_question(journal: RunJournal, observe: Observe = unheard) -> AnsweredQuestion:
    """Tell a finished run again. Nobody is asked, and the graph is not opened.

    :raises InvalidArgumentError: when the run has not ended, or the replay differs from it.
    """
    header, ended = _header(journal), journal.end
    if header is None or ended is None:
        raise InvalidArgumentError(
            "the run of this journal has not ended", subject=str(journal.path), remedy="Let it go on first"
        )
    check_records(journal)
    heard = _Heard(observe)
    settings = _SETTINGS_JSON.validate_python({**header["settings"], "max_seconds": None})
    answered = await answer_question(
        question_of(journal),
        None,
        settings,
        heard.hear,
        recorder=_recorder(journal, is_replay=True),
        taken_over=header["taken_over"],
    )
    if (heard.count, heard.digest) != (ended["events"], ended.get("told")):
        raise InvalidArgumentError(
            "the replay differs from the run", subject=str(journal.path), remedy="Replay with the release that wrote it"
        )
    return answered


def branch_question(journal: RunJournal, step: int, target: Path) -> Question:
    """Write a new journal whose run takes over the first steps of another one, and goes its own way from there.

    :param step: the last that is taken over; 0 takes over none but the schema.
    :param target: the new file; give it to :func:`answer_recorded` with the question that is returned.
    :raises InvalidArgumentError: when the journal has not so many steps, or the target exists.
    """
    header = _begun(journal)
    taken = _steps(journal)
    if not 0 <= step <= taken:
        raise InvalidArgumentError(f"the run has {taken} steps", subject="step", remedy=f"Use 0 to {taken}")
    begun = {**header, "branched": {"step": step, "from": _digest(journal)}}
    branch_journal(journal, target, begun, lambda record: 0 <= _step_of(record) <= step)
    return question_of(journal)


def refine_question(journal: RunJournal, request: str, target: Path) -> Question:
    """Write a new journal whose run goes on from the end of a finished one, with another request: its results are there, and the
    question and its answer are a turn before it.

    :param target: the new file; give it to :func:`answer_recorded` with the question that is returned.
    :raises InvalidArgumentError: when the run has not ended, or there is no request or too long a one, or the target exists.
    """
    header, question = _begun(journal), next_question(journal, request)
    check_question(question, _SETTINGS_JSON.validate_python(header["settings"]))
    last = _steps(journal)
    taken = last - 1 if _is_answer(journal, last) else last
    begun = {
        **header,
        "question": _json(question),
        "taken_over": taken,
        "branched": {"step": taken, "from": _digest(journal)},
    }
    branch_journal(journal, target, begun, lambda record: 0 <= _step_of(record) <= taken)
    return question


def next_question(journal: RunJournal, text: str) -> Question:
    """Return a question that follows that of a finished run.

    :raises InvalidArgumentError: when the run has not ended.
    """
    before, ended = question_of(journal), journal.end
    if ended is None:
        raise InvalidArgumentError(
            "the turn before has not ended", subject=str(journal.path), remedy="Ask its question again, and it goes on"
        )
    return Question(text=text, earlier=(*before.earlier, (before.text, journal.payload(ended["answer"])["answer"])))


def invocations_upto(journal: RunJournal, step: int) -> int:
    """Return how many invocations of operators a run and the turns before it had up to a step; results are numbered by them."""
    number = 0
    for record in _ended_steps(journal):
        if record.data["key"] == "begin":
            number += journal.payload(record.data["result"])["gave"]["first"]
        elif record.data["key"].startswith("invocation/"):
            number += 0 <= _step_of(record) <= step
    return number


def question_of(journal: RunJournal) -> Question:
    """Return the question of a journal.

    :raises InvalidArgumentError: when it is no journal of a question.
    """
    return _QUESTION.validate_python(_begun(journal)["question"])


class _Heard:
    """Hands events on, counts them, and keeps a digest of them without measured seconds."""

    def __init__(self, observe: Observe) -> None:
        self._observe = observe
        self.count = 0
        self.digest = ""

    def hear(self, event: AgentEvent) -> None:
        told = event_json(event)
        if isinstance(event, ModelAsked):
            del told["seconds"]
        self.count += 1
        self.digest = request_key([self.digest, told])
        self._observe(event)


def _recorder(journal: RunJournal, *, is_replay: bool = False) -> RecordedSteps:
    return RecordedSteps(journal, event_json=event_json, event_of=event_of, is_replay=is_replay)


def _header(journal: RunJournal) -> Mapping[str, Any] | None:
    first = next(iter(journal.records), None)
    if first is None:
        return None
    try:
        if first.kind != "run_begun" or first.data.get("run") != _RUN or first.data.get("taken_over", -1) < 0:
            raise InvalidArgumentError(
                "it is the journal of another command", subject=str(journal.path), remedy="Give a new file"
            )
        _QUESTION.validate_python(first.data.get("question"))
        _SETTINGS_JSON.validate_python(first.data.get("settings"))
    except (ValidationError, TypeError) as error:
        said = first_error(error) if isinstance(error, ValidationError) else str(error)
        raise InvalidArgumentError(
            f"the first record is damaged: {said}", subject=f"{journal.path}:1", remedy=DAMAGED
        ) from None
    return first.data


def _begun(journal: RunJournal) -> Mapping[str, Any]:
    header = _header(journal)
    if header is None:
        raise InvalidArgumentError("the journal is empty", subject=str(journal.path), remedy="Ask a question first")
    return header


def _step_of(record: RunRecord) -> int:
    """Return the number of the step of a record: 0 of the beginning; -1 of a subtask, which the invocation in its step stands for."""
    found = _KEY.fullmatch(str(record.data["key"]))
    return int(found[1] or 0) if found else -1


def _steps(journal: RunJournal) -> int:
    return max(map(_step_of, _ended_steps(journal)), default=0)


def _ended_steps(journal: RunJournal) -> Iterator[RunRecord]:
    return (record for record in journal.records if record.kind == "step_ended")


def _is_answer(journal: RunJournal, step: int) -> bool:
    """Whether a step gave an answer."""
    for record in _ended_steps(journal):
        if record.data["key"] == f"turn/{step}":
            return "answer" in journal.payload(record.data["result"])["gave"]
    return False


def _digest(journal: RunJournal) -> str:
    return request_key([record.model_dump() for record in journal.records])


def _json(question: Question) -> dict[str, Any]:
    made: dict[str, Any] = _QUESTION.dump_python(question, mode="json")
    return made
