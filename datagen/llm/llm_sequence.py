"""The ``llm`` sequence validator: whether one tool can follow another."""

from __future__ import annotations

from typing import Any

from datagen.catalogue import Catalogue
from datagen.llm.chat_step import NAME, Asking, answer_schema, question, reader
from datagen.llm.tool_prompt import inputs_of, purpose, spoken
from datagen.llm.verdicts import Opinion, reasoned, verdict
from datagen.synthetic_request import Verdict
from datagen.tool_path import PathEdge
from inference.chat import ChatModel
from inference.result_cache import ResultCache
from inference.structured_chat import StructuredRequest
from ontology.tool import Tool

__all__ = ["LlmSequence"]

_MAX_TOKENS = 200
_SCHEMA = answer_schema(reason={"type": "string"}, follows={"type": "boolean"})
_INSTRUCTIONS = """Two operations of a company's software are given. The first gives something that the second takes. Decide whether a person could sensibly do the second right after the first, as the next step of one piece of work.

Yes needs all of these:
- they are about the same thing, or about things that one piece of work joins;
- the second uses what the first found, made or changed;
- the second is not the first over again;
- what the first gives is what the second takes: the number of an order is not the number of a delivery.
No: two tasks that merely sound alike, or that serve different ends.

Examples, from a bicycle workshop:
First: Find repairs. Second: Schedule repair. The first gives: repair id. The second takes it as: repair_id.
{"reason": "one looks up a repair and then sets the day for that repair", "follows": true}
First: Find repairs. Second: Search repairs by customer. The first gives: customer. The second takes it as: customer.
{"reason": "the second looks for the same repairs again", "follows": false}
First: Add mechanic. Second: Delete invoice. The first gives: id. The second takes it as: invoice_id.
{"reason": "the id of a mechanic is not that of an invoice, and the two serve different ends", "follows": false}

Answer with one JSON object and nothing else: {"reason": one short sentence, "follows": true or false}"""


class LlmSequence:
    """Validates R-P edges by asking a chat model.

    :param cache: where answers are kept; None keeps none.
    :raises MissingExtraError: when jsonschema is not installed.
    """

    def __init__(self, catalogue: Catalogue, model: ChatModel, cache: ResultCache | None = None) -> None:
        self._catalogue = catalogue
        self._asking = Asking(model, cache)
        self._read = reasoned(reader(_SCHEMA), _opinion)

    @property
    def name(self) -> str:
        """Versioned name."""
        return NAME

    def validate(self, edge: PathEdge) -> Verdict:
        """The model's verdict; see :class:`datagen.seams.SequenceValidator`.

        :raises NotFoundError: when a tool of the edge is not in the catalogue.
        :raises BudgetExceededError: when the cap is reached; what was answered is in the cache.
        """
        first, second = self._catalogue.tool(edge.source), self._catalogue.tool(edge.target)
        return verdict(self._asking, _question(first, second, edge), self._read, "sequence")


def _opinion(row: dict[str, Any]) -> Opinion:
    return row["follows"], row["reason"]


def _question(first: Tool, second: Tool, edge: PathEdge) -> StructuredRequest:
    lines = [
        f"First: {purpose(first)}",
        f"Second: {purpose(second)}",
        f"The second takes: {', '.join(parameter.name for parameter in inputs_of(second)) or 'nothing'}",
        f"The first gives: {spoken(edge.output)}. The second takes it as: {edge.parameter}.",
    ]
    return question(_INSTRUCTIONS, "\n".join(lines), _SCHEMA, "sequence", max_tokens=_MAX_TOKENS)
