"""The ``llm`` output finder: what tools give whose documents do not say it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from datagen.catalogue import Catalogue
from datagen.llm.chat_step import NAME, Asking, answer_schema, question, reader, sentence
from datagen.llm.output_candidates import Candidates
from datagen.llm.tool_prompt import inputs_of, purpose
from datagen.paths.rules_outputs import RulesOutputs
from datagen.seams import MAX_OUTPUTS, ToolOutput, ToolOutputs
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
_LEAST_CONFIDENCE = 0.5
_MOST_CONFIDENCE = 0.99
_MAX_TOKENS = 400
_TOLD_NAME_CHARS = 60
_DESCRIPTION_CHARS = 600

_INSTRUCTIONS = f"""You read the document of one operation of a company's software. Nobody wrote down what it gives back. From a list of field names you pick those that it gives back: what exists, has changed or is known because it ran.

Weigh four things for each field:
- relevance: the field belongs to the very thing that the operation is for;
- causality: running the operation makes, changes or finds it;
- clarity: the document says so or leaves no doubt;
- typical use: operations of this kind mostly answer with it.

Confidence:
- 0.90 to 0.99: all four hold plainly;
- 0.70 to 0.89: it is not said, but follows from what the operation does and from common practice;
- 0.50 to 0.69: a hint, no more;
- below 0.50: leave it out.

Rules:
1. Take names from the list only, copied letter by letter.
2. At most {MAX_OUTPUTS} fields. None is a good answer; a wrong field does more harm than a missing one.
3. What the operation is merely given is no result.
4. The reason is one short sentence about this operation.

Examples, from a bicycle workshop:
Operation: take in bike: Opens a repair for a bike that a customer brings.
It is given: customer, bike
Fields to pick from: closing_time, mechanic, price_list, repair_id
{{"outputs": [{{"name": "repair_id", "reason": "opening a repair gives it a number of its own", "confidence": 0.95}}]}}
Operation: lock the till: Ends the day at the till.
It is given: till
Fields to pick from: closing_time, mechanic, price_list, repair_id
{{"outputs": []}}

