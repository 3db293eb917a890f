"""Any HTTP ``/rerank`` endpoint, in the form of Cohere and Jina or of text-embeddings-inference."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from inference.arrays import Floats1d
from inference.retry import (
    TRANSIENT_STATUSES,
    RetryPolicy,
    TransientFailure,
    call_with_retries,
    parse_retry_after,
)
from ontology.errors import InvalidArgumentError, MissingExtraError, ModelError
from ontology.urls import check_http_url, redacted_url

__all__ = ["HttpReranker"]

OTHER_FORM_STATUSES = frozenset({400, 415, 422})
"""What servers say to a body whose fields they do not know."""
LARGEST_SCORE = 3.4e38
"""Beyond it float32 is infinite."""


class HttpReranker:
    """A reranker behind HTTP; needs the extra ``llm``.

    :param url: the whole address, such as ``http://127.0.0.1:8080/rerank``.
    :param model: the model's name, for servers that ask for one.
    :param api_key: sent as bearer token; never shown.
    :param form: ``cohere`` sends *documents*, ``tei`` sends *texts*, ``auto`` tries the first, then the second.
    :param batch_size: documents in one call.
    :param max_chars: where a text is cut.
    :param timeout_s: seconds without an answer after which an attempt counts as failed.
    :raises MissingExtraError: without the extra ``llm``.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        api_key: str | None = None,
        form: Literal["auto", "cohere", "tei"] = "auto",
        batch_size: int = 32,
        max_chars: int = 16_000,
        timeout_s: float = 30.0,
        policy: RetryPolicy | None = None,
    ) -> None:
        limits: dict[str, float] = {"batch_size": batch_size, "max_chars": max_chars, "timeout_s": timeout_s}
        for field, value in limits.items():
            if not value > 0:
                raise InvalidArgumentError(f"{value} makes no sense", subject=field, remedy="Give more than 0")
        self._url = check_http_url(url, subject="url")
        self._address = redacted_url(url).rstrip("/")
        try:
            import httpx
        except ImportError as error:
            raise MissingExtraError("HTTP rerankers", extra="llm") from error
        self._httpx = httpx
        self._model = model
        self._form: str = form
        self._batch_size = batch_size
        self._max_chars = max_chars
        self._policy = policy or RetryPolicy()
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.Client(timeout=timeout_s, headers=headers)
        weakref.finalize(self, self._client.close)

    @property
    def name(self) -> str:
        """``http:URL`` or ``http:MODEL@URL``, the address without credentials."""
        return f"http:{self._model}@{self._address}" if self._model else f"http:{self._address}"

    def __repr__(self) -> str:
        return f"HttpReranker({self.name!r})"

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        """Score documents; see :class:`inference.reranker.Reranker`."""
        asked = self._prepare(query)
        prepared = [self._prepare(document) for document in documents]
        scores = np.zeros(len(prepared), dtype=np.float32)
        for start in range(0, len(prepared), self._batch_size):
            batch = prepared[start : start + self._batch_size]
            answer = call_with_retries(
                lambda batch=batch: self._ask(asked, batch),  # type: ignore[misc]
                policy=self._policy,
                subject=self._address,
            )
            scores[start : start + len(batch)] = self._read(answer, len(batch))
        return scores

    def _prepare(self, text: str) -> str:
        return text[: self._max_chars].encode("utf-8", "replace").decode("utf-8")

    def _ask(self, query: str, batch: list[str]) -> Any:
        form = "cohere" if self._form == "auto" else self._form
        response = self._post(self._body(form, query, batch))
        if self._form == "auto" and response.status_code in OTHER_FORM_STATUSES:
            form = "tei"
            response = self._post(self._body(form, query, batch))
        self._check_status(response)
        self._form = form  # the server has shown which one it speaks
        try:
            return response.json()
        except ValueError:
            raise self._nonsense("the endpoint's answer is not JSON") from None

    def _body(self, form: str, query: str, batch: list[str]) -> dict[str, Any]:
        if form == "tei":
            return {"query": query, "texts": batch, "truncate": True}
        named = {"model": self._model} if self._model else {}
        return {**named, "query": query, "documents": batch}

    def _post(self, body: dict[str, Any]) -> Any:
        # The chain is cut on purpose: the client's errors carry the whole request, headers included.
        try:
            return self._client.post(self._url, json=body)
        except self._httpx.TimeoutException:
            raise TransientFailure("the endpoint did not answer in time") from None
        except self._httpx.TransportError:
            raise TransientFailure("the endpoint cannot be reached or broke off") from None
        except self._httpx.HTTPError:
            raise self._nonsense("the endpoint's answer is not HTTP that can be read") from None

    def _check_status(self, response: Any) -> None:
        if response.status_code == 200:
            return
        problem = f"the endpoint answered HTTP {response.status_code}"
        if response.status_code in TRANSIENT_STATUSES:
            after = parse_retry_after(response.headers.get("retry-after"))
            raise TransientFailure(problem, retry_after_s=after)
        raise self._nonsense(problem)

    def _read(self, answer: Any, count: int) -> list[float]:
        items = answer.get("results") if isinstance(answer, dict) else answer
        if not isinstance(items, list):
            raise self._nonsense("the endpoint's answer has no list of results")
        scores: dict[int, float] = {}
        for item in items:
            index, score = _index_and_score(item)
            if index is None or not 0 <= index < count or index in scores:
                raise self._nonsense("a result in the answer has no index of its own")
            if score is None:
                raise self._nonsense(f"result {index} in the answer has no finite score")
            scores[index] = score
        if len(scores) != count:
            raise self._nonsense(f"the answer scores {len(scores)} of {count} documents")
        return [scores[index] for index in range(count)]

    def _nonsense(self, problem: str) -> ModelError:
        return ModelError(
            problem, subject=self._address, remedy="Check that the endpoint is a reranker and takes this model and key"
        )


def _index_and_score(item: object) -> tuple[int | None, float | None]:
    if not isinstance(item, dict):
        return None, None
    index, score = item.get("index"), item.get("relevance_score", item.get("score"))
    if isinstance(index, bool) or not isinstance(index, int):
        index = None
    if isinstance(score, bool) or not isinstance(score, int | float):
        return index, None
    finite = math.isfinite(score) and abs(score) < LARGEST_SCORE
    return index, float(score) if finite else None
