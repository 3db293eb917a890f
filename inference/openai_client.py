"""Models behind HTTP: one endpoint with bounded answers and retries; OpenAI-compatible chat and embeddings over it."""

from __future__ import annotations

import json
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import numpy as np

from egotools.calling.address_guard import IDENTITY, is_encoded
from inference.chat import GREEDY, Budget, Completion, Message, Sample
from inference.encoder import Floats2d, check_at_least_1, has_content, sendable, unit_rows
from inference.retry import TRANSIENT_STATUSES, RetryPolicy, TransientFailure, call_with_retries, parse_retry_after
from ontology.errors import InvalidArgumentError, MissingExtraError, ModelError
from ontology.redaction import redacted_url

if TYPE_CHECKING:
    import httpx


_Client = TypeVar("_Client", bound=Any)
MOST_ANSWER_BYTES = 32 * 2**20
"""An answer with 64 vectors of 4,096 numbers has about 6 MB."""
BYTES_PER_TOKEN = 3
"""English has about four bytes in a token; with three, more is reserved than most calls use."""
_TOKENS_PER_MESSAGE = 8
_TEXTS_AT_ONCE, _MAX_CHARS = 64, 16_000  # of a call for embeddings
_MOST_TOKENS = 10**9  # of one call that a server may claim; a larger number is no count
_KEY_VARIABLE = "OPENAI_API_KEY"
_NO_KEY = "none"  # the library requires one; servers on a private network often need none
_MAX_DETAIL_CHARS = 200
_WRITE_BYTES = 16 * 2**10
"""The library's timeout begins again with each part of a write that the endpoint takes: so the parts are small."""
_LATE = "Look at the model's server, or raise model_wait_s"
_UNBOUNDED = "Check the address; an endpoint of models answers with a few megabytes at most, and not compressed"


