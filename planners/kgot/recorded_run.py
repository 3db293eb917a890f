"""Runs of tasks with a journal: a killed run goes on where it was, and a finished one is replayed without model, service, store or sandbox.

A run that goes on takes its steps again from the beginning. Each answer that the journal has is taken from it, so that only what
was not finished is asked, called or computed. The graph is built anew by the writes of the journal.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from egotools.calling.invoker import ToolInvoker
from inference.budget import Budget
from inference.chat import ChatModel
from ontology.errors import InvalidArgumentError
from planners.calls.sandbox import Sandbox
from planners.calls.tool_access import Ask, CallPipeline, never
from planners.calls.tool_finder import Finder
from planners.calls.untrusted import FenceMarks
from planners.journal.journal_index import JournalIndex, request_key
from planners.journal.record_forms import check_records
from planners.journal.recorded_calls import RecordingInvoker, ReplayInvoker
from planners.journal.recorded_faults import not_recorded
from planners.journal.recorded_finds import RecordedFinder
from planners.journal.recorded_graph import RecordedGraph, empty_graph
from planners.journal.recorded_model import RecordedModel
from planners.journal.recorded_sandbox import RecordedSandbox
from planners.journal.run_journal import RunJournal, RunRecord, seconds_since
from planners.journal.step_log import unheard
from planners.kgot.contained_parts import ContainedFinder, ContainedGraph, ContainedModel
from planners.kgot.kgot_controller import KgotRun, solve_task
from planners.kgot.kgot_events import CallMade, Ended, KgotEvent, ModelAsked, event_json
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.kgot_task import KgotTask
from planners.kgot.run_header import check_header, settings_of
from planners.kgot.steps import StepsFactory
from planners.stores.property_graph import PropertyGraph

__all__ = [
    "OtherRunError",
    "SolveParts",
    "header_of",
    "replay_recorded",
    "run_is_ended",
    "solve_recorded",
]

_SETTINGS = KgotSettings()
_STOPPED = ("model", "budget", "deadline", "cancelled")  # outcomes of a run that can go on
_EVENT = "event"
_NOT_COMPARED = ("seconds", "spared_tokens")  # the second is of an earlier release


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveParts:
    """What a run works with.

    :param graph: empty at the beginning, and of this run alone: a run that goes on empties it first.
    :param make: makes those who take the steps; in a replay of the journal's models.
    :param models: by role, ``graph`` and ``tool``.
    :param repeat: whether a call whose effect is not known shall be made again.
    :param about: what else a journal's run must agree in, JSON values.
    :param marks: around answers of tools; those of the journal where a run goes on.
    """

    graph: PropertyGraph
    make: StepsFactory
    finder: Finder
    invoker: ToolInvoker
    sandbox: Sandbox
    models: Mapping[str, ChatModel] = field(default_factory=dict)
    repeat: Ask = never
    settings: KgotSettings = _SETTINGS
    about: Mapping[str, Any] = field(default_factory=dict)
    marks: FenceMarks = field(default_factory=FenceMarks)


async def solve_recorded(
    task: KgotTask, journal: RunJournal, parts: SolveParts, *, observe: Callable[[KgotEvent], None] = unheard
) -> KgotRun:
    """Run a task, or go on with the run of a journal. Of a run that has ended nothing is asked or called again.

    :param observe: gets each event, those too that the journal has.
    :raises InvalidArgumentError: when the journal is of another run, or damaged, or the graph is not empty at the beginning.
    :raises StorageError: when the journal or the graph cannot be written.
    """
    header = header_of(journal)
    same = _same_run(task, parts)
    if header is None:
        header = await _begun(same, journal, parts)
    else:
        _refuse_other(header, same)
        check_records(journal)
        journal.check_payloads()
        if run_is_ended(journal):
            return await replay_recorded(journal, parts.make, observe=observe)
        await empty_graph(parts.graph)
    index, fence_key = JournalIndex(journal), bytes.fromhex(header["fence_key"])
    events = _Events(journal, index, observe)
    models = {
        role: RecordedModel(ContainedModel(model), journal, role=role, name=header["models"].get(role, ""), index=index)
        for role, model in parts.models.items()
    }
    started = time.perf_counter()
    run = await solve_task(
        task,
        RecordedGraph(ContainedGraph(parts.graph), journal, index=index),
        parts.make(models, fence_key),
        RecordedFinder(ContainedFinder(parts.finder), journal, index=index),
        RecordingInvoker(CallPipeline(parts.invoker), journal, repeat=parts.repeat, index=index, as_written=True),
        RecordedSandbox(parts.sandbox, journal, index=index),
        settings=parts.settings,
        observe=events.tell,
        fence_key=fence_key,
    )
    seconds = seconds_since(started)
    if run.outcome in _STOPPED:
        journal.append("run_stopped", outcome=run.outcome, missing=run.missing, seconds=seconds)
    else:
        journal.append("run_ended", answer=journal.keep(_end_json(run)), events=events.count, seconds=seconds)
    return run


async def replay_recorded(
    journal: RunJournal, make: StepsFactory, *, observe: Callable[[KgotEvent], None] = unheard
) -> KgotRun:
    """Take the steps of a finished run again. Nobody is asked, nothing is called, no code is run.

    :raises InvalidArgumentError: when the run has not ended, or the replay differs from it.
    """
    header, ended = header_of(journal), journal.end
    if header is None or ended is None:
        raise InvalidArgumentError(
            "the run of this journal has not ended", subject=str(journal.path), remedy="Let it go on first"
        )
    check_records(journal)
    index, fence_key = JournalIndex(journal), bytes.fromhex(header["fence_key"])
    events = _Events(journal, index, observe, written=False)
    models: dict[str, ChatModel] = {
        role: RecordedModel(None, journal, role=role, name=name, budget=_prices(header, role), index=index)
        for role, name in header["models"].items()
    }
    run = await solve_task(
        KgotTask(question=header["question"], files=tuple(Path(name) for name, _ in header["files"])),
        RecordedGraph(None, journal, language=header["language"], index=index),
        make(models, fence_key),
        RecordedFinder(None, journal, index=index),
        ReplayInvoker(journal, index=index),
        RecordedSandbox(None, journal, index=index),
        settings=settings_of(header),
        observe=events.tell,
        fence_key=fence_key,
    )
    if events.differing or events.count != ended["events"] or _end_json(run) != journal.payload(ended["answer"]):
        where = f"event {events.differing[0]}" if events.differing else "its end"
        raise not_recorded(f"the replay differs from the run at {where}", subject=str(journal.path))
    return run


def header_of(journal: RunJournal) -> Mapping[str, Any] | None:
    """Return what the run of a journal was begun with; None of an empty journal.

    :raises InvalidArgumentError: when it is the journal of another command, or damaged.
    """
    first = next(iter(journal.records), None)
    if first is None:
        return None
    if first.kind != "run_begun" or first.data.get("run") != "solve":
        raise InvalidArgumentError(
            "it is the journal of another command", subject=str(journal.path), remedy="Give a new file"
        )
    check_header(first.data, f"{journal.path}:1")
    return first.data


def run_is_ended(journal: RunJournal) -> bool:
    """Whether the run of a journal has come to its end: not killed, and not stopped by a silent model, budget, deadline or the user."""
    return journal.end is not None


class _Events:
    """Writes each event once, in order. An event that is another one than before, at its place, replaces it.

    :param written: False in a replay, which only compares.
    """

    def __init__(
        self, journal: RunJournal, index: JournalIndex, observe: Callable[[KgotEvent], None], *, written: bool = True
    ) -> None:
        self._journal = journal
        self._index = index
        self._observe = observe
        self._written = written
        self.count = 0
        self.differing: list[int] = []

    def tell(self, event: KgotEvent) -> None:
        """Take an event. One that the journal has took as long as it did then."""
        earlier = None
        if not (isinstance(event, Ended) and event.outcome in _STOPPED):
            earlier = self._take(event_json(event), event_json(event, times=False))
        if isinstance(event, CallMade | ModelAsked) and earlier is not None:
            event = replace(event, seconds=earlier.data["what"].get("seconds", event.seconds))
        self._observe(event)

    def _take(self, timed: dict[str, Any], plain: dict[str, Any]) -> RunRecord | None:
        """Write an event, or return the record that has it."""
        n, self.count = self.count, self.count + 1
        state = plain.pop("state", None)
        earlier = self._index.last(_EVENT, _EVENT, n)
        if earlier is not None and _same_event(earlier, plain, state):
            return earlier
        self.differing.append(n)
        if not self._written:
            return None
        timed.pop("state", None)
        kept = {} if state is None else {"state": self._journal.keep(state)}
        self._journal.append("event", key=_EVENT, nth=n, what=timed, **kept)
        return None


def _same_event(record: RunRecord, plain: Mapping[str, Any], state: Any) -> bool:
    """Compare a record with an event. What the record does not name is not compared: an earlier release had not all fields."""
    what = {name: value for name, value in record.data["what"].items() if name not in _NOT_COMPARED}
    digest = None if state is None else request_key(state)
    return what.items() <= _json(plain).items() and record.data.get("state") == digest


def _event_of(journal: RunJournal, record: RunRecord) -> dict[str, Any]:
    what = {name: value for name, value in record.data["what"].items() if name != "seconds"}
    return what if "state" not in record.data else {**what, "state": journal.payload(record.data["state"])}


async def _begun(same: Mapping[str, Any], journal: RunJournal, parts: SolveParts) -> Mapping[str, Any]:
    """Begin a run.

    :raises InvalidArgumentError: when the graph is not empty.
    """
    if (await parts.graph.state()).nodes:
        raise InvalidArgumentError(
            "the graph is not empty", subject="graph", remedy="Give a run a graph of its own: it is emptied to go on"
        )
    budgets = {role: getattr(model, "budget", None) for role, model in parts.models.items()}
    prices = {role: list(budget.prices) for role, budget in budgets.items() if budget is not None}
    return journal.append("run_begun", **same, prices=prices, fence_key=parts.marks.key.hex()).data


def _same_run(task: KgotTask, parts: SolveParts) -> dict[str, Any]:
    """What a journal's run must agree in."""
    return {
        "run": "solve",
        "question": task.question,
        "files": [[path.name, _file_digest(path)] for path in task.files],
        "language": parts.graph.language,
        "settings": _json(asdict(parts.settings)),
        "models": {role: model.name for role, model in parts.models.items()},
        "about": _json(parts.about),
    }


