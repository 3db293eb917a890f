"""Structured LLM calls: a chat model answers with JSON that a schema constrains.

An answer outside the schema is rejected as a whole. The model then gets the fault and one more attempt. Usable answers
are cached under a content hash as they arrive, so that a repeated run pays only for the missing ones.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

from inference.chat import GREEDY, ChatModel, Message, Sample
from inference.result_cache import ResultCache
from ontology.errors import BudgetExceededError, ModelError

T = TypeVar("T")

_ATTEMPTS = 2  # the default: a second answer outside the schema is seldom followed by a better third
_MAX_REPEATED_CHARS = 4_000  # of a rejected answer, in the next attempt
_MAX_PROBLEM_CHARS = 200
_MAX_FAILURES = 3


class UnusableAnswerError(ValueError):
    """An answer that cannot be used; its text is one clause that the model can be given."""


class SchemaParser:
    """Parses answers against one JSON schema (Draft 2020-12)."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        from jsonschema import Draft202012Validator  # here, so that importing this package stays cheap

        self._validator = Draft202012Validator(schema)

    def parse(self, text: str) -> Any:
        """The value of an answer that is one JSON value inside the schema and nothing else.

        :raises UnusableAnswerError: for any other text.
        """
        from jsonschema.exceptions import best_match

        try:
            answer = json.loads(text, parse_constant=_reject_constant)
        except (ValueError, RecursionError) as error:
            raise UnusableAnswerError(f"it is not one JSON object ({str(error)[:_MAX_PROBLEM_CHARS]})") from error
        fault = best_match(self._validator.iter_errors(answer))
        if fault is not None:
            place = "".join(f"[{step!r}]" for step in fault.absolute_path) or "the top level"
            raise UnusableAnswerError(f"it is outside the schema at {place}: {fault.message[:_MAX_PROBLEM_CHARS]}")
        return answer


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredRequest:
    """One call to a chat model.

    :param schema: the JSON schema of the answer.
    :param schema_name: the name that the server gets for the schema.
    :param max_tokens: the most tokens that the answer may have; the model's own limit where None.
    :param sample: which answer is drawn; each is cached apart.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    schema_name: str
    max_tokens: int | None = None
    sample: Sample = GREEDY

    def key(self, model_name: str, version: str) -> str:
        """SHA-256 (hex) of the request to that model.

        :param version: changes with the parser of the answers, and with everything else that the answer depends on.
        """
        messages = [[message.role, message.content] for message in self.messages]
        parts: list[Any] = [model_name, version, self.schema, self.max_tokens, messages]
        if self.sample != GREEDY:  # the keys of the others are those of the caches that stand
            parts.append([self.sample.seed, self.sample.temperature])
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredAnswer(Generic[T]):
    """A usable answer, or the reason why there is none.

    :param value: the parsed answer; None where there is no usable one.
    :param problem: why there is no usable answer, or empty.
    :param text: the text of the usable answer, or at most 4,000 characters of the last rejected one.
    :param failure: the error of a failed call; None where the model answered.
    """

    value: T | None = None
    problem: str = ""
    text: str = ""
    failure: ModelError | None = None


class StructuredChat:
    """Calls one chat model, and caches its usable answers as JSON text.

    :param kind: kind of the cache entries.
    :param repair_prompt: makes the message for the second attempt from the fault of the first answer.
    :param cache: where answers are kept; None keeps none.
    :param whole_only: an answer that was cut off is never parsed, for a parser that repairs what it reads.
    :param attempts: answers that are asked for, 1 or more, until one can be used.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        kind: str,
        repair_prompt: Callable[[str], str],
        cache: ResultCache | None,
        attempts: int = _ATTEMPTS,
        whole_only: bool = False,
    ) -> None:
        self._model = model
        self._kind = kind
        self._repair_prompt = repair_prompt
        self._cache = cache
        self._attempts = attempts
        self._whole_only = whole_only

    def call(self, request: StructuredRequest, key: str, parse: Callable[[str], T]) -> StructuredAnswer[T]:
        """The cached answer, or the model's. A failed call is returned, not raised: see :class:`FailureBudget`.

        :param key: content hash of everything that the answer depends on.
        :param parse: parses the text of an answer; raises UnusableAnswerError for one that cannot be used.
        :raises BudgetExceededError: when the token or money cap is reached.
        """
        content = self._cache.get(self._kind, key) if self._cache else None
        if content:
            with contextlib.suppress(UnicodeDecodeError, UnusableAnswerError):
                text = content.decode("utf-8", "surrogatepass")
                return StructuredAnswer(value=parse(text), text=text)
        try:
            answer = self._call_model(request, parse)
        except BudgetExceededError:
            raise
        except ModelError as error:
            return StructuredAnswer(problem=str(error), failure=error)
        if self._cache and not answer.problem:
            self._cache.put(self._kind, key, answer.text.encode("utf-8", "surrogatepass"))
        return answer

    def _call_model(self, request: StructuredRequest, parse: Callable[[str], T]) -> StructuredAnswer[T]:
        messages = list(request.messages)
        problem = ""
        for _ in range(self._attempts):
            completion = self._model.complete(
                messages,
                schema=request.schema,
                schema_name=request.schema_name,
                max_tokens=request.max_tokens,
                sample=request.sample,
            )
            try:
                if completion.truncated and self._whole_only:
                    raise UnusableAnswerError("the limit of tokens was reached")
                return StructuredAnswer(value=parse(completion.text), text=completion.text)
            except UnusableAnswerError as error:
                problem = f"it is cut off: {error}" if completion.truncated else str(error)
            rejected = completion.text[:_MAX_REPEATED_CHARS]
            messages += [
                Message(role="assistant", content=rejected),
                Message(role="user", content=self._repair_prompt(problem)),
            ]
        times = "twice" if self._attempts == _ATTEMPTS else f"{self._attempts} times"
        return StructuredAnswer(problem=f"the model's answer was rejected {times}: {problem}", text=rejected)


class FailureBudget:
    """Allows two failed calls in a row, and raises the error of the third. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._in_a_row = 0

    def record(self, failure: ModelError | None) -> None:
        """Count one call.

        :param failure: the error of the call; None where the model answered.
        :raises ModelError: that error, when it is the third in a row.
        """
        with self._lock:
            self._in_a_row = 0 if failure is None else self._in_a_row + 1
            if failure is not None and self._in_a_row >= _MAX_FAILURES:
                raise failure