class ModelEndpoint:
    """One HTTP address of a model. Thread-safe; answers of any server are bounded in bytes and in time.

    :param url: the address; ``path`` of a call is added to its path.
    :param api_key: sent as bearer token; never shown.
    :param timeout_s: an attempt without a whole answer after so many seconds counts as failed.
    :param policy: retries of failed attempts.
    :param remedy: what to do about an answer that cannot be used.
    """

    def __init__(self, url: str, *, api_key: str, timeout_s: float, policy: RetryPolicy, remedy: str) -> None:
        if not timeout_s > 0:
            problem = f"a timeout of {timeout_s} s is too short"
            raise InvalidArgumentError(problem, subject="timeout_s", remedy="Use more than 0")
        if not (api_key.isascii() and api_key.isprintable()):
            problem, remedy = "the key has a character that no header can have", "Give the key as it was issued"
            raise InvalidArgumentError(problem, subject="api_key", remedy=remedy)
        import httpx  # here, so that importing this package stays cheap

        self._httpx = httpx
        self._url = httpx.URL(check_http_url(url, subject="base_url"))
        self._key = api_key
        self._timeout_s = timeout_s
        self._policy = policy
        self._remedy = remedy
        self._paused_until = 0.0
        self.address = redacted_url(url).rstrip("/")
        self._bounds = _Bounds(self.address)
        headers = IDENTITY | {"Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = self._bounded(httpx.Client(timeout=timeout_s, headers=headers))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send JSON, and return the JSON of the answer.

        :raises ModelError: when the endpoint is unavailable or slow, refuses (with its status), or its answer is unbounded or no JSON.
        """
        url = self._url.copy_with(path=self._url.path.rstrip("/") + path) if path else self._url
        content = json.dumps(body).encode()
        return self._call(lambda: self._attempt(url, content))

    def _call(self, attempt: Callable[[], Any]) -> Any:
        started, pause_s = time.monotonic(), self._policy.pause_s
        if started < self._paused_until:
            raise ModelError("it has not answered an earlier request in time", subject=self.address, remedy=_LATE)
        try:
            return call_with_retries(attempt, policy=self._policy, subject=self.address)
        except ModelError:
            failed = time.monotonic()
            if failed - started >= pause_s > 0:
                self._paused_until = failed + pause_s
            raise

    def invalid_answer(self, problem: str) -> ModelError:
        """The error for an answer that cannot be used."""
        return ModelError(problem, subject=self.address, remedy=self._remedy)

    def _bounded(self, client: _Client) -> _Client:
        """A new client of httpx or httpx2 with the bounds below it; it is closed with this endpoint."""
        # The libraries take no backend of the network without giving up the proxies of the environment.
        for transport in (client._transport, *client._mounts.values()):
            pool = getattr(transport, "_pool", None)
            if pool is not None:
                pool._network_backend = _Backend(pool._network_backend, self._bounds)
        weakref.finalize(self, client.close)
        return client

    def _refuse_encoded(self, headers: Any) -> None:
        if is_encoded(headers):  # a few kilobytes may unpack to gigabytes
            raise ModelError("the endpoint's answer is compressed", subject=self.address, remedy=_UNBOUNDED)

    def _attempt(self, url: httpx.URL, content: bytes) -> Any:
        self._bounds.begin(self._timeout_s)
        # `from None`: the errors of the client contain the whole request with its headers.
        try:
            with self._client.stream("POST", url, content=content) as response:
                self._refuse_encoded(response.headers)
                answer = response.read()
        except self._httpx.TimeoutException:
            raise TransientFailure("the endpoint did not answer in time") from None
        except self._httpx.TransportError:
            raise TransientFailure("the endpoint cannot be reached, or closed the connection") from None
        except self._httpx.HTTPError:
            raise self.invalid_answer("the endpoint's answer is not valid HTTP") from None
        try:
            value = json.loads(answer)
        except (ValueError, RecursionError):  # RecursionError: nested too deeply
            value = None
        if response.status_code != 200:
            raise self._refused(response.status_code, response.headers, value)
        if value is None:
            raise self.invalid_answer("the endpoint's answer is not JSON")
        return value

    def _refused(self, status: int, headers: Any, value: Any) -> Exception:
        """The error for an answer with another status than 200, and this JSON."""
        problem, remedy = f"the endpoint answered HTTP {status}", self._remedy
        if status in TRANSIENT_STATUSES:
            return TransientFailure(problem, retry_after_s=parse_retry_after(headers.get("retry-after")))
        detail = _at(value, "error", "message") or _at(value, "message")
        if status in (401, 403):
            remedy = f"Give a key that may call this model: export {_KEY_VARIABLE}=KEY"
        elif isinstance(detail, str):
            told = detail.replace(self._key, "***") if self._key else detail
            shown = "".join(each if each.isprintable() else " " for each in told)  # no controls of a terminal
            problem = f"{problem}: {' '.join(shown.split())[:_MAX_DETAIL_CHARS].rstrip('.')}"
        error = ModelError(problem, subject=self.address, remedy=remedy)
        error.status = status
        return error


class _Bounds(threading.local):
    """What is left to the request that this thread makes. The library's own timeout begins again with each byte, be it
    of a head, of an interim answer or of a chunk's extension: so the bounds lie below it, at the connection."""

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
            raise ModelError(problem, subject=self._address, remedy=_UNBOUNDED)
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
        self.close = stream.close
        self.get_extra_info = stream.get_extra_info

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._bounds.count(self._stream.read(max_bytes, self._bounds.seconds()))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _WRITE_BYTES):
            self._stream.write(buffer[start : start + _WRITE_BYTES], self._bounds.seconds())

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, self._bounds.seconds()), self._bounds)


def _at(value: Any, *steps: str | int) -> Any:
    """What stands in JSON under these keys and places; None where something else does."""
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


