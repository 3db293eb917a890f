"""The ``llm`` validators: of R-P edges, and of requests by class, sequence and error, each in a separate call.

The prompt for the class does not contain the label, so that the label does not bias the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from datagen.interfaces import RequestValidator
from datagen.llm.chat_step import NAME, ChatStep, Judgement, answer_parser, answer_schema, structured_request
from datagen.llm.prompts import FAULTS, render_prompt
from datagen.llm.tool_prompt import brief_steps, in_words, prompt_inputs, purpose, steps_prompt
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import CLASSES, SyntheticRequest, Verdict
from datagen.tool_links import ToolLinks
from datagen.tool_path import PathEdge, ToolPath
from inference.chat import ChatModel
from inference.result_cache import ResultCache
from ontology.tool import Tool

__all__ = ["LlmSequence", "llm_validators"]

_MAX_TOKENS = 200
_REASON: dict[str, Any] = {"type": "string"}
_FOLLOWS = answer_schema(reason=_REASON, follows={"type": "boolean"})
_Row = Mapping[str, Any]


class LlmSequence:
    """Validates R-P edges with a chat model.

    :param cache: cache of answers; None for no cache.
    :raises MissingExtraError: when jsonschema is not installed.
    """

    name = NAME

    def __init__(self, catalogue: ProfiledCatalogue, model: ChatModel, cache: ResultCache | None = None) -> None:
        self._catalogue = catalogue
        self._chat = ChatStep(model, cache)
        self._parser = answer_parser(_FOLLOWS)

    def validate(self, edge: PathEdge) -> Verdict:
        """The model's verdict; see :class:`datagen.interfaces.SequenceValidator`.

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
        request = structured_request(instructions, text, _FOLLOWS, "sequence", max_tokens=_MAX_TOKENS)
        return self._chat.verdict(request, self._parser, _judge_follows, check="sequence")


def _judge_follows(row: _Row) -> Judgement:
    return Judgement(row["follows"], row["reason"])


@dataclass(frozen=True, kw_only=True)
class _Check:
    """One of the three checks.

    :param schema: the schema of the answer.
    :param steps: renders the steps for the prompt.
    :param judge: judges an answer for a request of a class.
    """

    name: str
    schema: dict[str, Any]
    steps: Callable[[ToolPath, Sequence[Tool]], str]
    judge: Callable[[_Row, str], Judgement]


def llm_validators(
    catalogue: ProfiledCatalogue, rp: ToolLinks, model: ChatModel, cache: ResultCache | None = None
) -> tuple[RequestValidator, ...]:
    """The three checks by a chat model, one call for each request and check.

    :param rp: R-P edges of the catalogue, for requests without edges of their own.
    :param cache: cache of answers; None for no cache.
    :raises MissingExtraError: when jsonschema is not installed.
    """
    chat = ChatStep(model, cache)
    return tuple(_LlmValidator(catalogue, rp, chat, check) for check in _CHECKS)


class _LlmValidator:
    name = NAME

    def __init__(self, catalogue: ProfiledCatalogue, rp: ToolLinks, chat: ChatStep, check: _Check) -> None:
        self._catalogue, self._rp, self._chat, self._check = catalogue, rp, chat, check
        self._parser = answer_parser(check.schema)

    @property
    def check(self) -> str:
        """The name of the check."""
        return self._check.name

    def validate(self, request: SyntheticRequest) -> Verdict:
        """The model's verdict; see :class:`datagen.interfaces.RequestValidator`."""
        path, schema = _with_edges(request.path, self._rp), self._check.schema
        tools = tuple(map(self._catalogue.tool, path.tools))
        text = f"Message: {request.text}\n\n{self._check.steps(path, tools)}"
        instructions = render_prompt(f"check {self.check}")
        call = structured_request(instructions, text, schema, self.check, max_tokens=_MAX_TOKENS)
        label = request.request_class
        return self._chat.verdict(call, self._parser, lambda row: self._check.judge(row, label), check=self.check)


def _with_edges(path: ToolPath, rp: ToolLinks) -> ToolPath:
    """Return the path, with edges of the graph along its order where it has none; tools of a set are independent."""
    if path.edges or path.shape in {"single", "set"}:
        return path
    edges: list[PathEdge] = []
    for at, target in enumerate(path.tools):
        into = [edge for source in path.tools[:at] for edge in rp.between(source, target)]
        best: dict[str, PathEdge] = {}
        for edge in sorted(into, key=lambda edge: -edge.confidence):
            best.setdefault(edge.parameter, edge)
        edges.extend(best.values())
    return replace(path, edges=tuple(edges))


def _judge_class(row: _Row, label: str) -> Judgement:
    return Judgement(row["class"] == label, f"the model reads it as {row['class']}: {row['reason']}")


def _judge_sequence(row: _Row, _label: str) -> Judgement:
    return Judgement(row["fits"], row["reason"])


def _judge_error(row: _Row, _label: str) -> Judgement:
    passed = row["fault"] == FAULTS[0]
    return Judgement(passed, row["reason"] if passed else f"{row['fault']}: {row['reason']}")


_CHECKS = (
    _Check(
        name="class",
        schema=answer_schema(reason=_REASON, **{"class": {"type": "string", "enum": list(CLASSES)}}),
        steps=lambda _path, tools: brief_steps(tools),
        judge=_judge_class,
    ),
    _Check(
        name="sequence",
        schema=answer_schema(reason=_REASON, fits={"type": "boolean"}),
        steps=steps_prompt,
        judge=_judge_sequence,
    ),
    _Check(
        name="error",
        schema=answer_schema(reason=_REASON, fault={"type": "string", "enum": list(FAULTS)}),
        steps=steps_prompt,
        judge=_judge_error,
    ),
)
