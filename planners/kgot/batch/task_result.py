"""What came of one task of a batch, as its journal tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from planners.journal.run_journal import ModelUse, RunJournal, RunRecord, ToolUse, account_of
from planners.kgot.batch.environment_faults import lacks_something
from planners.kgot.recorded_run import run_is_ended

__all__ = ["ShownTool", "TaskResult", "task_result"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTool:
    """How often a tool was among those of a search, and was called after it.

    :param ranks: sum of its ranks, from 1, in the searches after which it was called.
    """

    shown: int = 0
    called: int = 0
    ranks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """What came of a task.

    :param outcome: of the run, see :class:`planners.kgot.kgot_controller.KgotRun`; ``failed`` where an error ended it.
    :param error: that ended it.
    :param again: whether the machine or a service kept it from an answer, so that another attempt may give one.
    :param seconds: that the run took, in all processes that ended properly.
    :param searches: of tools.
    """

    id: str
    answer: str = ""
    outcome: str = "failed"
    missing: str = ""
    error: str = ""
    again: bool = False
    seconds: float = 0.0
    searches: int = 0
    model: ModelUse = field(default_factory=ModelUse)
    by_step: Mapping[str, ModelUse] = field(default_factory=dict)
    by_tool: Mapping[str, ToolUse] = field(default_factory=dict)
    choice: Mapping[str, ShownTool] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def task_result(id_: str, journal: RunJournal, error: str = "") -> TaskResult:
    """Read what came of a task from its journal.

    :param error: that ended the run.
    """
    account = account_of(journal.records)
    ended: Mapping[str, Any] = {}
    stopped: Mapping[str, Any] = {}
    seconds = 0.0
    choice = _Choice()
    for record in journal.records:
        choice.take(record)
        if record.kind == "run_ended":
            ended = record.data["answer"]
        elif record.kind == "run_stopped":
            stopped = record.data
        seconds += record.data["seconds"] if record.kind in ("run_ended", "run_stopped") else 0.0
    told = ended if run_is_ended(journal) else {} if error else stopped
    return TaskResult(
        id=id_,
        answer=told.get("answer", ""),
        outcome=told.get("outcome", "failed"),
        missing=told.get("missing", ""),
        error=error if not ended else "",
        again=not told.get("answer") and lacks_something(journal),
        seconds=round(seconds, 6),
        searches=choice.searches,
        model=account.model,
        by_step=account.by_step,
        by_tool=account.by_tool,
        choice={id_: ShownTool(**numbers) for id_, numbers in sorted(choice.by_tool.items())},
    )


class _Choice:
    """Counts which tools searches gave, and which were called after them."""

    def __init__(self) -> None:
        self.searches = 0
        self.by_tool: dict[str, dict[str, int]] = {}
        self._shown: list[str] = []
        self._called: set[str] = set()

    def take(self, record: RunRecord) -> None:
        what = record.data["what"] if record.kind == "event" else {}
        if what.get("event") == "ToolsFound":
            self.searches += 1
            self._shown, self._called = list(what["tool_ids"]), set()
            for id_ in self._shown:
                self._of(id_)["shown"] += 1
        elif what.get("event") == "CallMade":
            id_ = what["call"]["tool_id"]
            if id_ in self._shown and id_ not in self._called:
                self._called.add(id_)
                self._of(id_)["called"] += 1
                self._of(id_)["ranks"] += self._shown.index(id_) + 1

    def _of(self, id_: str) -> dict[str, int]:
        return self.by_tool.setdefault(id_, {"shown": 0, "called": 0, "ranks": 0})