def _refuse_other(header: Mapping[str, Any], same: Mapping[str, Any]) -> None:
    """Refuse the journal of another run. Limits of time may differ, and the address of a model may."""
    differing = [name for name, value in same.items() if _compared(name, header.get(name)) != _compared(name, value)]
    if differing:
        raise OtherRunError([each for name in differing for each in _parts(name, header.get(name), same[name])])


class OtherRunError(InvalidArgumentError):
    """The journal of another run.

    :param differing: what differs: ``question``, ``files``, ``language``, ``models``, or a name of the settings or of ``about``.
    """

    def __init__(self, differing: Sequence[str]) -> None:
        super().__init__(
            f"the journal is of another run: what differs is {', '.join(differing)}",
            subject="journal",
            remedy="Give a new file, or the same task, model and options",
        )
        self.differing = tuple(differing)


def _parts(name: str, before: Any, now: Any) -> list[str]:
    """Return which values of the settings, or of what is said about a run, differ; others are one value."""
    if name not in ("settings", "about") or not isinstance(before, Mapping):
        return [name]
    left = _compared(name, now)
    return [key for key, value in left.items() if _compared(name, before).get(key) != value] or [name]


def _compared(name: str, value: Any) -> Any:
    if name == "settings":
        return asdict(settings_of({name: value}))
    if name == "about":  # an earlier release said more
        return {key: said for key, said in value.items() if key not in ("domain", "today") and said != "model"}
    if name == "models":
        return {role: model.partition("@")[0] for role, model in value.items()}
    return value


def _prices(header: Mapping[str, Any], role: str) -> Budget:
    prompt, completion = header["prices"].get(role, (0.0, 0.0))
    return Budget(usd_per_1k_prompt=prompt, usd_per_1k_completion=completion)


def _end_json(run: KgotRun) -> dict[str, Any]:
    return {"answer": run.answer, "outcome": run.outcome, "missing": run.missing, "iterations": run.iterations}


def _file_digest(path: Path) -> str:
    """Return the SHA-256 of a file; empty where it cannot be read, which the run itself says."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _json(value: Any) -> Any:
    return json.loads(json.dumps(value))
