"""Chat models behind OpenAI-compatible endpoints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from inference.budget import Budget
from inference.chat import GREEDY, Completion, Message, Sample
from inference.openai_client import OpenAIEndpoint
from inference.retry import RetryPolicy
from ontology.errors import InvalidArgumentError

__all__ = ["BYTES_PER_TOKEN", "OpenAIChat", "ReportedUsage", "answer_text", "reported_usage"]

BYTES_PER_TOKEN = 3
"""English has about four bytes in a token; with three, more is reserved than most calls use."""
TOKENS_PER_MESSAGE = 8
_MOST_TOKENS = 10**9  # of one call that a server may claim; a larger number is no count


class OpenAIChat:
    """A chat model behind ``/chat/completions``: temperature 0 and a fixed seed, unless a sample is asked for; needs the extra ``llm``.

    :param model: the name of the model at the server.
    :param base_url: up to and including ``/v1``.
    :param api_key: the variable ``OPENAI_API_KEY`` where None; never shown.
    :param max_tokens: the most tokens that one answer may have.
    :param seed: sent to the server, which may ignore it; that of a sample is added.
    :param timeout_s: an attempt without an answer after so many seconds counts as failed.
    :param policy: retries of failed attempts.
    :param budget: limit shared by all calls; none where None.
    :raises MissingExtraError: without the extra ``llm``.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str | None = None,
        max_tokens: int = 2048,
        seed: int = 0,
        timeout_s: float = 120.0,
        policy: RetryPolicy | None = None,
        budget: Budget | None = None,
    ) -> None:
        _check_length(max_tokens)
        self._endpoint = OpenAIEndpoint(
            model, base_url=base_url, api_key=api_key, timeout_s=timeout_s, policy=policy or RetryPolicy()
        )
        self._max_tokens = max_tokens
        self._seed = seed
        self.budget = budget or Budget()

    @property
    def name(self) -> str:
        """``openai:MODEL@BASE_URL``, the address without credentials."""
        return self._endpoint.name

    def __repr__(self) -> str:
        return f"OpenAIChat({self.name!r})"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
        max_tokens: int | None = None,
        sample: Sample = GREEDY,
    ) -> Completion:
        """Answer the messages; see :class:`inference.chat.ChatModel`."""
        if not messages:
            raise InvalidArgumentError(
                "there is no message to answer", subject="messages", remedy="Pass at least one message"
            )
        limit = self._max_tokens if max_tokens is None else max_tokens
        _check_length(limit)
        request = self._request(messages, limit, sample)
        if schema is not None:
            described = {"name": schema_name, "schema": dict(schema), "strict": not _has_open_object(schema)}
            request["response_format"] = {"type": "json_schema", "json_schema": described}
        estimate = _estimate_tokens(messages, schema)
        with self.budget.reserve(prompt_tokens=estimate, completion_tokens=limit) as reservation:
            answer = self._endpoint.call(lambda: self._endpoint.client.chat.completions.create(**request))
            usage = reported_usage(answer)
            text = answer_text(answer)
            read = estimate if usage.prompt_tokens is None else usage.prompt_tokens
            written = _tokens_in(text or "") if usage.completion_tokens is None else usage.completion_tokens
            # Settled before the text is checked: an unusable answer costs tokens too.
            reservation.settle(prompt_tokens=read, completion_tokens=written)
        if not text:
            raise self._endpoint.invalid_answer("the answer has no text")
        return Completion(
            text=text, prompt_tokens=read, completion_tokens=written, truncated=_finish(answer) == "length"
        )

    def _request(self, messages: Sequence[Message], limit: int, sample: Sample) -> dict[str, Any]:
        return {
            "model": self._endpoint.model,
            "messages": [{"role": message.role, "content": _sendable(message.content)} for message in messages],
            "temperature": sample.temperature or 0,
            "seed": self._seed + sample.seed,
            "max_tokens": limit,
        }


def _has_open_object(schema: Any) -> bool:
    """Whether a schema allows an object of any members, or one that may lack some: servers refuse to be strict about such a one."""
    if isinstance(schema, list):
        return any(map(_has_open_object, schema))
    if not isinstance(schema, Mapping):
        return False
    if schema.get("type") == "object" and set(schema.get("properties", ("any",))) - set(schema.get("required", ())):
        return True
    return any(map(_has_open_object, schema.values()))


def _check_length(max_tokens: int) -> None:
    if max_tokens < 1:
        raise InvalidArgumentError(f"{max_tokens} is too few tokens", subject="max_tokens", remedy="Use 1 or more")


def _sendable(text: str) -> str:
    """Replace lone surrogates, which no request body can contain, by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _tokens_in(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def _estimate_tokens(messages: Sequence[Message], schema: Mapping[str, Any] | None) -> int:
    texts = [message.content for message in messages]
    if schema is not None:
        texts.append(json.dumps(schema))
    return sum(_tokens_in(text) + TOKENS_PER_MESSAGE for text in texts)


class ReportedUsage(NamedTuple):
    """Tokens that the server counted; None where it did not."""

    prompt_tokens: int | None
    completion_tokens: int | None


def reported_usage(answer: Any) -> ReportedUsage:
    """Return the tokens that an answer of the endpoint states."""
    usage = getattr(answer, "usage", None)
    counts = (getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None))
    read, written = (count if isinstance(count, int) and 0 <= count <= _MOST_TOKENS else None for count in counts)
    return ReportedUsage(read, written)


def _choice(answer: Any) -> Any:
    choices = getattr(answer, "choices", None)
    return choices[0] if isinstance(choices, list) and choices else None


def answer_text(answer: Any) -> str | None:
    """Return the text of an answer of the endpoint; None where it has none."""
    content = getattr(getattr(_choice(answer), "message", None), "content", None)
    return content if isinstance(content, str) else None


def _finish(answer: Any) -> str | None:
    return getattr(_choice(answer), "finish_reason", None)
