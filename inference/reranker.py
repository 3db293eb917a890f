"""Rerankers: a cross-encoder in this process, and one behind an HTTP address."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inference.encoder import Floats1d, sendable
from inference.minilm import MAX_CHARS_PER_TOKEN
from inference.openai_client import ModelEndpoint
from inference.retry import RetryPolicy
from ontology.errors import MissingExtraError, ModelError

_MAX_TOKENS, _PAIRS_AT_ONCE = 512, 16  # of a cross-encoder
_DOCUMENTS_AT_ONCE, _MAX_CHARS = 32, 16_000  # of a call over HTTP


class CrossEncoderReranker:
    """A model that ``AutoModelForSequenceClassification`` loads; needs the extra ``torch``.

    With one label its logit is the score; with several the score is the last logit less the first.

    :param folder: holds configuration, weights and tokenizer; Python code in it is not run. A pair is cut to the limit of the model,
        at most 512 tokens.
    :raises MissingExtraError: without the extra ``torch``.
    :raises ModelError: when the folder cannot be loaded.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise MissingExtraError("transformers cross-encoders", extra="torch") from error
        self._torch: Any = torch
        self._folder = str(folder)
        try:
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(self._folder, local_files_only=True)
            loader: Any = transformers.AutoModelForSequenceClassification
            self._model: Any = loader.from_pretrained(self._folder, local_files_only=True).float().eval()
        except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
            remedy = "Name a folder with config.json, the weights and the tokenizer of a sequence classifier"
            raise ModelError("this cross-encoder cannot be loaded", subject=self._folder, remedy=remedy) from error
        config: Any = self._model.config
        positions = getattr(config, "max_position_embeddings", None) or _MAX_TOKENS
        self._max_tokens = min(_MAX_TOKENS, int(positions), int(self._tokenizer.model_max_length))
        if self._tokenizer.pad_token is None:  # decoder models have no padding token; batches need one
            self._tokenizer.pad_token = self._tokenizer.eos_token
        if getattr(config, "pad_token_id", None) is None:
            config.pad_token_id = self._tokenizer.pad_token_id
        self.name = f"cross-encoder:{self._folder}"

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        """Score documents; see :class:`inference.encoder.Reranker`."""
        limit = self._max_tokens * MAX_CHARS_PER_TOKEN
        asked, *prepared = (sendable(text.strip()[:limit]) for text in (query, *documents))
        bounds = {"padding": True, "truncation": True, "max_length": self._max_tokens}
        scores = np.zeros(len(prepared), dtype=np.float32)
        for start in range(0, len(prepared), _PAIRS_AT_ONCE):
            batch = prepared[start : start + _PAIRS_AT_ONCE]
            inputs = self._tokenizer([asked] * len(batch), batch, **bounds, return_tensors="pt")
            with self._torch.inference_mode():
                logits = self._model(**inputs).logits.numpy()
            column = logits[:, 0] if logits.shape[1] == 1 else logits[:, -1] - logits[:, 0]
            scores[start : start + len(batch)] = column
        if not np.isfinite(scores).all():
            problem, remedy = "the cross-encoder returned numbers that are not finite", "Check the weights of the model"
            raise ModelError(problem, subject=self._folder, remedy=remedy)
        return scores


_UNKNOWN_FIELD = frozenset({400, 415, 422})  # how servers answer a body with fields that they do not know
_LARGEST = 3.4e38  # a larger number is infinite as float32


class HttpReranker:
    """A reranker behind HTTP: one with Cohere's form (*documents*), else one with that of TEI (*texts*); the first call finds out.

    :param url: the whole address, such as ``http://127.0.0.1:8080/rerank``.
    :param model: the name of the model, for servers that require one.
    :param api_key: sent as bearer token; never shown.
    :param timeout_s: an attempt without a whole answer after so many seconds counts as failed.
    :param policy: retries of failed attempts.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        api_key: str = "",
        timeout_s: float = 30.0,
        policy: RetryPolicy | None = None,
    ) -> None:
        remedy = "Check that the endpoint is a reranker, and that it accepts this model and key"
        self._endpoint = ModelEndpoint(
            url, api_key=api_key, timeout_s=timeout_s, policy=policy or RetryPolicy(), remedy=remedy
        )
        self._model = model
        self._is_tei = False
        # The address without credentials.
        self.name = f"http:{model}@{self._endpoint.address}" if model else f"http:{self._endpoint.address}"

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        """Score documents; see :class:`inference.encoder.Reranker`."""
        asked, *prepared = (sendable(text[:_MAX_CHARS]) for text in (query, *documents))
        scores = np.zeros(len(prepared), dtype=np.float32)
        for start in range(0, len(prepared), _DOCUMENTS_AT_ONCE):
            batch = prepared[start : start + _DOCUMENTS_AT_ONCE]
            scores[start : start + len(batch)] = self._read(self._ask(asked, batch), len(batch))
        return scores

    def _ask(self, query: str, batch: list[str]) -> Any:
        if not self._is_tei:
            named = {"model": self._model} if self._model else {}
            try:
                return self._endpoint.post("", {**named, "query": query, "documents": batch})
            except ModelError as error:
                if error.status not in _UNKNOWN_FIELD:
                    raise
        answer = self._endpoint.post("", {"query": query, "texts": batch, "truncate": True})
        self._is_tei = True
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
