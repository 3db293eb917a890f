"""The ``llm`` generator: a chat model writes the request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datagen.interfaces import GeneratedText
from datagen.llm.chat_step import NAME, ChatStep, answer_parser, answer_schema, structured_request
from datagen.llm.parse_generated import parse_generated
from datagen.llm.prompts import example_of, generation_prompt, persona
from datagen.llm.tool_prompt import prompt_inputs, steps_prompt
from datagen.profiled_catalogue import ProfiledCatalogue
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
_MIN_TOOLS = {"single-intent": 1, "ir-multi-intent": 1}


class LlmGenerator:
    """Generates requests with a chat model, one call for each path, class and seed.

    :param cache: cache of answers; None for no cache.
    :raises MissingExtraError: when jsonschema is not installed.
    """

    name = NAME

    def __init__(self, catalogue: ProfiledCatalogue, model: ChatModel, cache: ResultCache | None = None) -> None:
        self._catalogue = catalogue
        self._chat = ChatStep(model, cache)
        self._parser = answer_parser(_schema())

    def generate(self, path: ToolPath, request_class: str, *, seed: int) -> GeneratedText | RejectedRequest:
        """Return the model's text, or a rejection; see :class:`datagen.interfaces.Generator`.

        :param seed: chooses the persona and the style.
        :raises InvalidArgumentError: when there is no such class.
        :raises NotFoundError: when a tool of the path is not in the catalogue.
        :raises BudgetExceededError: when the cap is reached; earlier answers are in the cache.
        """
        if request_class not in CLASSES:
            raise InvalidArgumentError(
                f"there is no class {request_class!r}", subject="request_class", remedy=f"Use {', '.join(CLASSES)}"
            )
        reason, text = _misfit(path, request_class), ""
        if not reason:
            tools = tuple(map(self._catalogue.tool, path.tools))
            example = example_of(request_class)
            answer = self._chat.call(
                _request(path, tools, request_class, seed),
                lambda text: parse_generated(self._parser.parse(text), path, tools, example=example),
            )
            if answer.value is not None:
                return answer.value
            reason, text = answer.problem.rstrip("."), answer.text[:_MAX_REJECTED_CHARS]
        return RejectedRequest(
            stage="generate", subject=path.tools, reason=reason, request_class=request_class, text=text
        )


def _misfit(path: ToolPath, request_class: str) -> str:
    """Return why the path does not fit the class, or empty."""
    count = len(path.tools)
    if request_class == "single-intent" and count > 1:
        return f"a single-intent request needs one tool, not {count}"
    if count < _MIN_TOOLS.get(request_class, 2):
        return f"a request of class {request_class} needs two tools at least"
    return ""


def _request(path: ToolPath, tools: Sequence[Tool], request_class: str, seed: int) -> StructuredRequest:
    instructions = generation_prompt(request_class, most_words=20 + 12 * len(tools))
    inputs = sorted({parameter.name for tool in tools for parameter in prompt_inputs(tool)})
    text = f"{steps_prompt(path, tools)}\n\n{persona(seed, path.id)}"
    return structured_request(instructions, text, _schema(inputs), "request", max_tokens=_MAX_TOKENS)


def _schema(names: Sequence[str] = ()) -> dict[str, Any]:
    """Return the schema of an answer; the schema with names is for the server.

    Answers are parsed without them: a value for an unknown input is dropped, and the rest of the answer is used.
    """
    text: dict[str, Any] = {"type": "string"}
    parameter = {**text, "enum": list(names)} if names else text
    value = answer_schema(tool={"type": "integer"}, parameter=parameter, value=text)
    values: dict[str, Any] = {"type": "array", "items": value}
    return answer_schema(values={**values, "maxItems": _MAX_VALUES} if names else values, query=text)
