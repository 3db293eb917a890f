"""Conversations about a graph on the page: each has its journals and results in a temporary folder, which ends with the page."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ontology.errors import NotFoundError, OverloadedError
from planners.graphseek.results.result_store import ResultStore
from services.jobs.ask_parts import AskPlan, open_asked_graph, outcome_error
from services.jobs.conversation import conversation_turns, next_turn
from services.jobs.result_page import ShownResults, result_page
from services.web.run_events import Plan, PlanRequest, RunEvent, error_json, observed

__all__ = ["PageTalks", "Talk"]

_MOST_TALKS, _MOST_TURNS = 32, 50
_ROWS = 10  # of a table that come with an answer; the others are asked for


@dataclass(slots=True)
class Talk:
    """One conversation.

    :param owner: key of the visitor who may see it.
    :param first: the journal of its first turn.
    :ivar live: results of the turn that is under way, by its number.
    :ivar is_busy: whether one is.
    """

    id: str
    owner: str
    plan: AskPlan
    first: Path
    live: dict[int, ResultStore] = field(default_factory=dict)
    is_busy: bool = False

    def ask(self, branch: tuple[int, int] | None = None) -> Plan:
        """Return what answers a question of this conversation, as a plan of the page.

        :param branch: number of the turn that is branched, and the last step that is taken over.
        :raises OverloadedError: when there were too many turns.
        """
        if len(conversation_turns(self.first)) >= _MOST_TURNS:
            raise OverloadedError(f"the conversation has {_MOST_TURNS} turns", remedy="Begin a new one")

        async def work(asked: PlanRequest, observe: Callable[[RunEvent], None]) -> None:
            if self.is_busy:
                raise OverloadedError("a question is being answered", remedy="Wait, or cancel it")
            self.is_busy = True
            try:
                await self._answer(asked.request, branch, observe)
            finally:
                self.is_busy = False

        return observed(work)

    async def _answer(self, text: str, branch: tuple[int, int] | None, observe: Callable[[RunEvent], None]) -> None:
        of, step = branch or (0, None)
        async with open_asked_graph(self.plan) as graph:
            question, turn = next_turn(self.first, text, branch=step, of=of)
            observe({"event": "TurnBegun", "turn": turn.number, "question": question.text})
            shown = ShownResults()
            with turn.opened() as (journal, results):
                self.live[turn.number] = results
                try:
                    answered = await graph.answer(
                        question, journal, results, shown.also(lambda event: observe(event.to_json()))
                    )
                    pages = await shown.pages(results, answered.end.of, count=_ROWS)
                finally:
                    del self.live[turn.number]
        failed = outcome_error(answered.end, by_command=False)
        error = None if failed is None else error_json(failed)
        observe({"event": "TurnEnded", "turn": turn.number, "pages": pages, "error": error})

    async def page(self, turn: int, handle: str, offset: int, count: int) -> dict[str, Any]:
        """Return a part of a result.

        :raises NotFoundError: when there is none.
        """
        if turn in self.live:
            return await result_page(self.live[turn], handle, offset=offset, count=count)
        turns = conversation_turns(self.first)
        if not 1 <= turn <= len(turns):
            raise NotFoundError("there is no such turn", subject=str(turn), remedy="Load the page again")
        with turns[turn - 1].results() as results:
            return await result_page(results, handle, offset=offset, count=count)


class PageTalks:
    """All conversations. Of who has most of them the oldest is forgotten.

    :param plan: where its graph is empty, the tool graph of the visitor's tenant is asked.
    :param stores: tenant → folder of its store.
    """

    def __init__(self, plan: AskPlan, stores: Mapping[str, Path]) -> None:
        self._plan = plan
        self._stores = stores
        self._folder = Path(tempfile.mkdtemp(prefix="egotools-talks-"))
        self._talks: OrderedDict[str, Talk] = OrderedDict()

    @property
    def is_by_model(self) -> bool:
        """Whether a model plans the steps, which reads a question by those before it."""
        return self._plan.chat is not None

    def new(self, owner: str, tenant: str) -> Talk:
        """Return a new conversation, which is still to be kept.

        :raises NotFoundError: when the tenant has no store.
        """
        plan = self._plan
        if not plan.graph:
            if tenant not in self._stores:
                raise NotFoundError("there is no such tenant", subject=tenant, remedy="Sign in for another one")
            plan = replace(plan, graph=f"store:{self._stores[tenant]}")
        name = secrets.token_urlsafe(12)
        return Talk(id=name, owner=owner, plan=plan, first=self._folder / name / "talk.jsonl")

    def keep(self, talk: Talk) -> None:
        """Keep a conversation."""
        self._talks[talk.id] = talk
        idle = [each for each in self._talks.values() if each is not talk and not each.is_busy]
        if len(self._talks) > _MOST_TALKS and idle:
            counts = Counter(each.owner for each in self._talks.values())
            oldest = max(idle, key=lambda each: counts[each.owner])  # the first of them
            del self._talks[oldest.id]
            shutil.rmtree(oldest.first.parent, ignore_errors=True)

    def find(self, name: str, owner: str) -> Talk:
        """Return a conversation of this visitor.

        :raises NotFoundError: when there is none.
        """
        talk = self._talks.get(name)
        if talk is None or talk.owner != owner:
            raise NotFoundError("there is no such conversation", subject=name, remedy="Begin a new one")
        self._talks.move_to_end(name)
        return talk

    def close(self) -> None:
        """Remove all conversations."""
        self._talks.clear()
        shutil.rmtree(self._folder, ignore_errors=True)
