"""Runs of tasks with a journal: a killed run goes on where it was, and a finished one is replayed without model, service, store or sandbox.

A run that goes on takes its steps again from the beginning. Each answer that the journal has is taken from it, so that only what
was not finished is asked, called or computed. The graph is built anew by the writes of the journal.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator

from egotools.calling.invoker import ToolInvoker
from inference.chat import Budget, ChatModel
from ontology.errors import InvalidArgumentError
from planners.calls.sandbox import Sandbox
from planners.calls.tool_access import Ask, never
from planners.calls.tool_finder import Finder
from planners.calls.untrusted import FenceMarks
from planners.journal import recorded
from planners.journal.run_journal import RunJournal
from planners.journal.step_log import seconds_since, unheard
from planners.kgot.kgot_controller import KgotRun, solve_task
from planners.kgot.kgot_task import KgotEvent, KgotSettings, KgotTask
from planners.kgot.steps import LlmSteps
from planners.stores.property_graph import Language, PropertyGraph, ReplaceGraph

_SETTINGS = KgotSettings()
_SETTINGS_JSON: TypeAdapter[KgotSettings] = TypeAdapter(KgotSettings)
_STOPPED = ("model", "budget", "deadline", "cancelled")  # outcomes of a run that can go on
_Pair: TypeAlias = Annotated[list[str], Field(min_length=2, max_length=2)]
_Prices: TypeAlias = Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2, max_length=2)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveParts:
    """What a run works with."""

    graph: PropertyGraph  # empty at the beginning, and of this run alone: a run that goes on empties it first
    finder: Finder
    invoker: ToolInvoker
    sandbox: Sandbox
    # by role: ``graph``, and ``tool`` where another one defines the calls
    models: Mapping[str, ChatModel] = field(default_factory=dict)
    repeat: Ask = never  # whether a call whose effect is not known shall be made again
    settings: KgotSettings = _SETTINGS
    about: Mapping[str, Any] = field(default_factory=dict)  # what else a journal's run must agree in, JSON values
    # around answers of tools; those of the journal where a run goes on
    marks: FenceMarks = field(default_factory=FenceMarks)


class RunHeader(BaseModel):
    """What a run was begun with, and what a run that goes on must agree in, but for its prices and the key of its marks.

    :param files: name and SHA-256 of each.
    """

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)

    run: str = "solve"
    question: str
    files: list[_Pair]
    language: Language
    settings: dict[str, Any]
    models: dict[str, str]
    about: dict[str, Any]
    prices: dict[str, _Prices] = {}
    fence_key: str = Field(default="", pattern=r"^([0-9a-f]{2})*$")

    @field_validator("settings")
    @classmethod
    def _known_settings(cls, given: dict[str, Any]) -> dict[str, Any]:
        _SETTINGS_JSON.validate_python(given)
        return given

    @property
    def replay_settings(self) -> KgotSettings:
        """The settings for a replay, which has no limit of time, and waits for nothing."""
        return _SETTINGS_JSON.validate_python({**self.settings, "max_seconds": None, "tool_retry_delay_s": 0.0})

    def differing(self, other: RunHeader) -> list[str]:
        """Return what differs of another run. Limits of time may, and the address of a model may."""
        mine, theirs = self._compared(), other._compared()
        return [name for name in {**theirs, **mine} if mine.get(name) != theirs.get(name)]

    def _compared(self) -> dict[str, Any]:
        models = {role: name.partition("@")[0] for role, name in self.models.items()}
        own = {"question": self.question, "files": self.files, "language": self.language}
        return {**own, **asdict(self.replay_settings), "models": models, **self.about}


class OtherRunError(InvalidArgumentError):
    """The journal of another run.

    :ivar differing: what differs: ``question``, ``files``, ``language``, ``models``, or a name of the settings or of ``about``.
    """

    def __init__(self, differing: Sequence[str]) -> None:
        problem = f"the journal is of another run: what differs is {', '.join(differing)}"
        super().__init__(problem, subject="journal", remedy="Give a new file, or the same task, model and options")
        self.differing = tuple(differing)


async def solve_recorded(
    task: KgotTask, journal: RunJournal, parts: SolveParts, *, observe: Callable[[KgotEvent], None] = unheard
) -> KgotRun:
    """Run a task, or go on with the run of a journal. Of a run that has ended nothing is asked or called again.

    :param observe: gets each event, those too that the journal has.
    :raises InvalidArgumentError: when the journal is of another run, or damaged, or the graph is not empty at the beginning.
    :raises StorageError: when the journal or the graph cannot be written.
    """
    header = recorded.header_of(journal, RunHeader)
    if header is None:
        if (await parts.graph.state()).nodes:
            remedy = "Give a run a graph of its own: it is emptied to go on"
            raise InvalidArgumentError("the graph is not empty", subject="graph", remedy=remedy)
        header = _header(task, parts)
        journal.append("run_begun", **header.model_dump(mode="json"))
    else:
        if differing := header.differing(_header(task, parts)):
            raise OtherRunError(differing)
        if journal.end is not None:
            return await replay_recorded(journal, observe=observe)
        recorded.check_steps(journal)
        await parts.graph.apply([ReplaceGraph()])
    steps, started = recorded.Steps(journal, faults="kept"), time.perf_counter()
    models = {
        role: recorded.recorded_model(model, steps, role=role, name=header.models.get(role, ""))
        for role, model in parts.models.items()
    }
    heard = recorded.Heard(observe)
    run = await _run(task, header, steps, heard, models, parts)
    seconds = seconds_since(started)
    if run.outcome in _STOPPED:
        journal.append("run_stopped", outcome=run.outcome, missing=run.missing, seconds=seconds)
    else:
        journal.append("run_ended", answer=_end_json(run), **heard.told, seconds=seconds)
    return run


async def replay_recorded(journal: RunJournal, *, observe: Callable[[KgotEvent], None] = unheard) -> KgotRun:
    """Take the steps of a finished run again. Nobody is asked, nothing is called, no code is run.

    :raises InvalidArgumentError: when the run has not ended, or the replay differs from it.
    """
    ended = recorded.end_of(journal)
    header = cast(RunHeader, recorded.header_of(journal, RunHeader))
    recorded.check_steps(journal)
    steps, models = recorded.Steps(journal, is_replay=True), {}
    for role, name in header.models.items():
        prompt, completion = header.prices.get(role, (0.0, 0.0))
        budget = Budget(usd_per_1k_prompt=prompt, usd_per_1k_completion=completion)
        models[role] = recorded.recorded_model(None, steps, role=role, name=name, budget=budget)
    heard = recorded.Heard(observe)
    task = KgotTask(question=header.question, files=tuple(Path(name) for name, _ in header.files))
    run = await _run(task, header, steps, heard, models)
    heard.check(ended, _end_json(run), journal.path)
    return run


async def _run(
    task: KgotTask,
    header: RunHeader,
    steps: recorded.Steps,
    observe: Callable[[KgotEvent], None],
    models: Mapping[str, ChatModel],
    parts: SolveParts | None = None,
) -> KgotRun:
    """Run a task; in a replay there are no parts."""
    key, settings = bytes.fromhex(header.fence_key), parts.settings if parts else header.replay_settings
    asked = models["graph"], models.get("tool", models["graph"])
    return await solve_task(
        task,
        recorded.RecordedGraph(parts.graph if parts else None, steps, header.language),
        LlmSteps(*asked, settings=settings, language=header.language, fence_key=key),
        recorded.RecordedFinder(parts.finder if parts else None, steps),
        recorded.RecordedInvoker(parts.invoker if parts else None, steps, repeat=parts.repeat if parts else never),
        recorded.RecordedSandbox(parts.sandbox if parts else None, steps),
        settings=settings,
        observe=observe,
        fence_key=key,
    )


def _header(task: KgotTask, parts: SolveParts) -> RunHeader:
    budgets = {role: getattr(model, "budget", None) for role, model in parts.models.items()}
    files: list[list[str]] = []
    for path in task.files:
        digest = ""  # where it cannot be read, which the run itself says
        with contextlib.suppress(OSError), path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        files.append([path.name, digest])
    return RunHeader(
        question=task.question,
        files=files,
        language=parts.graph.language,
        settings=json.loads(json.dumps(asdict(parts.settings))),
        models={role: model.name for role, model in parts.models.items()},
        about=json.loads(json.dumps(parts.about)),
        prices={role: [*budget.prices] for role, budget in budgets.items() if budget is not None},
        fence_key=parts.marks.key.hex(),
    )


def _end_json(run: KgotRun) -> dict[str, Any]:
    return {"answer": run.answer, "outcome": run.outcome, "missing": run.missing, "iterations": run.iterations}
