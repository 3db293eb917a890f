"""A transformers cross-encoder, loaded from a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inference.arrays import Floats1d
from ontology.errors import InvalidArgumentError, MissingExtraError, ModelError

__all__ = ["CrossEncoderReranker"]

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
