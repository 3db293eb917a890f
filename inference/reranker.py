"""Rerankers: a cross-encoder in this process, and one behind an HTTP address."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from inference.encoder import Floats1d
from inference.openai_client import IDENTITY, bound_answers
from inference.retry import TRANSIENT_STATUSES, RetryPolicy, TransientFailure, call_with_retries, parse_retry_after
from ontology.errors import InvalidArgumentError, MissingExtraError, ModelError
from ontology.hosts import check_http_url
from ontology.redaction import redacted_url

if TYPE_CHECKING:
    import httpx

__all__ = ["CrossEncoderReranker", "HttpReranker"]


MAX_CHARS_PER_TOKEN = 32
PROMPTED_ARCHITECTURES = ("LlamaBidirectionalForSequenceClassification",)
"""Models that take query and document as one prompt, not as a pair."""


class CrossEncoderReranker:
    """A model that ``AutoModelForSequenceClassification`` loads; needs the extra ``torch``.

    With one label its logit is the score; with several the score is the last logit less the first.

    :param folder: holds configuration, weights and tokenizer.
    :param batch_size: pairs in one forward pass.
    :param max_tokens: a pair is cut to this length, at most the limit of the model.
    :param device: device name of torch.
    :param trust_remote_code: run the Python code in the folder. Some models need it; it has all permissions of this
        process.
    :raises MissingExtraError: without the extra ``torch``.
    :raises ModelError: when the folder cannot be loaded.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        batch_size: int = 16,
        max_tokens: int = 512,
        device: str = "cpu",
        trust_remote_code: bool = False,
    ) -> None:
        for field, value in (("batch_size", batch_size), ("max_tokens", max_tokens)):
            if value < 1:
                raise InvalidArgumentError(f"{value} is too small", subject=field, remedy="Use 1 or more")
        try:
            import torch
            import transformers
        except ImportError as error:
            raise MissingExtraError("transformers cross-encoders", extra="torch") from error
        self._torch: Any = torch
        self._folder = str(folder)
        self._batch_size = batch_size
        options = {"trust_remote_code": trust_remote_code, "local_files_only": True}
        try:
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(self._folder, **options)
            loader: Any = transformers.AutoModelForSequenceClassification
            self._model: Any = loader.from_pretrained(self._folder, **options).to(device).float().eval()
        except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
            raise ModelError(
                "this cross-encoder cannot be loaded",
                subject=self._folder,
                remedy="Name a folder with config.json, the weights and the tokenizer of a sequence classifier",
            ) from error
        self._max_tokens = _longest(self._model, self._tokenizer, max_tokens)
        _ensure_padding(self._model, self._tokenizer)
        architectures = getattr(self._model.config, "architectures", None) or []
        self._prompted = any(name in PROMPTED_ARCHITECTURES for name in architectures)

    @property
    def name(self) -> str:
        """``cross-encoder:`` and the folder."""
        return f"cross-encoder:{self._folder}"

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        """Score documents; see :class:`inference.reranker.Reranker`."""
        prepared_query = self._prepare(query)
        prepared = [self._prepare(document) for document in documents]
        scores = np.zeros(len(prepared), dtype=np.float32)
        for start in range(0, len(prepared), self._batch_size):
            batch = prepared[start : start + self._batch_size]
            scores[start : start + len(batch)] = self._score_batch(prepared_query, batch)
        if not np.isfinite(scores).all():
            raise ModelError(
                "the cross-encoder returned numbers that are not finite",
                subject=self._folder,
                remedy="Check the weights of the model",
            )
        return scores

    def _prepare(self, text: str) -> str:
        return text.strip()[: self._max_tokens * MAX_CHARS_PER_TOKEN].encode("utf-8", "replace").decode("utf-8")

    def _score_batch(self, query: str, batch: list[str]) -> Floats1d:
        texts: tuple[list[str], ...] = ([query] * len(batch), batch)
        if self._prompted:
            texts = ([f"question:{query} \n \n passage:{document}" for document in batch],)
        inputs = self._tokenizer(
            *texts, padding=True, truncation=True, max_length=self._max_tokens, return_tensors="pt"
        )
        with self._torch.inference_mode():
            logits = self._model(**inputs.to(self._model.device)).logits.float().cpu().numpy()
        column: Floats1d = logits[:, 0] if logits.shape[1] == 1 else logits[:, -1] - logits[:, 0]
        return column


def _longest(model: Any, tokenizer: Any, wanted: int) -> int:
    positions = getattr(model.config, "max_position_embeddings", None) or wanted
    return min(wanted, int(positions), int(tokenizer.model_max_length))


def _ensure_padding(model: Any, tokenizer: Any) -> None:
    """Decoder models have no padding token; batches need one."""
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if getattr(model.config, "pad_token_id", None) is None:
        model.config.pad_token_id = tokenizer.pad_token_id


UNKNOWN_FIELD_STATUSES = frozenset({400, 415, 422})
"""How servers answer a body with fields that they do not know."""
LARGEST_SCORE = 3.4e38
"""A larger number is infinite as float32."""


