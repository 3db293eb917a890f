"""Turns of a conversation: what follows one that was stopped, or a question that could not be asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from ontology.errors import InvalidArgumentError, ModelError
from planners.graphseek.question_run import answer_recorded
from planners.graphseek.turn import AgentSettings, Question, Turn
from services.jobs.conversation import conversation_turns, next_turn
from tests.planners.graphseek.agent.toy_parts import Script, answer, call, parts

SETTINGS = AgentSettings(max_steps=3)


async def ask(first: Path, text: str, *turns: Turn | Exception, refine: bool = False) -> tuple[int, Question, str]:
    """Return the number of the turn, its question, and how it ended."""
    question, turn = next_turn(first, text, refine=refine)
    with turn.opened() as (journal, store):
        run = await answer_recorded(question, journal, parts(store, Script(*turns)), SETTINGS)
        return turn.number, question, run.end.outcome


async def test_a_stopped_turn_and_a_question_that_is_too_long_block_nothing(tmp_path: Path) -> None:
    first, echo = tmp_path / "talk.jsonl", (call("echo", of="Alpha"),)
    assert await ask(first, "Which?", echo, answer("Alpha", "t1")) == (1, Question(text="Which?"), "answered")
    for refine in (False, True):
        with pytest.raises(InvalidArgumentError, match="20,001 characters"):
            await ask(first, "a" * (SETTINGS.message_tokens + 1), refine=refine)
    assert (await ask(first, "Which two?", ModelError("no model")))[::2] == (2, "model")
    with pytest.raises(InvalidArgumentError, match="has not ended"):
        await ask(first, "Only one", refine=True)
    assert (await ask(first, "Which two?", ModelError("no model")))[::2] == (2, "model"), "the same words go on"
    following = Question(text="And?", earlier=(("Which?", "Alpha"),))
    assert await ask(first, "And?", answer("Alpha", "t1")) == (3, following, "answered")
    assert len(conversation_turns(first)) == 3
