"""The ``llm`` sequence validator: whether one tool can follow another."""

from __future__ import annotations

from datagen.catalogue import Catalogue
from datagen.llm.chat_step import NAME, ChatStep, Judgement, answer_parser, answer_schema, structured_request
from datagen.llm.prompts import render_prompt
from datagen.llm.tool_prompt import in_words, prompt_inputs, purpose
from datagen.synthetic_request import Verdict
from datagen.tool_path import PathEdge
from inference.chat import ChatModel
from inference.result_cache import ResultCache

__all__ = ["LlmSequence"]

_MAX_TOKENS = 200
_SCHEMA = answer_schema(reason={"type": "string"}, follows={"type": "boolean"})


class LlmSequence:
    """Validates R-P edges with a chat model.

    :param cache: where answers are kept; None keeps none.
    :raises MissingExtraError: when jsonschema is not installed.
    """

    name = NAME

    def __init__(self, catalogue: Catalogue, model: ChatModel, cache: ResultCache | None = None) -> None:
        self._catalogue = catalogue
        self._chat = ChatStep(model, cache)
        self._parser = answer_parser(_SCHEMA)

    def validate(self, edge: PathEdge) -> Verdict:
        """The model's verdict; see :class:`datagen.seams.SequenceValidator`.

        :raises NotFoundError: when a tool of the edge is not in the catalogue.
        :raises BudgetExceededError: when the cap is reached; earlier answers are in the cache.
        """
        first, second = self._catalogue.tool(edge.source), self._catalogue.tool(edge.target)
        lines = [
            f"First: {purpose(first)}",
            f"Second: {purpose(second)}",
            f"The second takes: {', '.join(parameter.name for parameter in prompt_inputs(second)) or 'nothing'}",
            f"The first gives: {in_words(edge.output)}. The second takes it as: {edge.parameter}.",
        ]
        instructions, text = render_prompt("sequence"), "\n".join(lines)
        request = structured_request(instructions, text, _SCHEMA, "sequence", max_tokens=_MAX_TOKENS)
        judge = lambda row: Judgement(row["follows"], row["reason"])  # noqa: E731
        return self._chat.verdict(request, self._parser, judge, check="sequence")
