"""The ``llm`` extractor: what the language of a document says, read by a chat model inside the ontology.

What a document declares is never asked of the model: structure is read by the rules that ``rules`` uses too. Answers are
kept by content hash as they arrive, so that a run after a crash, or with some documents changed, pays for the rest only.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

from inference.chat import ChatModel, Message
from ingest.cache import Cache
from ingest.extract.answer import AnswerReader, UnusableAnswerError, said_triples
from ingest.extract.extractor import Extraction
from ingest.extract.finish import finish
from ingest.extract.prompt import PROMPT_VERSION, answer_schema, document, instructions, repair
from ingest.extract.structure import structural_triples
from ontology.errors import BudgetExceededError, InvalidArgumentError, ModelError
from ontology.ontology import Ontology
from ontology.tool import Tool

__all__ = ["CACHE_KIND", "LlmExtractor"]

_LOG = logging.getLogger(__name__)
_NAME = "llm.v1"
CACHE_KIND = "llm-answer"
"""Kind of the cache entries: the model's answers as JSON text."""
_CONCURRENCY = 4
_TOLD_CHARS = 4_000  # of an unusable answer, when its fault is told
_DEAD_AFTER = 3  # failures in a row, in the order of the tools, after which the model counts as dead


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """A usable answer as JSON text, or why there is none."""

    text: str = ""
    problem: str = ""
    failure: ModelError | None = None


class LlmExtractor:
    """Reads triples with a chat model.

    A tool whose answer is unusable twice, or whose call fails, keeps what its structure declares and carries the
    reason as ``Extraction.error``; it is asked again in the next run.

    :param model: does its own retries and keeps its own budget.
    :param cache: where answers are kept; None keeps none.
    :param concurrency: calls under way at once, at least 1.
    :raises MissingExtraError: when jsonschema is not installed.
    """

    def __init__(
        self,
        model: ChatModel,
        ontology: Ontology,
        *,
        cache: Cache | None = None,
        concurrency: int = _CONCURRENCY,
    ) -> None:
        if concurrency < 1:
            raise InvalidArgumentError(
                f"concurrency must be at least 1, not {concurrency}", subject="concurrency", remedy="Use 1 or more"
            )
        self._ontology = ontology
        self._model = model
        self._cache = cache
        self._concurrency = concurrency
        self._schema = answer_schema(ontology)
        self._instructions = instructions(ontology)
        self._reader = AnswerReader(self._schema)

    @property
    def name(self) -> str:
        """Versioned name."""
        return _NAME

    @property
    def fingerprint(self) -> str:
        """Changes with the ontology, the model, and what is said to it."""
        said = (_NAME, PROMPT_VERSION, self._ontology.digest, self._model.name)
        prompt = (self._instructions, json.dumps(self._schema, sort_keys=True))
        return hashlib.sha256(repr((said, prompt)).encode()).hexdigest()

    def extract(self, tools: Sequence[Tool]) -> Iterator[Extraction]:
        """One Extraction for each tool, in order.

        :raises ModelError: when three calls in a row failed for good, or all did.
        :raises BudgetExceededError: when the cap is reached; what was answered is in the cache.
        """
        failures = answered = 0
        last: ModelError | None = None
        for tool, answer in self._answers(tools):
            if answer.failure is not None:
                failures, last = failures + 1, answer.failure
                if failures >= _DEAD_AFTER:
                    raise answer.failure
            else:
                failures, answered = 0, answered + 1
            yield self._extraction(tool, answer)
        if last is not None and not answered:
            raise last

    def _answers(self, tools: Sequence[Tool]) -> Iterator[tuple[Tool, _Answer]]:
        """Each tool's answer in order, a few calls ahead of the one that is taken."""
        fingerprint = self.fingerprint
        waiting = iter(tools)
        pool = ThreadPoolExecutor(self._concurrency, thread_name_prefix="llm")
        under_way: deque[tuple[Tool, Future[_Answer]]] = deque()

        def start(count: int) -> None:
            for tool in islice(waiting, count):
                under_way.append((tool, pool.submit(self._answer, tool, fingerprint)))

        try:
            start(2 * self._concurrency)
            while under_way:
                tool, future = under_way.popleft()
                answer = future.result()
                start(1)
                yield tool, answer
        finally:
            # Calls that wait are dropped; those under way are paid for, so their answers still reach the cache.
            pool.shutdown(wait=True, cancel_futures=True)

    def _answer(self, tool: Tool, fingerprint: str) -> _Answer:
        said = f"{fingerprint}\n{tool.canonical_json()}".encode("utf-8", "surrogatepass")
        key = hashlib.sha256(said).hexdigest()
        if kept := self._kept(key):
            return _Answer(text=kept)
        try:
            answer = self._asked(tool)
        except BudgetExceededError:
            raise
        except ModelError as error:
            _LOG.warning("%s: the model could not be asked: %s", tool.id, error)
            return _Answer(problem=str(error), failure=error)
        if self._cache and not answer.problem:
            self._cache.put(CACHE_KIND, key, answer.text.encode())
        return answer

    def _kept(self, key: str) -> str:
        """The usable answer in the cache, or empty."""
        kept = self._cache.get(CACHE_KIND, key) if self._cache else None
        try:
            text = (kept or b"").decode()
            return text if text and self._reader.read(text) is not None else ""
        except (UnicodeDecodeError, UnusableAnswerError):
            return ""

    def _asked(self, tool: Tool) -> _Answer:
        """Ask, and once more with the fault told when the answer cannot be used."""
        messages = [
            Message(role="system", content=self._instructions),
            Message(role="user", content=document(tool)),
        ]
        problem = ""
        for _ in range(2):
            completion = self._model.complete(messages, schema=self._schema, schema_name="triples")
            try:
                self._reader.read(completion.text)
            except UnusableAnswerError as error:
                problem = f"it is cut off: {error}" if completion.truncated else str(error)
                messages += [
                    Message(role="assistant", content=completion.text[:_TOLD_CHARS]),
                    Message(role="user", content=repair(problem)),
                ]
            else:
                return _Answer(text=completion.text)
        return _Answer(problem=f"the model's answer was refused twice: {problem}")

    def _extraction(self, tool: Tool, answer: _Answer) -> Extraction:
        structure = structural_triples(tool, self._ontology, _NAME)
        rows = self._reader.read(answer.text) if answer.text else []
        said, refused = said_triples(rows, tool, structure, _NAME)
        finished = finish(tool, [*structure, *said], self._ontology)
        return Extraction(
            tool_id=tool.id,
            triples=finished.triples,
            refused=(*refused, *finished.refused),
            error=answer.problem,
        )
