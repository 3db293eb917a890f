"""The ``llm`` output finder: a chat model infers the outputs of tools that document none."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from datagen.interfaces import MAX_OUTPUTS, ToolOutput, ToolOutputs
from datagen.llm.chat_step import NAME, ChatStep, answer_parser, answer_schema, one_line, structured_request
from datagen.llm.output_candidates import Candidates
from datagen.llm.prompts import render_prompt
from datagen.llm.tool_prompt import prompt_inputs, purpose
from datagen.paths.rules_outputs import RulesOutputs
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import RejectedRequest
from inference.chat import ChatModel
from inference.concurrent_map import concurrent_map
from inference.result_cache import ResultCache
from inference.structured_chat import StructuredAnswer, StructuredRequest
from ontology.errors import InvalidArgumentError
from ontology.tool import Tool

__all__ = ["LlmOutputs"]

_CANDIDATES = 80
_CONCURRENCY = 4
_MIN_CONFIDENCE = 0.5
_MAX_CONFIDENCE = 0.99
_MAX_TOKENS = 400
_MAX_NAME_CHARS = 60
_MAX_DESCRIPTION_CHARS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proposal:
    """An output that the model proposes."""

    name: str
    reason: str
    confidence: float


class _Reply(NamedTuple):
    """The names that the model got, and its answer."""

    names: tuple[str, ...]
    answer: StructuredAnswer[list[_Proposal]]


class LlmOutputs:
    """Finds outputs: documented ones by the rules, those of tools that document none by a chat model.

    The model chooses among the input names of the catalogue, without the tool's own. For a large catalogue the prompt has
    only the nearest names, by the words and the entity that they share with the tool. Names outside the prompt and names
    with low confidence are rejected. A tool without a usable answer has no outputs, and a rejection with the reason.

    :param cache: cache of answers; None for no cache.
    :param candidates: number of names in the prompt, at least 1.
    :param concurrency: number of calls at the same time, at least 1.
    :raises MissingExtraError: when jsonschema is not installed.
    """

    name = NAME

    def __init__(
        self,
        catalogue: ProfiledCatalogue,
        model: ChatModel,
        cache: ResultCache | None = None,
        *,
        candidates: int = _CANDIDATES,
        concurrency: int = _CONCURRENCY,
    ) -> None:
        for field, value in {"candidates": candidates, "concurrency": concurrency}.items():
            if value < 1:
                raise InvalidArgumentError(f"{value} is too few", subject=field, remedy="Use 1 or more")
        self._catalogue = catalogue
        self._chat = ChatStep(model, cache)
        self._count = candidates
        self._concurrency = concurrency
        self._parser = answer_parser(_schema())

    def find(self) -> ToolOutputs:
        """The outputs of every tool; see :class:`datagen.interfaces.OutputFinder`.

        :raises BudgetExceededError: when the cap is reached; earlier answers are in the cache.
        """
        by_rules, candidates = RulesOutputs(self._catalogue).find(), Candidates(self._catalogue)
        tools = self._catalogue.tools
        found = {tool.id: by_rules.by_tool.get(tool.id, ()) for tool in tools if tool.returns}
        rejected = [rejection for rejection in by_rules.rejected if rejection.subject[0] in found]
        undocumented = [tool for tool in tools if not tool.returns]
        replies = concurrent_map(undocumented, lambda tool: self._call(tool, candidates), concurrency=self._concurrency)
        for tool, reply in replies:
            outputs = _outputs(tool, reply)
            found[tool.id] = outputs.kept
            rejected.extend(outputs.rejected)
        return ToolOutputs(by_tool={tool.id: found[tool.id] for tool in tools}, rejected=tuple(rejected))

    def _call(self, tool: Tool, candidates: Candidates) -> _Reply:
        names = candidates.nearest(tool, self._count)
        if not names:
            problem = "no tool of the catalogue has an input that an output could fill"
            return _Reply(names, StructuredAnswer(problem=problem))
        return _Reply(names, self._chat.call(_request(tool, names), self._parse))

    def _parse(self, text: str) -> list[_Proposal]:
        rows = [_Proposal(**row) for row in self._parser.parse(text)["outputs"]]
        return [replace(row, reason=one_line(row.reason)) for row in rows]


def _request(tool: Tool, names: Sequence[str]) -> StructuredRequest:
    inputs = ", ".join(parameter.name for parameter in prompt_inputs(tool)) or "none"
    lines = [
        f"Operation: {purpose(tool, max_chars=_MAX_DESCRIPTION_CHARS)}",
        f"It is given: {inputs}",
        f"Fields to pick from: {', '.join(sorted(names))}",
    ]
    instructions = render_prompt("outputs", most=MAX_OUTPUTS)
    return structured_request(instructions, "\n".join(lines), _schema(names), "outputs", max_tokens=_MAX_TOKENS)


def _schema(names: Sequence[str] = ()) -> dict[str, Any]:
    """Return the schema of an answer; the schema with names is for the server.

    Answers are parsed without them: a name outside the list is dropped, and the rest of the answer is used.
    """
    name: dict[str, Any] = {"type": "string", "enum": sorted(names)} if names else {"type": "string"}
    confidence = {"type": "number", "minimum": 0, "maximum": 1}
    row = answer_schema(name=name, reason={"type": "string"}, confidence=confidence)
    rows: dict[str, Any] = {"type": "array", "items": row}
    return answer_schema(outputs={**rows, "maxItems": MAX_OUTPUTS} if names else rows)


class _Outputs(NamedTuple):
    kept: tuple[ToolOutput, ...]
    rejected: tuple[RejectedRequest, ...]


def _outputs(tool: Tool, reply: _Reply) -> _Outputs:
    """Return the outputs of a tool, and the rejected parts of the model's answer."""
    if reply.answer.value is None:
        return _Outputs((), (_rejection(tool, reply.answer.problem.rstrip("."), reply.answer.text),))
    kept: dict[str, ToolOutput] = {}
    rejected: list[RejectedRequest] = []
    for one in sorted(reply.answer.value, key=lambda one: (-one.confidence, one.name)):
        fault = _fault(one, reply.names, kept)
        if fault:
            rejected.append(_rejection(tool, fault))
        else:
            confidence = min(float(one.confidence), _MAX_CONFIDENCE)
            kept[one.name] = ToolOutput(
                tool=tool.id, name=one.name, confidence=confidence, reason=one.reason, documented=False
            )
    return _Outputs(tuple(kept.values()), tuple(rejected))


def _fault(one: _Proposal, names: Collection[str], kept: Collection[str]) -> str:
    name = repr(one.name[:_MAX_NAME_CHARS])
    if one.name not in names:
        return f"the model named the output {name}, which is not on the list"
    if one.confidence < _MIN_CONFIDENCE:
        return f"the model gives the output {name} a confidence of {one.confidence:.2f}, below {_MIN_CONFIDENCE}"
    if one.name in kept:
        return f"the model named the output {name} twice"
    if len(kept) >= MAX_OUTPUTS:
        return f"the model named more than {MAX_OUTPUTS} outputs, {name} among them"
    return ""


def _rejection(tool: Tool, reason: str, text: str = "") -> RejectedRequest:
    return RejectedRequest(stage="outputs", subject=(tool.id,), reason=reason, text=text)
