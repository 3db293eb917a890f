"""OpenAI-compatible endpoints: chat and embeddings, with bounded answers, and their errors as ours."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import numpy as np

from egotools.calling.address_guard import IDENTITY, is_encoded
from inference.chat import GREEDY, Budget, Completion, Message, Sample
from inference.encoder import Floats2d, has_content, unit_rows
from inference.retry import TRANSIENT_STATUSES, RetryPolicy, TransientFailure, call_with_retries, parse_retry_after
from ontology.errors import InvalidArgumentError, MissingExtraError, ModelError
from ontology.hosts import check_http_url
from ontology.redaction import redacted_url

__all__ = [
    "BYTES_PER_TOKEN",
    "IDENTITY",
    "MOST_ANSWER_BYTES",
    "OpenAIChat",
    "OpenAIEncoder",
    "OpenAIEndpoint",
    "answer_text",
    "bound_answers",
    "reported_usage",
]

Client = TypeVar("Client", bound=Any)

MOST_ANSWER_BYTES = 32 * 2**20
"""An answer with 64 vectors of 4,096 numbers has about 6 MB."""
_BEGUN = "bounded_attempt"
_WRITE_BYTES = 16 * 2**10
"""The library's timeout begins again with each part of a write that the endpoint takes: so the parts are small."""
_REMEDY = "Check the address; an endpoint of models answers with a few megabytes at most, and not compressed"


def bound_answers(client: Client, address: str, timeout_s: float) -> Client:
    """Return ``client``, a new one of httpx or of httpx2 that sends the headers :data:`IDENTITY`, with bounds for each request.

    A request then raises :class:`ontology.errors.ModelError` for an answer that is compressed or has more than
    :data:`MOST_ANSWER_BYTES`, heads included, and :class:`inference.retry.TransientFailure` or a timeout of the library for an answer
    that has no end ``timeout_s`` seconds after the request began, redirects included. The library's own timeout begins again with
    each byte, be it of a head, of an interim answer or of a chunk's extension: so the bounds lie below it, at the connection.

    :param address: the subject of the errors, without credentials.
    """
    bounds = _Bounds(address)

    def begin(request: Any) -> None:
        if _BEGUN not in request.extensions:  # a redirect takes them over
            request.extensions[_BEGUN] = True
            bounds.begin(timeout_s)

    def check(response: Any) -> None:
        if is_encoded(response.headers):  # a few kilobytes may unpack to gigabytes
            raise ModelError("the endpoint's answer is compressed", subject=address, remedy=_REMEDY)

    client.event_hooks = {"request": [begin], "response": [check]}
    # The libraries take no backend of the network without giving up the proxies of the environment.
    for transport in (client._transport, *client._mounts.values()):
        if transport is not None:
            transport._pool._network_backend = _Backend(transport._pool._network_backend, bounds)
    return client


