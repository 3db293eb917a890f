"""The embedded encoder: all-MiniLM-L6-v2, quantised to int8, in ONNX Runtime on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from inference.arrays import Floats1d, Floats2d
from inference.clause_vectors import Span, pooled
from inference.encoder import has_content
from inference.onnx_model import (
    MAX_CHARS_PER_TOKEN,
    clean,
    load_session,
    load_tokenizer,
    read_card,
    read_checked,
    with_output,
)
from ontology.errors import InvalidArgumentError

__all__ = ["MiniLmEncoder"]

WEIGHTS = Path(__file__).resolve().parent / "weights" / "minilm-l6-v2-int8"
SPECIAL_TOKENS = 2
"""[CLS] and [SEP] enclose every text; a text without a third token has no content."""


class MiniLmEncoder:
    """all-MiniLM-L6-v2, 384 dimensions, one CPU thread for each worker.

    Each text is encoded alone and without padding. In a batch, the last bits of a row may depend on the other texts,
    and a snapshot must not depend on what else was encoded. Use more workers for throughput.

    :param folder: holds ``model.onnx``, ``tokenizer.json`` and ``card.json``.
    :param workers: threads that encode in one call, at least 1.
    :param max_tokens: a text is cut to this length, 3 to 256 with the two special tokens.
    :raises ModelError: when the weights are missing, or are not those of the card.
    """

    def __init__(self, folder: Path = WEIGHTS, *, workers: int = 1, max_tokens: int = 256) -> None:
        card = read_card(folder, {"name", "dimensions", "max_tokens", "token_output"})
        if workers < 1:
            raise InvalidArgumentError(f"{workers} is too few workers", subject="workers", remedy="Use 1 or more")
        if not SPECIAL_TOKENS < max_tokens <= card["max_tokens"]:
            raise InvalidArgumentError(
                f"{max_tokens} tokens is not a length that this model accepts",
                subject="max_tokens",
                remedy=f"Use {SPECIAL_TOKENS + 1} to {card['max_tokens']}",
            )
        self._name = str(card["name"]) if max_tokens == card["max_tokens"] else f"{card['name']}@{max_tokens}"
        self._dimensions = int(card["dimensions"])
        self._workers = workers
        self._max_chars = max_tokens * MAX_CHARS_PER_TOKEN
        self._tokenizer = load_tokenizer(read_checked(folder, "tokenizer.json", card), max_tokens)
        self._token_output = str(card["token_output"])
        self._session = load_session(with_output(read_checked(folder, "model.onnx", card), self._token_output))
        self._digest = str(card["files"]["model.onnx"]["sha256"])  # checked above

    @property
    def name(self) -> str:
        """``minilm-l6-int8.v1``, with ``@TOKENS`` where texts are cut shorter than the model allows."""
        return self._name

    @property
    def dimensions(self) -> int:
        """384."""
        return self._dimensions

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the weights, checked when they were loaded."""
        return self._digest

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts, equal ones once; see :class:`inference.encoder.Encoder`."""
        prepared = [clean(text, self._max_chars) for text in texts]
        unique = list(dict.fromkeys(prepared))
        rows = dict(zip(unique, self._encode_all(unique), strict=True))
        vectors = np.zeros((len(prepared), self._dimensions), dtype=np.float32)
        for index, text in enumerate(prepared):
            vectors[index] = rows[text]
        return vectors

    def encode_spans(self, text: str, spans: Sequence[Span]) -> Floats2d:
        """Encode a text and parts of it in one pass; see :class:`inference.clause_vectors.SpanEncoder`.

        A part beyond the last token that the model reads is encoded by itself.
        """
        prepared = clean(text, self._max_chars)
        encoded = self._tokenizer.encode(prepared)
        if len(encoded.ids) <= SPECIAL_TOKENS:
            return self.encode([text, *(text[start:end] for start, end in spans)])
        whole_1D, tokens_1TD = self._run(encoded.ids, ["embedding", self._token_output])
        skipped = len(text) - len(text.lstrip())
        rows = pooled(tokens_1TD[0], encoded.offsets, [(start - skipped, end - skipped) for start, end in spans])
        unread = np.flatnonzero(~rows.any(axis=1))
        if len(unread):
            rows[unread] = self.encode([text[slice(*spans[place])] for place in map(int, unread)])
        return np.concatenate((whole_1D, rows))

    def _encode_all(self, texts: list[str]) -> list[Floats1d]:
        if self._workers == 1 or len(texts) < 2:
            return [self._encode_one(text) for text in texts]
        with ThreadPoolExecutor(min(self._workers, len(texts)), thread_name_prefix="encode") as pool:
            return list(pool.map(self._encode_one, texts))

    def _encode_one(self, text: str) -> Floats1d:
        ids = self._tokenizer.encode(text).ids if has_content(text) else ()
        if len(ids) <= SPECIAL_TOKENS:
            return np.zeros(self._dimensions, dtype=np.float32)
        row: Floats1d = self._run(ids, ["embedding"])[0][0]
        return row

    def _run(self, ids: Sequence[int], outputs: list[str]) -> list[Any]:
        input_ids = np.array([ids], dtype=np.int64)
        found: list[Any] = self._session.run(
            outputs, {"input_ids": input_ids, "attention_mask": np.ones_like(input_ids)}
        )
        return found
