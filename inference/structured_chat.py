"""Asking a chat model one question after another: the way every step does it that a language model can take.

An answer is JSON inside a schema or refused as a whole; one that is refused is told its fault and asked for once more;
what is usable is kept by content hash as it arrives, so that a run after a crash pays for the rest only.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import Any, Generic, TypeVar

from inference.cache import Cache
from inference.chat import ChatModel, Message
from ontology.errors import BudgetExceededError, MissingExtraError, ModelError

__all__ = ["Answer", "Asker", "FailureRun", "Question", "SchemaReader", "UnusableAnswerError", "in_order"]

T = TypeVar("T")
Item = TypeVar("Item")
Result = TypeVar("Result")

_TOLD_CHARS = 4_000  # of an unusable answer, when its fault is told
_MAX_PROBLEM_CHARS = 200
_DEAD_AFTER = 3  # failures in a row after which the model counts as dead


class UnusableAnswerError(ValueError):
    """An answer that cannot be used; says why in one clause, fit to tell the model."""


class SchemaReader:
    """Reads answers against one JSON schema.

    :param feature: what needs them, for the error.
    :raises MissingExtraError: when jsonschema is not installed.
    """

    def __init__(self, schema: Mapping[str, Any], *, feature: str) -> None:
        try:
            from jsonschema import Draft202012Validator
        except ImportError as error:
            raise MissingExtraError(feature, extra="llm") from error
        self._validator = Draft202012Validator(schema)

    def read(self, text: str) -> Any:
        """The answer's value; the text must be one JSON value inside the schema and nothing else.

        :raises UnusableAnswerError: for anything else.
        """
        from jsonschema.exceptions import best_match

        try:
            answer = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise UnusableAnswerError(f"it is not one JSON object ({str(error)[:_MAX_PROBLEM_CHARS]})") from error
        fault = best_match(self._validator.iter_errors(answer))
        if fault is not None:
            place = "".join(f"[{step!r}]" for step in fault.absolute_path) or "the whole"
            raise UnusableAnswerError(f"it is outside the schema at {place}: {fault.message[:_MAX_PROBLEM_CHARS]}")
        return answer


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the model is asked.

    :param schema: the JSON schema that the answer is to follow.
    :param schema_name: what the schema is called to the server.
    :param max_tokens: the most that the answer may have; the model's own setting where None.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    schema_name: str
    max_tokens: int | None = None

    def key(self, model_name: str, version: str) -> str:
        """The content hash of the question to that model.

        :param version: of the prompt, and of whatever else the answer's reading depends on.
        """
        said = [[message.role, message.content] for message in self.messages]
        parts = [model_name, version, self.schema, self.max_tokens, said]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    """A usable answer, or why there is none.

    :param value: as read; None where there is no usable answer.
    :param text: the last answer that was refused, cut to a bounded length.
    :param failure: the call itself failed.
    """

    value: T | None = None
    problem: str = ""
    text: str = ""
    failure: ModelError | None = None


class Asker:
    """Asks one model, and keeps its usable answers as JSON text.

    :param kind: kind of the cache entries.
    :param repair: words what is said after an answer that cannot be used, from its fault.
    :param cache: where answers are kept; None keeps none.
    """

    def __init__(self, model: ChatModel, *, kind: str, repair: Callable[[str], str], cache: Cache | None) -> None:
        self._model = model
        self._kind = kind
        self._repair = repair
        self._cache = cache

    def ask(self, question: Question, key: str, read: Callable[[str], T]) -> Answer[T]:
        """The kept answer, else the model's. A failed call is an answer too: the caller says when it has had enough.

        :param key: content hash of all that the answer depends on.
        :param read: reads the answer's text; raises UnusableAnswerError for what cannot be used.
        :raises BudgetExceededError: when the cap is reached.
        """
        kept = self._kept(key, read)
        if kept is not None:
            return kept
        try:
            text, answer = self._asked(question, read)
        except BudgetExceededError:
            raise
        except ModelError as error:
            return Answer(problem=str(error), failure=error)
        if self._cache and not answer.problem:
            self._cache.put(self._kind, key, text.encode("utf-8", "surrogatepass"))
        return answer

    def _kept(self, key: str, read: Callable[[str], T]) -> Answer[T] | None:
        kept = self._cache.get(self._kind, key) if self._cache else None
        if not kept:
            return None
        try:
            return Answer(value=read(kept.decode("utf-8", "surrogatepass")))
        except (UnicodeDecodeError, UnusableAnswerError):
            return None

    def _asked(self, question: Question, read: Callable[[str], T]) -> tuple[str, Answer[T]]:
        """Ask, and once more with the fault told when the answer cannot be used."""
        messages = list(question.messages)
        problem = ""
        for _ in range(2):
            completion = self._model.complete(
                messages, schema=question.schema, schema_name=question.schema_name, max_tokens=question.max_tokens
            )
            try:
                return completion.text, Answer(value=read(completion.text))
            except UnusableAnswerError as error:
                problem = f"it is cut off: {error}" if completion.truncated else str(error)
            messages += [
                Message(role="assistant", content=completion.text[:_TOLD_CHARS]),
                Message(role="user", content=self._repair(problem)),
            ]
        told = completion.text[:_TOLD_CHARS]
        return "", Answer(problem=f"the model's answer was refused twice: {problem}", text=told)


class FailureRun:
    """Counts the calls that failed in a row, and gives up at the third. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._length = 0

    def note(self, failure: ModelError | None) -> None:
        """Count one call.

        :param failure: how it failed; None where it was answered.
        :raises ModelError: that failure, when it is the third in a row.
        """
        with self._lock:
            self._length = 0 if failure is None else self._length + 1
            if failure is not None and self._length >= _DEAD_AFTER:
                raise failure


def in_order(
    items: Iterable[Item], work: Callable[[Item], Result], *, concurrency: int
) -> Iterator[tuple[Item, Result]]:
    """Each item with its result, in order; a few are worked on ahead of the one that is taken.

    A consumer that stops early drops what waits; what is under way is finished, for it is paid for.

    :param concurrency: how many are worked on at once, at least 1.
    """
    waiting = iter(items)
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="llm")
    under_way: deque[tuple[Item, Future[Result]]] = deque()

    def start(count: int) -> None:
        for item in islice(waiting, count):
            under_way.append((item, pool.submit(work, item)))

    try:
        start(2 * concurrency)
        while under_way:
            item, future = under_way.popleft()
            result = future.result()
            start(1)
            yield item, result
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