class _Bounds(threading.local):
    """What is left to the request that this thread makes."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.begin(0.0)

    def begin(self, timeout_s: float) -> None:
        self._ends = time.monotonic() + timeout_s
        self._bytes = 0

    def seconds(self) -> float:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TransientFailure("the endpoint did not answer in time")
        return left

    def count(self, part: bytes) -> bytes:
        self._bytes += len(part)
        if self._bytes > MOST_ANSWER_BYTES:
            problem = f"the endpoint's answer has more than {MOST_ANSWER_BYTES:,} bytes"
            raise ModelError(problem, subject=self._address, remedy=_REMEDY)
        return part


class _Backend:
    """The library's way to the network; the seconds left to the request stand in for the library's timeouts."""

    def __init__(self, backend: Any, bounds: _Bounds) -> None:
        self._backend = backend
        self._bounds = bounds

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> _Stream:
        stream = self._backend.connect_tcp(host, port, timeout=self._bounds.seconds(), **options)
        return _Stream(stream, self._bounds)


class _Stream:
    """A connection within the bounds of the request that uses it."""

    def __init__(self, stream: Any, bounds: _Bounds) -> None:
        self._stream = stream
        self._bounds = bounds

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._bounds.count(self._stream.read(max_bytes, self._bounds.seconds()))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _WRITE_BYTES):
            self._stream.write(buffer[start : start + _WRITE_BYTES], self._bounds.seconds())

    def close(self) -> None:
        self._stream.close()

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        stream = self._stream.start_tls(ssl_context, server_hostname, self._bounds.seconds())
        return _Stream(stream, self._bounds)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


T = TypeVar("T")

KEY_VARIABLE = "OPENAI_API_KEY"
NO_KEY = "none"
"""The client requires a key; servers on a private network often need none."""
MAX_DETAIL_CHARS = 200


class OpenAIEndpoint:
    """One model at one OpenAI-compatible base URL, through the ``openai`` client.

    :param model: the name of the model at the server.
    :param base_url: up to and including ``/v1``, or the corresponding path of the server.
    :param api_key: sent as bearer token; the variable ``OPENAI_API_KEY`` where None; never shown.
    :param timeout_s: an attempt without an answer after so many seconds counts as failed.
    :raises MissingExtraError: without the extra ``llm``.
    """

    def __init__(
        self, model: str, *, base_url: str, api_key: str | None, timeout_s: float, policy: RetryPolicy
    ) -> None:
        if not model:
            raise InvalidArgumentError("the name of the model is empty", subject="model", remedy="Name a model")
        if not timeout_s > 0:
            raise InvalidArgumentError(
                f"a timeout of {timeout_s} s is too short", subject="timeout_s", remedy="Use more than 0"
            )
        check_http_url(base_url, subject="base_url")
        try:
            import openai
        except ImportError as error:
            raise MissingExtraError("OpenAI-compatible endpoints", extra="llm") from error
        self._openai = openai
        self._key = api_key or os.environ.get(KEY_VARIABLE) or NO_KEY
        self._policy = policy
        self.model = model
        self.address = redacted_url(base_url).rstrip("/")
        self.name = f"openai:{model}@{self.address}"
        # The retries are those of our policy, not of the client.
        self.client = openai.OpenAI(
            api_key=self._key,
            base_url=base_url,
            timeout=timeout_s,
            max_retries=0,
            default_headers=IDENTITY,
            http_client=bound_answers(openai.DefaultHttpxClient(follow_redirects=False), self.address, timeout_s),
        )

    def __repr__(self) -> str:
        return f"OpenAIEndpoint({self.name!r})"

    def call(self, attempt: Callable[[], T]) -> T:
        """Run one call of the client under the retry policy.

        :raises ModelError: when the endpoint is unavailable or slow, rejects the call, or its answer is invalid.
        """
        return call_with_retries(lambda: self._attempt(attempt), policy=self._policy, subject=self.address)

    def invalid_answer(self, problem: str) -> ModelError:
        """The error for an answer that cannot be used."""
        return ModelError(
            problem,
            subject=self.address,
            remedy=f"Check that the endpoint serves {self.model!r} with the OpenAI protocol",
        )

    def _attempt(self, attempt: Callable[[], T]) -> T:
        # `from None`: the errors of the client may contain headers, keys or addresses with passwords.
        try:
            return attempt()
        except self._openai.APITimeoutError:
            raise TransientFailure("the endpoint did not answer in time") from None
        except self._openai.APIConnectionError as error:
            if isinstance(error.__cause__, ModelError | TransientFailure):
                raise error.__cause__ from None
            raise TransientFailure("the endpoint cannot be reached, or closed the connection") from None
        except self._openai.APIStatusError as error:
            raise self._status_error(error) from None
        except (self._openai.OpenAIError, ValueError, TypeError, AttributeError, RecursionError):
            raise self.invalid_answer("the endpoint's answer does not follow the OpenAI protocol") from None

    def _status_error(self, error: Any) -> Exception:
        problem = f"the endpoint answered HTTP {error.status_code}"
        if error.status_code in TRANSIENT_STATUSES:
            after = parse_retry_after(error.response.headers.get("retry-after"))
            return TransientFailure(problem, retry_after_s=after)
        if error.status_code in {401, 403}:
            remedy = f"Give a key that may call {self.model!r}: export {KEY_VARIABLE}=KEY"
            return ModelError(problem, subject=self.address, remedy=remedy)
        detail = self._detail(error)
        return self.invalid_answer(f"{problem}: {detail}" if detail else problem)

    def _detail(self, error: Any) -> str:
        body = error.body if isinstance(error.body, dict) else {}
        message = body.get("message")
        if not isinstance(message, str):
            return ""
        return " ".join(message.replace(self._key, "***").split())[:MAX_DETAIL_CHARS].rstrip(".")


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


PROBE = "dimensions"


class OpenAIEncoder:
    """Any model behind ``/embeddings``; needs the extra ``llm``.

    The last bits of a row may depend on the other texts of a call: that is up to the server.

    :param model: the name of the model at the server.
    :param base_url: up to and including ``/v1``.
    :param api_key: the variable ``OPENAI_API_KEY`` where None; never shown.
    :param dimensions: the width of a row; taken from the first answer where None.
    :param batch_size: texts in one call.
    :param max_chars: a text is cut to this length.
    :param timeout_s: an attempt without an answer after so many seconds counts as failed.
    :raises MissingExtraError: without the extra ``llm``.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str | None = None,
        dimensions: int | None = None,
        batch_size: int = 64,
        max_chars: int = 16_000,
        timeout_s: float = 60.0,
        policy: RetryPolicy | None = None,
    ) -> None:
        for field, value in (("dimensions", dimensions), ("batch_size", batch_size), ("max_chars", max_chars)):
            if value is not None and value < 1:
                raise InvalidArgumentError(f"{value} is too small", subject=field, remedy="Use 1 or more")
        self._endpoint = OpenAIEndpoint(
            model, base_url=base_url, api_key=api_key, timeout_s=timeout_s, policy=policy or RetryPolicy()
        )
        self._dimensions = dimensions
        self._batch_size = batch_size
        self._max_chars = max_chars
        self._lock = Lock()

    digest = ""
    """The weights behind an endpoint are not known."""

    @property
    def name(self) -> str:
        """``openai:MODEL@BASE_URL``, the address without credentials."""
        return self._endpoint.name

    @property
    def dimensions(self) -> int:
        """The width of a row; calls the endpoint once where it is not known."""
        with self._lock:
            if self._dimensions is None:
                self._dimensions = len(self._ask([PROBE])[0])
            return self._dimensions

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts, equal ones once; see :class:`inference.encoder.Encoder`."""
        dimensions = self.dimensions
        prepared = [text.strip()[: self._max_chars].encode("utf-8", "replace").decode("utf-8") for text in texts]
        unique = list(dict.fromkeys(text for text in prepared if has_content(text)))
        rows: dict[str, list[float]] = {}
        for start in range(0, len(unique), self._batch_size):
            batch = unique[start : start + self._batch_size]
            rows.update(zip(batch, self._ask(batch), strict=True))
        vectors = np.zeros((len(prepared), dimensions), dtype=np.float64)
        for index, text in enumerate(prepared):
            if text in rows:
                self._check_width(rows[text], dimensions)
                vectors[index] = rows[text]
        return unit_rows(vectors, subject=self._endpoint.address)

    def _ask(self, batch: list[str]) -> list[list[float]]:
        """The vectors of one batch, in its order."""

        def attempt() -> Any:
            client = self._endpoint.client
            return client.embeddings.create(model=self._endpoint.model, input=batch, encoding_format="float")

        answer = self._endpoint.call(attempt)
        by_index = {item.index: item.embedding for item in _items(answer)}
        if sorted(by_index) != list(range(len(batch))):
            raise self._endpoint.invalid_answer(f"the answer does not have one vector for each of {len(batch)} texts")
        rows = [by_index[index] for index in range(len(batch))]
        if not all(isinstance(row, list) and row and all(map(_is_number, row)) for row in rows):
            raise self._endpoint.invalid_answer("the answer has a vector that is not a list of numbers")
        return rows

    def _check_width(self, row: list[float], dimensions: int) -> None:
        if len(row) != dimensions:
            raise self._endpoint.invalid_answer(f"the answer has a vector of {len(row)} dimensions, not {dimensions}")


def _items(answer: Any) -> list[Any]:
    data = getattr(answer, "data", None)
    if not isinstance(data, list):
        return []
    valid = (isinstance(getattr(item, "index", None), int) and hasattr(item, "embedding") for item in data)
    return data if all(valid) else []


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
