"""The ``llm`` generator: requests worded by a chat model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from datagen.catalogue import Catalogue
from datagen.llm.chat_step import NAME, Asking, answer_schema, question, reader
from datagen.llm.class_prompts import KINDS, persona
from datagen.llm.parse_generated import draft_of
from datagen.llm.tool_prompt import inputs_of, steps
from datagen.seams import GeneratedText
from datagen.synthetic_request import CLASSES, RejectedRequest
from datagen.tool_path import ToolPath
from inference.chat import ChatModel
from inference.result_cache import ResultCache
from inference.structured_chat import StructuredRequest
from ontology.errors import InvalidArgumentError
from ontology.tool import Tool

__all__ = ["LlmGenerator"]

_MAX_TOKENS = 400
_MAX_VALUES = 12
_MAX_REJECTED_CHARS = 500
_LEAST_TOOLS = {"single-intent": 1, "ir-multi-intent": 1}
_INSTRUCTIONS = """You write messages that people at a company type to their assistant. You are given the steps that the assistant will take, in order, as engineers noted them. First make up the values that the person has to tell, then write the one message that says them and makes all of these steps necessary and no other.

What kind of message: {meaning}.
{wording}

Rules:
1. Write as one writes to a colleague: everyday words, {most} words at most, no greeting, no explanation of the steps.
2. Do not repeat the engineers' sentences. People know the things of their work (an order, a room, a supplier) but no names of inputs, no underscores, no software terms.
3. Values look as in real life: a name, a number, a date, an amount. Take optional inputs only if they fit. Never a placeholder.
4. What comes from an earlier step is unknown to the person: do not make it up.
5. Every value stands in the message, letter by letter.

Answer with one JSON object and nothing else: "values" lists for each value the number of its step, the exact name of its input and the value, "query" is the message.

For example, for these steps of a bicycle workshop

{steps}

the answer is

{answer}"""


class LlmGenerator:
    """Words requests by asking a chat model, once for each path, class and seed.

    :param cache: where answers are kept; None keeps none.
    :raises MissingExtraError: when jsonschema is not installed.
    """

    def __init__(self, catalogue: Catalogue, model: ChatModel, cache: ResultCache | None = None) -> None:
        self._catalogue = catalogue
        self._asking = Asking(model, cache)
        self._parser = reader(_schema())

    @property
    def name(self) -> str:
        """Versioned name."""
        return NAME

    def generate(self, path: ToolPath, request_class: str, *, seed: int) -> GeneratedText | RejectedRequest:
        """The model's wording, or why there is none; see :class:`datagen.seams.Generator`.

        :param seed: picks who writes and how.
        :raises InvalidArgumentError: when there is no such class.
        :raises NotFoundError: when a tool of the path is not in the catalogue.
        :raises BudgetExceededError: when the cap is reached; what was answered is in the cache.
        """
        if request_class not in KINDS:
            raise InvalidArgumentError(
                f"there is no class {request_class!r}", subject="request_class", remedy=f"Use {', '.join(CLASSES)}"
            )
        if fault := _misfit(path, request_class):
            return _rejection(path, request_class, fault)
        tools = tuple(map(self._catalogue.tool, path.tools))

        def read(text: str) -> GeneratedText:
            row: dict[str, Any] = self._parser.parse(text)
            return draft_of(row, path, tools, example=KINDS[request_class].example)

        answer = self._asking.ask(_question(path, tools, request_class, seed), read)
        if answer.value is None:
            return _rejection(path, request_class, answer.problem.rstrip("."), answer.text[:_MAX_REJECTED_CHARS])
        return answer.value


def _misfit(path: ToolPath, request_class: str) -> str:
    """Why no request of the class can be over the path, or empty."""
    count = len(path.tools)
    if request_class == "single-intent" and count > 1:
        return f"a single-intent request needs one tool, not {count}"
    if count < _LEAST_TOOLS.get(request_class, 2):
        return f"a request of class {request_class} needs two tools at least"
    return ""


def _question(path: ToolPath, tools: tuple[Tool, ...], request_class: str, seed: int) -> StructuredRequest:
    kind = KINDS[request_class]
    shown = [{"tool": step, "parameter": name, "value": value} for step, name, value in kind.values]
    instructions = _INSTRUCTIONS.format(
        meaning=kind.meaning,
        wording=kind.wording,
        most=20 + 12 * len(tools),
        steps=kind.steps,
        answer=json.dumps({"values": shown, "query": kind.example}),
    )
    said = f"{steps(path, tools)}\n\n{persona(seed, path.id)}"
    return question(instructions, said, _schema(_names(tools)), "request", max_tokens=_MAX_TOKENS)


def _schema(names: Sequence[str] = ()) -> dict[str, Any]:
    """The schema of an answer; with names it is the one that a server is to keep to.

    Answers are read without them: a value for an unknown input costs that value, not the whole answer.
    """
    text: dict[str, Any] = {"type": "string"}
    parameter = {**text, "enum": list(names)} if names else text
    value = answer_schema(tool={"type": "integer"}, parameter=parameter, value=text)
    values: dict[str, Any] = {"type": "array", "items": value}
    return answer_schema(values={**values, "maxItems": _MAX_VALUES} if names else values, query=text)


def _names(tools: Sequence[Tool]) -> list[str]:
    return sorted({parameter.name for tool in tools for parameter in inputs_of(tool)})


def _rejection(path: ToolPath, request_class: str, reason: str, text: str = "") -> RejectedRequest:
    return RejectedRequest(stage="generate", subject=path.tools, reason=reason, request_class=request_class, text=text)
