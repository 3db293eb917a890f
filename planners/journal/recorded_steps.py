"""Steps of a run with a journal: what a step gave, and the events that it told, are written when it has ended, and taken from there
afterwards.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from planners.journal.journal_index import JournalIndex
from planners.journal.recorded_faults import not_recorded
from planners.journal.run_journal import RunJournal, as_kept
from planners.journal.step_log import also_told_to, emit

__all__ = ["RecordedSteps", "StepRecorder", "Unrecorded"]

_STEP = "step"


class StepRecorder(Protocol):
    """Takes the steps of a run, or knows what they gave."""

    async def step(self, key: str, take: Callable[[], Awaitable[Any]]) -> Any:
        """Return what a step gave, JSON values.

        :param key: of the step in its run.
        :param take: takes it; its errors are raised, and the step then counts as not taken.
        """
        ...


class Unrecorded:
    """Takes every step; nothing is written."""

    async def step(self, key: str, take: Callable[[], Awaitable[Any]]) -> Any:
        """See :class:`StepRecorder`."""
        return await take()


class RecordedSteps:
    """Takes a step once in the life of a run. One that a process was killed amid is taken again.

    :param event_json: makes JSON values of an event.
    :param event_of: makes an event of them.
    :param is_replay: whether no step is taken: the journal has them all.
    """

    def __init__(
        self,
        journal: RunJournal,
        *,
        event_json: Callable[[Any], Any],
        event_of: Callable[[Any], Any],
        is_replay: bool = False,
    ) -> None:
        self._journal = journal
        self._index = JournalIndex(journal)
        self._event_json = event_json
        self._event_of = event_of
        self._is_replay = is_replay

    async def step(self, key: str, take: Callable[[], Awaitable[Any]]) -> Any:
        """See :class:`StepRecorder`.

        :raises InvalidArgumentError: in a replay, when the run did not take this step.
        :raises StorageError: when the journal cannot be written.
        """
        earlier = self._index.last(_STEP, key, 0)
        if earlier is not None:
            kept = self._journal.payload(earlier.data["result"])
            for event in kept["events"]:
                emit(self._event_of(event))
            return kept["gave"]
        if self._is_replay:
            raise not_recorded("the journal does not say what this step gave", subject=key)
        told: list[Any] = []
        with also_told_to(told.append):
            gave = await take()
        result = self._journal.keep({"gave": gave, "events": [self._event_json(event) for event in told]})
        self._journal.append("step_ended", key=key, nth=0, result=result)
        return as_kept(gave)