Answer with one JSON object and nothing else: {{"outputs": [{{"name": …, "reason": …, "confidence": …}}]}}"""

_Row = dict[str, Any]


class LlmOutputs:
    """Finds outputs: the documented ones as the rules have them, those of tools that document none from a chat model.

    The model picks from the catalogue's input names, but for the tool's own: what a tool is given it need not be asked
    for. Of a large catalogue it is shown the nearest names only, by words and entity shared with the tool; what it names
    beyond the list that it was shown is rejected, as is what it is not sure of. A tool without a usable answer has no outputs, and a rejection says why.

    :param cache: where answers are kept; None keeps none.
    :param candidates: how many names the model is shown, at least 1.
    :param concurrency: calls under way at once, at least 1.
    :raises MissingExtraError: when jsonschema is not installed.
    """

    def __init__(
        self,
        catalogue: Catalogue,
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
        self._asking = Asking(model, cache)
        self._count = candidates
        self._concurrency = concurrency
        self._parser = reader(_schema())

    @property
    def name(self) -> str:
        """Versioned name."""
        return NAME

    def find(self) -> ToolOutputs:
        """The outputs of every tool; see :class:`datagen.seams.OutputFinder`.

        :raises BudgetExceededError: when the cap is reached; what was answered is in the cache.
        """
        by_rules = RulesOutputs(self._catalogue).find()
        silent = [tool for tool in self._catalogue.tools if not tool.returns]
        found = {tool.id: by_rules.by_tool.get(tool.id, ()) for tool in self._catalogue.tools if tool.returns}
        rejected = [rejection for rejection in by_rules.rejected if rejection.subject[0] in found]
        for tool, (names, answer) in self._answers(silent):
            found[tool.id], faults = _outputs(tool, answer, names)
            rejected.extend(faults)
        return ToolOutputs(
            by_tool={tool.id: found[tool.id] for tool in self._catalogue.tools}, rejected=tuple(rejected)
        )

    def _answers(
        self, tools: Sequence[Tool]
    ) -> Iterator[tuple[Tool, tuple[frozenset[str], StructuredAnswer[list[_Row]]]]]:
        candidates = Candidates(self._catalogue)

        def work(tool: Tool) -> tuple[frozenset[str], StructuredAnswer[list[_Row]]]:
            names = candidates.nearest(tool, self._count)
            if not names:
                return frozenset(), StructuredAnswer(
                    problem="no tool of the catalogue has an input that an output could fill"
                )
            return frozenset(names), self._asking.ask(_question(tool, names, candidates), self._read)

        return concurrent_map(tools, work, concurrency=self._concurrency)

    def _read(self, text: str) -> list[_Row]:
        rows: list[_Row] = self._parser.parse(text)["outputs"]
        return [{**row, "reason": sentence(row["reason"])} for row in rows]


def _question(tool: Tool, names: Sequence[str], candidates: Candidates) -> StructuredRequest:
    inputs = ", ".join(parameter.name for parameter in inputs_of(tool)) or "none"
    lines = [
        f"Operation: {purpose(tool, most_chars=_DESCRIPTION_CHARS)}",
        f"It is given: {inputs}",
        f"Fields to pick from: {', '.join(map(candidates.told, sorted(names)))}",
    ]
    return question(_INSTRUCTIONS, "\n".join(lines), _schema(names), "outputs", max_tokens=_MAX_TOKENS)


def _schema(names: Sequence[str] = ()) -> dict[str, Any]:
    """The schema of an answer; with names it is the one that a server is to keep to.

    Answers are read without them: one name outside the list costs that name, not the whole answer.
    """
    name: dict[str, Any] = {"type": "string", "enum": sorted(names)} if names else {"type": "string"}
    confidence = {"type": "number", "minimum": 0, "maximum": 1}
    row = answer_schema(name=name, reason={"type": "string"}, confidence=confidence)
    rows: dict[str, Any] = {"type": "array", "items": row}
    return answer_schema(outputs={**rows, "maxItems": MAX_OUTPUTS} if names else rows)


def _outputs(
    tool: Tool, answer: StructuredAnswer[list[_Row]], names: frozenset[str]
) -> tuple[tuple[ToolOutput, ...], list[RejectedRequest]]:
    if answer.value is None:
        return (), [_rejection(tool, answer.problem.rstrip("."), answer.text)]
    kept: list[ToolOutput] = []
    rejected: list[RejectedRequest] = []
    for row in sorted(answer.value, key=lambda row: (-row["confidence"], row["name"])):
        fault = _fault(row, names, [one.name for one in kept])
        if fault:
            rejected.append(_rejection(tool, fault))
        else:
            confidence = min(float(row["confidence"]), _MOST_CONFIDENCE)
            kept.append(
                ToolOutput(
                    tool=tool.id, name=row["name"], confidence=confidence, reason=row["reason"], documented=False
                )
            )
    return tuple(kept), rejected


def _fault(row: _Row, names: frozenset[str], kept: Iterable[str]) -> str:
    name = repr(row["name"][:_TOLD_NAME_CHARS])
    taken = list(kept)
    if row["name"] not in names:
        return f"the model named the output {name}, which is not on the list"
    if row["confidence"] < _LEAST_CONFIDENCE:
        return f"the model gives the output {name} a confidence of {row['confidence']:.2f}, below {_LEAST_CONFIDENCE}"
    if row["name"] in taken:
        return f"the model named the output {name} twice"
    if len(taken) >= MAX_OUTPUTS:
        return f"the model named more than {MAX_OUTPUTS} outputs, {name} among them"
    return ""


def _rejection(tool: Tool, reason: str, text: str = "") -> RejectedRequest:
    return RejectedRequest(stage="outputs", subject=(tool.id,), reason=reason, text=text)
