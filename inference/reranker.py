"""Rerankers: a cross-encoder in this process, and one behind an HTTP address."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from inference.encoder import Floats1d, check_at_least_1, sendable
from inference.openai_client import ModelEndpoint
from inference.retry import RetryPolicy
from ontology.errors import MissingExtraError, ModelError

MAX_CHARS_PER_TOKEN = 32
_PROMPTED = {"LlamaBidirectionalForSequenceClassification"}  # take query and document as one prompt, not as a pair


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
        check_at_least_1(batch_size=batch_size, max_tokens=max_tokens)
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
        config: Any = self._model.config
        positions = getattr(config, "max_position_embeddings", None) or max_tokens
        self._max_tokens = min(max_tokens, int(positions), int(self._tokenizer.model_max_length))
        if self._tokenizer.pad_token is None:  # decoder models have no padding token; batches need one
            self._tokenizer.pad_token = self._tokenizer.eos_token
        if getattr(config, "pad_token_id", None) is None:
            config.pad_token_id = self._tokenizer.pad_token_id
        self._prompted = bool(set(getattr(config, "architectures", None) or ()) & _PROMPTED)
        self.name = f"cross-encoder:{self._folder}"

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        """Score documents; see :class:`inference.encoder.Reranker`."""
        limit = self._max_tokens * MAX_CHARS_PER_TOKEN
        asked, *prepared = (sendable(text.strip()[:limit]) for text in (query, *documents))
        scores = np.zeros(len(prepared), dtype=np.float32)
        for start in range(0, len(prepared), self._batch_size):
            batch = prepared[start : start + self._batch_size]
            scores[start : start + len(batch)] = self._score_batch(asked, batch)
        if not np.isfinite(scores).all():
            raise ModelError(
                "the cross-encoder returned numbers that are not finite",
                subject=self._folder,
                remedy="Check the weights of the model",
            )
        return scores

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


_UNKNOWN_FIELD = frozenset({400, 415, 422})  # how servers answer a body with fields that they do not know
_LARGEST = 3.4e38  # a larger number is infinite as float32


class HttpReranker:
    """A reranker behind HTTP.

    :param url: the whole address, such as ``http://127.0.0.1:8080/rerank``.
    :param model: the name of the model, for servers that require one.
    :param api_key: sent as bearer token; never shown.
    :param protocol: ``cohere`` sends *documents*, ``tei`` sends *texts*, ``auto`` tries the first, then the second.
    :param batch_size: documents in one call.
    :param max_chars: a text is cut to this length.
    :param timeout_s: an attempt without a whole answer after so many seconds counts as failed.
    :param policy: retries of failed attempts.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        api_key: str = "",
        protocol: Literal["auto", "cohere", "tei"] = "auto",
        batch_size: int = 32,
        max_chars: int = 16_000,
        timeout_s: float = 30.0,
        policy: RetryPolicy | None = None,
    ) -> None:
        check_at_least_1(batch_size=batch_size, max_chars=max_chars)
        remedy = "Check that the endpoint is a reranker, and that it accepts this model and key"
        self._endpoint = ModelEndpoint(
            url, api_key=api_key, timeout_s=timeout_s, policy=policy or RetryPolicy(), remedy=remedy
        )
        self._model = model
        self._protocol: str = protocol
        self._batch_size = batch_size
        self._max_chars = max_chars
        # The address without credentials.
        self.name = f"http:{model}@{self._endpoint.address}" if model else f"http:{self._endpoint.address}"

    def __repr__(self) -> str:
        return f"HttpReranker({self.name!r})"

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        """Score documents; see :class:`inference.encoder.Reranker`."""
        asked, *prepared = (sendable(text[: self._max_chars]) for text in (query, *documents))
        scores = np.zeros(len(prepared), dtype=np.float32)
        for start in range(0, len(prepared), self._batch_size):
            batch = prepared[start : start + self._batch_size]
            scores[start : start + len(batch)] = self._read(self._ask(asked, batch), len(batch))
        return scores

    def _ask(self, query: str, batch: list[str]) -> Any:
        named = {"model": self._model} if self._model else {}
        bodies: dict[str, dict[str, Any]] = {
            "cohere": {**named, "query": query, "documents": batch},
            "tei": {"query": query, "texts": batch, "truncate": True},
        }
        if self._protocol in bodies:
            return self._endpoint.post("", bodies[self._protocol])
        protocol = "cohere"
        try:
            answer = self._endpoint.post("", bodies[protocol])
        except ModelError as error:
            if error.status not in _UNKNOWN_FIELD:
                raise
            protocol = "tei"
            answer = self._endpoint.post("", bodies[protocol])
        self._protocol = protocol  # the server accepted it
        return answer

    def _read(self, answer: Any, count: int) -> list[float]:
        items = answer.get("results") if isinstance(answer, dict) else answer
        if not isinstance(items, list):
            raise self._endpoint.invalid_answer("the endpoint's answer has no list of results")
        scores: dict[int, float] = {}
        for item in items:
            result = item if isinstance(item, dict) else {}
            index, score = result.get("index"), result.get("relevance_score", result.get("score"))
            if type(index) is not int or not 0 <= index < count or index in scores:
                problem = "a result in the answer has no valid index, or one that another has"
                raise self._endpoint.invalid_answer(problem)
            if not isinstance(score, int | float) or isinstance(score, bool) or not abs(score) < _LARGEST:  # or NaN
                raise self._endpoint.invalid_answer(f"result {index} in the answer has no finite score")
            scores[index] = float(score)
        if len(scores) != count:
            raise self._endpoint.invalid_answer(f"the answer scores {len(scores)} of {count} documents")
        return [scores[index] for index in range(count)]
