"""Encoders behind OpenAI-compatible ``/embeddings`` endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from inference.arrays import Floats2d, unit_rows
from inference.encoder import has_content
from inference.openai_client import OpenAIEndpoint
from inference.retry import RetryPolicy
from ontology.errors import InvalidArgumentError

__all__ = ["OpenAIEncoder"]

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
