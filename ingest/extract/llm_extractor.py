"""The ``llm`` extractor: a chat model extracts triples of the ontology from the text of a document.

The model does not read the declared structure; the same rules as in ``rules`` extract it. Each answer is cached by a hash of its
document. So a run after a crash, or with some changed documents, calls the model only for the documents without an answer.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence

from inference.chat import ChatModel, Message
from inference.concurrent_map import concurrent_map
from inference.result_cache import ResultCache
from inference.structured_chat import FailureBudget, StructuredAnswer, StructuredChat, StructuredRequest
from ingest.extract.extractor import Extraction
from ingest.extract.parse_answer import AnswerParser, answer_triples
from ingest.extract.prompt import PROMPT_VERSION, answer_schema, document, instructions, repair_prompt
from ingest.extract.structure import structural_triples
from ingest.extract.triple_rules import apply_triple_rules
from ontology.errors import InvalidArgumentError, ModelError
from ontology.ontology import Ontology
from ontology.tool import Tool

__all__ = ["CACHE_KIND", "LlmExtractor"]

_LOG = logging.getLogger(__name__)
_NAME = "llm.v1"
CACHE_KIND = "llm-answer"
"""Kind of the cache entries: the model's answers as JSON text."""
_CONCURRENCY = 4


class LlmExtractor:
    """Extracts triples with a chat model.

    When two answers for a tool are invalid, or its call fails, the Extraction has only the triples of the structure and the
    reason in ``error``; the next run calls the model for this tool again.

    :param model: the chat model; it has its own retries and its own budget.
    :param cache: cache of the answers; None stores none.
    :param concurrency: number of parallel calls, at least 1.
    :raises MissingExtraError: when jsonschema is not installed.
    """

    def __init__(
        self,
        model: ChatModel,
        ontology: Ontology,
        *,
        cache: ResultCache | None = None,
        concurrency: int = _CONCURRENCY,
    ) -> None:
        if concurrency < 1:
            raise InvalidArgumentError(
                f"concurrency must be at least 1, not {concurrency}", subject="concurrency", remedy="Use 1 or more"
            )
        self._ontology = ontology
        self._model = model
        self._chat = StructuredChat(model, kind=CACHE_KIND, repair_prompt=repair_prompt, cache=cache)
        self._concurrency = concurrency
        self._schema = answer_schema(ontology)
        self._instructions = instructions(ontology)
        self._parser = AnswerParser(self._schema)

    @property
    def name(self) -> str:
        """Versioned name."""
        return _NAME

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the ontology, the model name, and the prompt."""
        names = (_NAME, PROMPT_VERSION, self._ontology.digest, self._model.name)
        prompt = (self._instructions, json.dumps(self._schema, sort_keys=True))
        return hashlib.sha256(repr((names, prompt)).encode()).hexdigest()

    def extract(self, tools: Sequence[Tool]) -> Iterator[Extraction]:
        """Yield one Extraction for each tool, in order.

        :raises ModelError: when three calls in a row failed after their retries, or all calls failed.
        :raises BudgetExceededError: when the budget is used up; finished answers are in the cache.
        """
        fingerprint = self.fingerprint
        failures = FailureBudget()
        answered = False
        last: ModelError | None = None
        for tool, answer in concurrent_map(
            tools, lambda tool: self._answer(tool, fingerprint), concurrency=self._concurrency
        ):
            if answer.failure is None:
                answered = True
            else:
                last = answer.failure
                _LOG.warning("%s: the call of the model failed: %s", tool.id, last)
            failures.record(answer.failure)
            yield self._extraction(tool, answer)
        if last is not None and not answered:
            raise last

    def _answer(self, tool: Tool, fingerprint: str) -> StructuredAnswer[list[dict[str, str]]]:
        content = f"{fingerprint}\n{tool.canonical_json()}".encode("utf-8", "surrogatepass")
        messages = (
            Message(role="system", content=self._instructions),
            Message(role="user", content=document(tool)),
        )
        request = StructuredRequest(messages=messages, schema=self._schema, schema_name="triples")
        return self._chat.call(request, hashlib.sha256(content).hexdigest(), self._parser.parse)

    def _extraction(self, tool: Tool, answer: StructuredAnswer[list[dict[str, str]]]) -> Extraction:
        structure = structural_triples(tool, self._ontology, _NAME)
        answered = answer_triples(answer.value or [], tool, structure, _NAME)
        finished = apply_triple_rules(tool, [*structure, *answered.kept], self._ontology)
        return Extraction(
            tool_id=tool.id,
            triples=finished.triples,
            rejected=(*answered.rejected, *finished.rejected),
            error=answer.problem,
        )
