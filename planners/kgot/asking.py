r"""Asking one of the two models of a run: a prompt from its file, an answer inside a schema, re-asks with the fault, an event for each call.

A prompt is rendered as XML or Markdown. What is not of the user stands in a fence. The first message has no data of the task, so a
server that keeps the beginning of a prompt reads it once.

JSON is taken from anywhere in an answer, also where only its writing is wrong (appendix B.3.1 of the paper).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

from jinja2 import Environment, StrictUndefined

from inference.chat import GREEDY, ChatModel, Message, Sample
from inference.structured_chat import SchemaParser, StructuredChat, StructuredRequest, UnusableAnswerError
from ontology.errors import ModelError
from ontology.files import read_yaml
from ontology.json_values import canonical_text
from planners.calls.model_text import json_objects, without_thoughts
from planners.calls.untrusted import FenceMarks
from planners.journal.step_log import metered, on_a_thread
from planners.kgot.kgot_events import Executor, ModelAsked
from planners.kgot.kgot_settings import KgotSettings, PromptFormat

__all__ = ["ModelAsker", "UnusableStepError", "closed_object", "prompt_messages"]

T = TypeVar("T")

_PROMPTS = Path(__file__).parent / "prompts"
_OF_THE_USER = frozenset({"initial_problem"})
_SEEDS = 1_000  # more than votes of a decision, so that each iteration draws anew


class UnusableStepError(ModelError):
    """A model answers, but not in a form that can be used: its endpoint is there."""


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
        language: str = "cypher",
        options: Mapping[str, bool] | None = None,
        sample: Sample = GREEDY,
    ) -> T:
        """Return the answer of the model to a prompt.

        :param name: of the prompt.
        :param inputs: texts by the names of the prompt's inputs.
        :param schema: of the answer.
        :param read: makes the answer of JSON values inside the schema; raises UnusableAnswerError where they say nothing.
        :param language: see :func:`prompt_messages`.
        :raises ModelError: when the model is unavailable.
        :raises UnusableStepError: when no answer could be used.
        :raises BudgetExceededError: when the budget is used up.
        """
        form, marks, repaired = self._settings.prompt_format, self._marks, self._settings.repair_json
        request = StructuredRequest(
            messages=prompt_messages(name, inputs, form=form, marks=marks, language=language, options=options),
            schema=schema,
            schema_name=name,
            max_tokens=self._settings.max_answer_tokens,
            sample=sample,
        )
        parser = _parser(canonical_text(schema))
        with metered(self._model, name, partial(ModelAsked, step=name, executor=self._executor)) as model:
            chat = StructuredChat(
                model,
                kind="kgot",
                repair_prompt=lambda fault: _repair_text(fault, form, marks),
                cache=None,
                attempts=1 + self._settings.max_json_reasks,
                whole_only=True,
            )
            answer = await on_a_thread(
                f"kgot-{self._executor}",
                lambda: chat.call(request, "", lambda text: _first_read(parser, read, text, repaired)),
            )
        if answer.failure is not None:
            raise answer.failure
        if answer.problem:
            remedy = "Another model may follow the form of the answer"
            raise UnusableStepError(answer.problem, subject=name, remedy=remedy)
        return cast("T", answer.value)

    def drawn(self, iteration: int, nth: int, times: int) -> Sample:
        """Return the sample of one of several answers to one question; a single one is the most probable answer."""
        if times == 1:
            return GREEDY
        return Sample(seed=iteration * _SEEDS + nth, temperature=self._settings.vote_temperature)


def closed_object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with exactly these members."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


@cache
def _parser(schema: str) -> SchemaParser:
    return SchemaParser(json.loads(schema), feature="language models as the steps of a run")


def _first_read(parser: SchemaParser, read: Callable[[Any], T], text: str, repaired: bool) -> T:
    """Read the answer as it stands; else the last object in it that can be read, since a model thinks before it answers.

    :raises UnusableAnswerError: with the fault of the last object, or of the text where none stands in it.
    """
    try:
        return read(parser.parse(text))
    except UnusableAnswerError as error:
        fault = error
    for nth, value in enumerate(reversed(list(json_objects(without_thoughts(text), mended=True)) if repaired else [])):
        try:
            return read(parser.parse(json.dumps(value)))
        except UnusableAnswerError as error:
            fault = fault if nth else error
    raise fault


@cache
def _read(name: str) -> Mapping[str, Any]:
    """Return the texts of a prompt: ``task``, ``instructions``, ``inputs`` (names of what stands in the second message, in order), ``answer``
    (its form), Jinja2 templates; and perhaps ``examples``, each with what is given and answers by language.
    """
    loaded: Mapping[str, Any] = read_yaml(_PROMPTS / f"{name}.yaml")
    return loaded


def prompt_messages(
    name: str,
    inputs: Mapping[str, str],
    *,
    form: PromptFormat,
    marks: FenceMarks,
    language: str = "cypher",
    options: Mapping[str, bool] | None = None,
) -> tuple[Message, ...]:
    """Return the two messages of a prompt.

    :param inputs: name → text; those that the prompt does not name, and empty ones, are left out.
    :param language: of the graph; ``operations`` for writes as JSON, ``direct`` where there is no query.
    :param options: switches of the prompt's text.
    """
    parts = [(key, inputs[key]) for key in _read(name)["inputs"] if inputs.get(key)]
    shown = [(key, text if key in _OF_THE_USER else marks.fenced(text)) for key, text in parts]
    return (
        Message(role="system", content=_system(name, form, language, tuple(sorted((options or {}).items())))),
        Message(role="user", content=_sections(shown, form, 2)),
    )


def _repair_text(fault: str, form: PromptFormat, marks: FenceMarks) -> str:
    """Return the message that hands an unusable answer back."""
    return f"{_system('fix_json', form, 'cypher', ())}\n{_sections([('fault', marks.fenced(fault))], form, 2)}"


@cache
def _system(name: str, form: PromptFormat, language: str, options: tuple[tuple[str, bool], ...]) -> str:
    prompt, common = _read(name), _read("common")
    values = {
        "language": common["languages"].get(language, {"name": "", "query": "", "write": ""}),
        "graph_rule": common["graph_rule"],
        "direct": language == "direct",
        "operations": language == "operations",
        "writes": False,
        "files": False,
        **dict(options),
    }
    rules = [_rendered(each, values) for each in (*prompt["instructions"], common["data_rule"])]
    numbered = "\n".join(f"{at}. {rule}" for at, rule in enumerate((rule for rule in rules if rule), 1))
    examples = []
    for example in prompt.get("examples", ()):
        answer = example["answers"].get(language, example["answers"].get("any"))
        if answer is not None:
            examples.append(("example", _sections([*example["given"].items(), ("answer", answer)], form, 4).strip()))
    sections = [("task", _rendered(prompt["task"], values)), ("instructions", numbered)]
    if examples:
        sections.append(("examples", _sections(examples, form, 3)))
    return _sections([*sections, ("form_of_the_answer", _rendered(prompt["answer"], values))], form, 2)


def _sections(parts: list[tuple[str, str]], form: PromptFormat, level: int) -> str:
    if form == "xml":
        return "\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in parts)
    return "\n".join(f"{'#' * level} {name.replace('_', ' ').capitalize()}\n{text}\n" for name, text in parts)


def _rendered(template: str, values: Mapping[str, Any]) -> str:
    environment = Environment(undefined=StrictUndefined, autoescape=False)  # a prompt is no HTML
    return environment.from_string(template).render(**values).strip()
