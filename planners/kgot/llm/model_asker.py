"""Asking one of the two models of a run with a prompt: structured answers, repaired JSON, re-asks with the fault, and an event for each call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, TypeVar, cast

from inference.chat import GREEDY, ChatModel, Sample
from inference.structured_chat import SchemaParser, StructuredChat, StructuredRequest, UnusableAnswerError
from ontology.json_object import canonical_text
from planners.calls.fence_marks import FenceMarks
from planners.journal.step_log import metered, on_a_thread
from planners.kgot.kgot_events import Executor, ModelAsked
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.llm.json_repair import repaired_json
from planners.kgot.prompts.kgot_prompt import prompt_messages, prompt_version, repair_text
from planners.kgot.step_makers import UnusableStepError

__all__ = ["ModelAsker", "closed_object"]

T = TypeVar("T")

_KIND = "kgot"


class ModelAsker:
    """Asks one model. Its calls run in threads of their own, so that votes wait for the model together.

    :param executor: which of the two models it is.
    """

    def __init__(self, model: ChatModel, *, executor: Executor, settings: KgotSettings, marks: FenceMarks) -> None:
        self._model = model
        self._executor: Executor = executor
        self._settings = settings
        self._marks = marks

    async def ask(
        self,
        name: str,
        inputs: Mapping[str, str],
        schema: Mapping[str, Any],
        read: Callable[[Any], T],
        *,
        language: str = "cypher",
        options: Mapping[str, bool] | None = None,
        sample: Sample = GREEDY,
    ) -> T:
        """Return the answer of the model to a prompt.

        :param name: of the prompt.
        :param inputs: texts by the names of the prompt's inputs.
        :param schema: of the answer.
        :param read: makes the answer of JSON values inside the schema; raises UnusableAnswerError where they say nothing.
        :param language: see :func:`planners.kgot.prompts.kgot_prompt.prompt_messages`.
        :raises ModelError: when the model is unavailable.
        :raises UnusableStepError: when no answer could be used.
        :raises BudgetExceededError: when the budget is used up.
        """
        form = self._settings.prompt_format
        request = StructuredRequest(
            messages=prompt_messages(name, inputs, form=form, marks=self._marks, language=language, options=options),
            schema=schema,
            schema_name=name,
            max_tokens=self._settings.max_answer_tokens,
            sample=sample,
        )
        made = partial(ModelAsked, step=name, executor=self._executor)
        parser = _parser(canonical_text(schema))
        key = request.key(self._model.name, prompt_version(name, form))
        with metered(self._model, name, made) as model:
            chat = StructuredChat(
                model,
                kind=_KIND,
                repair_prompt=lambda fault: repair_text(fault, form=form, marks=self._marks),
                cache=None,
                attempts=1 + self._settings.max_json_reasks,
                whole_only=True,
            )
            answer = await on_a_thread(
                f"kgot-{self._executor}",
                lambda: chat.call(
                    request,
                    key,
                    lambda text: read(_value(parser, text, repaired=self._settings.repair_json)),
                ),
            )
        if answer.failure is not None:
            raise answer.failure
        if answer.problem:
            raise UnusableStepError(
                answer.problem, subject=name, remedy="Another model may follow the form of the answer"
            )
        return cast("T", answer.value)

    def drawn(self, iteration: int, nth: int, times: int) -> Sample:
        """Return the sample of one of several answers to one question; a single one is the most probable answer."""
        if times == 1:
            return GREEDY
        return Sample(seed=iteration * _SEEDS + nth, temperature=self._settings.vote_temperature)


_SEEDS = 1_000  # more than votes of a decision, so that each iteration draws anew


def closed_object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with exactly these members."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@cache
def _parser(schema: str) -> SchemaParser:
    return SchemaParser(json.loads(schema), feature="language models as the steps of a run")


def _value(parser: SchemaParser, text: str, *, repaired: bool) -> Any:
    """Return the value of an answer; where it cannot be read as it stands, of its repaired JSON if that may be."""
    try:
        return parser.parse(text)
    except UnusableAnswerError:
        mended = repaired_json(text) if repaired else None
        if mended is None:
            raise
        return parser.parse(mended)