class OpenAIEndpoint(ModelEndpoint):
    """One model at one OpenAI-compatible base URL, through the library of OpenAI within the bounds of an endpoint.

    :param model: the name of the model at the server.
    :param base_url: up to and including ``/v1``, or the corresponding path of the server.
    :param api_key: the variable ``OPENAI_API_KEY`` where None or empty.
    :raises MissingExtraError: without the extra ``llm``.
    """

    def __init__(
        self, model: str, *, base_url: str, api_key: str | None, timeout_s: float, policy: RetryPolicy | None
    ) -> None:
        if not model:
            raise InvalidArgumentError("the name of the model is empty", subject="model", remedy="Name a model")
        super().__init__(
            base_url,
            api_key=api_key or os.environ.get(_KEY_VARIABLE, ""),
            timeout_s=timeout_s,
            policy=policy or RetryPolicy(),
            remedy=f"Check that the endpoint serves {model!r} with the OpenAI protocol",
        )
        try:
            import openai
        except ImportError as error:
            raise MissingExtraError("OpenAI-compatible endpoints", extra="llm") from error
        self._openai = openai
        self.model = model
        self.name = f"openai:{model}@{self.address}"
        client: Any = self._bounded(openai.DefaultHttpxClient(follow_redirects=False))
        client.event_hooks = {"response": [lambda response: self._refuse_encoded(response.headers)]}
        # The retries are those of our policy, not of the library.
        self._library = openai.OpenAI(
            api_key=self._key or _NO_KEY,
            base_url=base_url,
            timeout=timeout_s,
            max_retries=0,
            default_headers=IDENTITY,
            http_client=client,
        )

    def chat(self, **request: Any) -> Any:
        """The answer to a request of ``/chat/completions``, as JSON; see :func:`answer_text` and :func:`reported_usage`.

        :raises ModelError: as :meth:`post`.
        """
        return self.post("/chat/completions", {"model": self.model, **request})

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send JSON, and return the JSON of the answer; errors as of :meth:`ModelEndpoint.post`."""
        return self._call(lambda: self._send(path, body))

    def _send(self, path: str, body: Mapping[str, Any]) -> Any:
        self._bounds.begin(self._timeout_s)
        # `from None`: the errors of the library may contain headers, keys or addresses with passwords.
        try:
            return self._library.post(path, body=dict(body), cast_to=object)
        except self._openai.APITimeoutError:
            raise TransientFailure("the endpoint did not answer in time") from None
        except self._openai.APIConnectionError as error:
            if isinstance(error.__cause__, ModelError | TransientFailure):
                raise error.__cause__ from None
            raise TransientFailure("the endpoint cannot be reached, or closed the connection") from None
        except self._openai.APIStatusError as error:
            raise self._refused(error.status_code, error.response.headers, error.body) from None
        except (self._openai.OpenAIError, ValueError, TypeError, AttributeError, RecursionError):
            raise self.invalid_answer("the endpoint's answer is not JSON") from None


class ReportedUsage(NamedTuple):
    """Tokens that the server counted; None where it did not."""

    prompt_tokens: int | None
    completion_tokens: int | None


def reported_usage(answer: Any) -> ReportedUsage:
    """Return the tokens that an answer of the endpoint states."""
    counts = (_at(answer, "usage", name) for name in ReportedUsage._fields)
    return ReportedUsage(*(one if isinstance(one, int) and 0 <= one <= _MOST_TOKENS else None for one in counts))


def answer_text(answer: Any) -> str | None:
    """Return the text of an answer of the endpoint; None where it has none."""
    content = _at(answer, "choices", 0, "message", "content")
    return content if isinstance(content, str) else None


class OpenAIChat:
    """A chat model behind ``/chat/completions``: temperature 0 and a fixed seed, unless a sample is asked for.

    :param model: the name of the model at the server.
    :param base_url: up to and including ``/v1``.
    :param api_key: the variable ``OPENAI_API_KEY`` where None; never shown.
    :param max_tokens: the most tokens that one answer may have.
    :param seed: sent to the server, which may ignore it; that of a sample is added.
    :param timeout_s: an attempt without an answer after so many seconds counts as failed.
    :param policy: retries of failed attempts.
    :param budget: limit shared by all calls; none where None.
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
        check_at_least_1(max_tokens=max_tokens)
        self._endpoint = OpenAIEndpoint(model, base_url=base_url, api_key=api_key, timeout_s=timeout_s, policy=policy)
        self._max_tokens = max_tokens
        self._seed = seed
        self.name = self._endpoint.name
        self.budget = budget or Budget()

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
            remedy = "Pass at least one message"
            raise InvalidArgumentError("there is no message to answer", subject="messages", remedy=remedy)
        limit = self._max_tokens if max_tokens is None else max_tokens
        check_at_least_1(max_tokens=limit)
        request: dict[str, Any] = {
            "messages": [{"role": message.role, "content": sendable(message.content)} for message in messages],
            "temperature": sample.temperature or 0,
            "seed": self._seed + sample.seed,
            "max_tokens": limit,
        }
        texts = [message.content for message in messages]
        if schema is not None:
            described = {"name": schema_name, "schema": dict(schema), "strict": not _has_open_object(schema)}
            request["response_format"] = {"type": "json_schema", "json_schema": described}
            texts.append(json.dumps(schema))
        estimate = sum(_tokens_in(text) + _TOKENS_PER_MESSAGE for text in texts)
        self.budget.check(prompt_tokens=estimate, completion_tokens=limit)
        answer = self._endpoint.chat(**request)
        usage, text = reported_usage(answer), answer_text(answer)
        read = estimate if usage.prompt_tokens is None else usage.prompt_tokens
        written = _tokens_in(text or "") if usage.completion_tokens is None else usage.completion_tokens
        self.budget.add(prompt_tokens=read, completion_tokens=written)  # an unusable answer costs tokens too
        if not text:
            raise self._endpoint.invalid_answer("the answer has no text")
        truncated = _at(answer, "choices", 0, "finish_reason") == "length"
        return Completion(text=text, prompt_tokens=read, completion_tokens=written, truncated=truncated)


