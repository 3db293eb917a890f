"""A prompt of a run: read from its file, rendered as XML or Markdown. What is not of the user stands in a fence.

The first message has no data of the task, so a server that keeps the beginning of a prompt reads it once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from pydantic import BaseModel, ConfigDict

from inference.chat import Message
from ontology.yaml_data import read_yaml
from planners.calls.fence_marks import FenceMarks
from planners.kgot.kgot_settings import PromptFormat

__all__ = ["prompt_messages", "prompt_version", "repair_text"]

_FOLDER = Path(__file__).parent
_COMMON = "common"
_OF_THE_USER = frozenset({"initial_problem"})
_ANY = "any"


class _Example(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    given: Mapping[str, str]
    answers: Mapping[str, str]


class _Prompt(BaseModel):
    """The texts of a prompt, Jinja2 templates but for examples.

    :param inputs: names of what stands in the second message, in order.
    :param answer: the form of the answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int
    task: str
    instructions: tuple[str, ...]
    examples: tuple[_Example, ...] = ()
    inputs: tuple[str, ...]
    answer: str


@cache
def _common() -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = read_yaml(_FOLDER / f"{_COMMON}.yaml")
    return loaded


@cache
def _prompt(name: str) -> _Prompt:
    return _Prompt.model_validate(read_yaml(_FOLDER / f"{name}.yaml"))


def prompt_version(name: str, form: PromptFormat) -> str:
    """Return what changes with the text of a prompt, for the keys of caches."""
    return f"kgot.{name}.{_prompt(name).version}.{_common()['version']}.{form}"


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
    parts = [(key, inputs[key]) for key in _prompt(name).inputs if inputs.get(key)]
    shown = [(key, text if key in _OF_THE_USER else marks.fenced(text)) for key, text in parts]
    return (
        Message(role="system", content=_system(name, form, language, tuple(sorted((options or {}).items())))),
        Message(role="user", content=_sections(shown, form, 2)),
    )


def repair_text(fault: str, *, form: PromptFormat, marks: FenceMarks) -> str:
    """Return the message that hands an unusable answer back."""
    system = _system("fix_json", form, "cypher", ())
    return f"{system}\n{_sections([('fault', marks.fenced(fault))], form, 2)}"


@cache
def _system(name: str, form: PromptFormat, language: str, options: tuple[tuple[str, bool], ...]) -> str:
    prompt, common = _prompt(name), _common()
    values = {
        "language": common["languages"].get(language, {"name": "", "query": "", "write": ""}),
        "graph_rule": common["graph_rule"],
        "direct": language == "direct",
        "operations": language == "operations",
        "writes": False,
        **dict(options),
    }
    rules = [_rendered(each, values) for each in (*prompt.instructions, common["data_rule"])]
    numbered = "\n".join(f"{at}. {rule}" for at, rule in enumerate((rule for rule in rules if rule), 1))
    sections = [("task", _rendered(prompt.task, values)), ("instructions", numbered)]
    if examples := _examples(prompt.examples, form, language):
        sections.append(("examples", examples))
    return _sections([*sections, ("form_of_the_answer", _rendered(prompt.answer, values))], form, 2)


def _examples(examples: Sequence[_Example], form: PromptFormat, language: str) -> str:
    shown = []
    for example in examples:
        answer = example.answers.get(language, example.answers.get(_ANY))
        if answer is not None:
            shown.append(("example", "\n" + _sections([*example.given.items(), ("answer", answer)], form, 4)))
    return "\n".join(_section(name, text.strip(), form, 3) for name, text in shown)


def _sections(parts: Sequence[tuple[str, str]], form: PromptFormat, level: int) -> str:
    return "\n".join(_section(name, text, form, level) for name, text in parts)


def _section(name: str, text: str, form: PromptFormat, level: int) -> str:
    if form == "xml":
        return f"<{name}>\n{text}\n</{name}>"
    return f"{'#' * level} {name.replace('_', ' ').capitalize()}\n{text}\n"


def _rendered(template: str, values: Mapping[str, Any]) -> str:
    environment = Environment(undefined=StrictUndefined, autoescape=False)  # a prompt is no HTML
    text: str = environment.from_string(template).render(**values)
    return text.strip()