class HttpReranker:
    """A reranker behind HTTP.

    :param url: the whole address, such as ``http://127.0.0.1:8080/rerank``.
    :param model: the name of the model, for servers that require one.
    :param api_key: sent as bearer token; never shown.
    :param protocol: ``cohere`` sends *documents*, ``tei`` sends *texts*, ``auto`` tries the first, then the second.
    :param batch_size: documents in one call.
    :param max_chars: a text is cut to this length.
    :param timeout_s: an attempt without an answer after so many seconds counts as failed; so does an answer that takes longer.
    :param policy: retries of failed attempts.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        api_key: str | None = None,
        protocol: Literal["auto", "cohere", "tei"] = "auto",
        batch_size: int = 32,
        max_chars: int = 16_000,
        timeout_s: float = 30.0,
        policy: RetryPolicy | None = None,
    ) -> None:
        limits: dict[str, float] = {"batch_size": batch_size, "max_chars": max_chars, "timeout_s": timeout_s}
        for field, value in limits.items():
            if not value > 0:
                raise InvalidArgumentError(f"{value} is too small", subject=field, remedy="Use more than 0")
        self._url = check_http_url(url, subject="url")
        self._address = redacted_url(url).rstrip("/")
        import httpx  # here, so that importing this package stays cheap

        self._model = model
        self._protocol: str = protocol
        self._batch_size = batch_size
        self._max_chars = max_chars
        self._policy = policy or RetryPolicy()
        headers = IDENTITY | ({"Authorization": f"Bearer {api_key}"} if api_key else {})
        self._client = bound_answers(httpx.Client(timeout=timeout_s, headers=headers), self._address, timeout_s)
        weakref.finalize(self, self._client.close)

    @property
    def name(self) -> str:
        """``http:URL`` or ``http:MODEL@URL``, the address without credentials."""
        return f"http:{self._model}@{self._address}" if self._model else f"http:{self._address}"

    def __repr__(self) -> str:
        return f"HttpReranker({self.name!r})"

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        """Score documents; see :class:`inference.reranker.Reranker`."""
        prepared_query = self._prepare(query)
        prepared = [self._prepare(document) for document in documents]
        scores = np.zeros(len(prepared), dtype=np.float32)
        for start in range(0, len(prepared), self._batch_size):
            batch = prepared[start : start + self._batch_size]
            answer = call_with_retries(
                lambda batch=batch: self._call(prepared_query, batch),  # type: ignore[misc]
                policy=self._policy,
                subject=self._address,
            )
            scores[start : start + len(batch)] = self._read(answer, len(batch))
        return scores

    def _prepare(self, text: str) -> str:
        return text[: self._max_chars].encode("utf-8", "replace").decode("utf-8")

    def _call(self, query: str, batch: list[str]) -> Any:
        protocol = "cohere" if self._protocol == "auto" else self._protocol
        response = self._post(self._body(protocol, query, batch))
        if self._protocol == "auto" and response.status_code in UNKNOWN_FIELD_STATUSES:
            protocol = "tei"
            response = self._post(self._body(protocol, query, batch))
        self._check_status(response)
        self._protocol = protocol  # the server accepted it
        try:
            return response.json()
        except (ValueError, RecursionError):  # RecursionError: nested too deeply
            raise self._invalid_answer("the endpoint's answer is not JSON") from None

    def _body(self, protocol: str, query: str, batch: list[str]) -> dict[str, Any]:
        if protocol == "tei":
            return {"query": query, "texts": batch, "truncate": True}
        named = {"model": self._model} if self._model else {}
        return {**named, "query": query, "documents": batch}

    def _post(self, body: dict[str, Any]) -> httpx.Response:
        import httpx

        # `from None`: the errors of the client contain the whole request with its headers.
        try:
            return self._client.post(self._url, json=body)
        except httpx.TimeoutException:
            raise TransientFailure("the endpoint did not answer in time") from None
        except httpx.TransportError:
            raise TransientFailure("the endpoint cannot be reached, or closed the connection") from None
        except httpx.HTTPError:
            raise self._invalid_answer("the endpoint's answer is not valid HTTP") from None

    def _check_status(self, response: httpx.Response) -> None:
        if response.status_code == 200:
            return
        problem = f"the endpoint answered HTTP {response.status_code}"
        if response.status_code in TRANSIENT_STATUSES:
            after = parse_retry_after(response.headers.get("retry-after"))
            raise TransientFailure(problem, retry_after_s=after)
        raise self._invalid_answer(problem)

    def _read(self, answer: Any, count: int) -> list[float]:
        items = answer.get("results") if isinstance(answer, dict) else answer
        if not isinstance(items, list):
            raise self._invalid_answer("the endpoint's answer has no list of results")
        scores: dict[int, float] = {}
        for item in items:
            result = _read_result(item)
            if result.index is None or not 0 <= result.index < count or result.index in scores:
                raise self._invalid_answer("a result in the answer has no valid index, or one that another has")
            if result.score is None:
                raise self._invalid_answer(f"result {result.index} in the answer has no finite score")
            scores[result.index] = result.score
        if len(scores) != count:
            raise self._invalid_answer(f"the answer scores {len(scores)} of {count} documents")
        return [scores[index] for index in range(count)]

    def _invalid_answer(self, problem: str) -> ModelError:
        return ModelError(
            problem,
            subject=self._address,
            remedy="Check that the endpoint is a reranker, and that it accepts this model and key",
        )


@dataclass(frozen=True, slots=True)
class _Result:
    """The index of a document and its score; None for one that is missing or invalid."""

    index: int | None = None
    score: float | None = None


def _read_result(item: object) -> _Result:
    if not isinstance(item, dict):
        return _Result()
    index, score = item.get("index"), item.get("relevance_score", item.get("score"))
    if isinstance(index, bool) or not isinstance(index, int):
        index = None
    if isinstance(score, bool) or not isinstance(score, int | float):
        return _Result(index)
    return _Result(index, float(score) if abs(score) < LARGEST_SCORE else None)  # NaN is not less