def _has_open_object(schema: Any) -> bool:
    """Whether a schema allows an object of any members, or one that may lack some: servers refuse to be strict about such a one."""
    if isinstance(schema, list):
        return any(map(_has_open_object, schema))
    if not isinstance(schema, Mapping):
        return False
    if schema.get("type") == "object" and set(schema.get("properties", ("any",))) - set(schema.get("required", ())):
        return True
    return any(map(_has_open_object, schema.values()))


def _tokens_in(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


class OpenAIEncoder:
    """Any model behind ``/embeddings``.

    The last bits of a row may depend on the other texts of a call: that is up to the server.

    :param model: the name of the model at the server.
    :param base_url: up to and including ``/v1``.
    :param api_key: the variable ``OPENAI_API_KEY`` where None; never shown.
    :param timeout_s: an attempt without an answer after so many seconds counts as failed.
    """

    digest = ""
    """The weights behind an endpoint are not known."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        policy: RetryPolicy | None = None,
    ) -> None:
        self._endpoint = OpenAIEndpoint(model, base_url=base_url, api_key=api_key, timeout_s=timeout_s, policy=policy)
        self._dimensions: int | None = None
        self._lock = threading.Lock()
        self.name = self._endpoint.name

    @property
    def dimensions(self) -> int:
        """The width of a row; calls the endpoint once where it is not known."""
        with self._lock:
            if self._dimensions is None:
                self._dimensions = len(self._ask(["dimensions"])[0])
            return self._dimensions

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts, equal ones once; see :class:`inference.encoder.Encoder`."""
        dimensions = self.dimensions
        prepared = [sendable(text.strip()[:_MAX_CHARS]) for text in texts]
        unique = list(dict.fromkeys(text for text in prepared if has_content(text)))
        rows: dict[str, list[float]] = {}
        for start in range(0, len(unique), _TEXTS_AT_ONCE):
            batch = unique[start : start + _TEXTS_AT_ONCE]
            rows.update(zip(batch, self._ask(batch), strict=True))
        wrong = next((len(row) for row in rows.values() if len(row) != dimensions), None)
        if wrong is not None:
            raise self._endpoint.invalid_answer(f"the answer has a vector of {wrong} dimensions, not {dimensions}")
        vectors = np.zeros((len(prepared), dimensions), dtype=np.float64)
        for index, text in enumerate(prepared):
            if text in rows:
                vectors[index] = rows[text]
        return unit_rows(vectors, subject=self._endpoint.address)

    def _ask(self, batch: list[str]) -> list[list[float]]:
        """The vectors of one batch, in its order."""
        request = {"model": self._endpoint.model, "input": batch, "encoding_format": "float"}
        data = _at(self._endpoint.post("/embeddings", request), "data")
        items = data if isinstance(data, list) else []
        by_index = {place: _at(item, "embedding") for item in items if isinstance(place := _at(item, "index"), int)}
        if sorted(by_index) != list(range(len(batch))) or len(items) != len(batch):
            raise self._endpoint.invalid_answer(f"the answer does not have one vector for each of {len(batch)} texts")
        rows = [by_index[index] for index in range(len(batch))]
        if not all(isinstance(row, list) and row and all(map(_is_number, row)) for row in rows):
            raise self._endpoint.invalid_answer("the answer has a vector that is not a list of numbers")
        return rows


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300  # NaN is not less


def check_http_url(url: str, *, subject: str) -> str:
    """Return an http or https URL unchanged.

    :param subject: the field or option that contains it, for the error.
    :raises InvalidArgumentError: when it is no http or https URL.
    """
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        remedy = "Use an address such as http://127.0.0.1:8080/v1"
        raise InvalidArgumentError("this is not an http or https address", subject=subject, remedy=remedy)
    return url
