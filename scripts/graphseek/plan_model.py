"""A chat model that answers from hand-written plans: what a perfect model would say, over HTTP or in the process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from inference.chat import GREEDY, Completion, Message, Sample
from planners.calls.model_text import PromptTokens
from scripts.graphseek.ev_plans import EvPlan

__all__ = ["PlanModel", "planned_answer"]


def planned_answer(plan: EvPlan, schema_name: str, nth: int) -> dict[str, Any]:
    """Return what is said in the nth call of a question, from 0.

    :param schema_name: ``turn`` of the agent, ``query`` of a system that writes Cypher, and accepts what that gives.
    """
    if schema_name == "query":
        return {"accept": True} if nth else {"query": plan.cypher}
    if nth < len(plan.steps):
        step = plan.steps[nth]
        return {"calls": [{"operator": step.operator, "arguments": dict(step.arguments)}]}
    return {"answer": "See the table.", "of": list(plan.of)}


class PlanModel:
    """Implements :class:`inference.chat.ChatModel` for one question.

    :ivar prompts: tokens of the messages of each call.
    :ivar schemas: tokens of the JSON schema of each call, which some servers put before the model, and others only hold it to.
    """

    name = "plan.v1"

    def __init__(self, plan: EvPlan) -> None:
        self._plan = plan
        self._tokens = PromptTokens()
        self.prompts: list[int] = []
        self.schemas: list[int] = []

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
        max_tokens: int | None = None,
        sample: Sample = GREEDY,
    ) -> Completion:
        """Give the next step of the plan."""
        self.prompts.append(sum(self._tokens.count(each.content) for each in messages))
        self.schemas.append(self._tokens.count(json.dumps(schema)) if schema else 0)
        text = json.dumps(planned_answer(self._plan, schema_name, len(self.prompts) - 1))
        read = self.prompts[-1] + self.schemas[-1]
        return Completion(text=text, prompt_tokens=read, completion_tokens=self._tokens.count(text))
