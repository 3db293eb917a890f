"""The interfaces of sentence encoders and of rerankers, their arrays, and two encoders: by spelling, and of sentence-transformers."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ontology.errors import InvalidArgumentError, MissingExtraError, ModelError

Floats1d: TypeAlias = NDArray[np.float32]
"""One axis of float32."""

Floats2d: TypeAlias = NDArray[np.float32]
"""Two axes of float32; rows are texts, columns are dimensions."""


def unit_rows(rows: NDArray[np.floating], *, subject: str) -> Floats2d:
    """Scale each row to length 1; a row of zeros stays as it is.

    :param rows: shape [n, dimensions].
    :param subject: the model that made the rows, for the error.
    :raises ModelError: when a value is NaN or infinite.
    """
    wide = np.asarray(rows, dtype=np.float64)
    if not np.isfinite(wide).all():
        remedy = "Check the weights of the model, or choose another encoder"
        raise ModelError("the model returned numbers that are not finite", subject=subject, remedy=remedy)
    largest = np.abs(wide).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(wide, largest, out=np.zeros_like(wide), where=largest > 0)
    lengths = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    rows_of_one: Floats2d = np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0).astype(np.float32)
    return rows_of_one


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors whose dot product is their similarity.

    The row of a text depends on that text alone: not on the other texts of a call, their order or the number of
    workers.
    """

    @property
    def name(self) -> str:
        """The versioned name that snapshots and reports record, such as ``egotools-minilm-int8.v1``."""

    @property
    def dimensions(self) -> int:
        """The width of a row."""

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the weights; empty where they are not known, as behind an endpoint."""

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts.

        :returns: float32 [texts, dimensions]. Each row has length 1; the row of a text without content (empty or white
            space) is all zeros. Never NaN.
        :raises ModelError: when the model is unavailable or slow, when its weights were changed, or when its answer is
            invalid.
        """


def has_content(text: str) -> bool:
    """Whether a text has anything to encode."""
    return bool(text) and not text.isspace()


def check_at_least_1(**values: int | None) -> None:
    """Check options.

    :raises InvalidArgumentError: for the first that is below 1.
    """
    for name, value in values.items():
        if value is not None and value < 1:
            raise InvalidArgumentError(f"{value} is too small", subject=name, remedy="Use 1 or more")


def sendable(text: str) -> str:
    """Replace lone surrogates, which no server reads, by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


class WrappedEncoder:
    """The base of encoders that add something to the calls of another; they define ``encode``."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.name, self.digest = encoder.name, encoder.digest

    @property
    def dimensions(self) -> int:
        """The encoder's dimensions, which one behind an address may have to ask for."""
        return self._encoder.dimensions


_WORD = re.compile(r"[^\W_]+|[^\w\s]")
"""Words, split at underscores too; another character is a word of its own."""
_CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NGRAM = 3
_NGRAM_WEIGHT = 0.3
_MAX_CHARS = 8_192


class HashingEncoder:
    """Similarity of spelling in 256 dimensions, for tests and for installs without a model.

    Texts that share words or parts of words are similar. Meaning has no influence.
    """

    name = "hashing.v1"
    dimensions = 256
    digest = ""

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts; see :class:`inference.encoder.Encoder`."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float64)
        for row, text in zip(rows, texts, strict=True):
            for feature, weight in _features(text.lstrip()[:_MAX_CHARS]):
                # Unlike hash(), crc32 gives the same value in every run and on every machine.
                code = zlib.crc32(feature.encode("utf-8", "replace"))
                row[code % self.dimensions] += weight if code & 0x8000_0000 else -weight
        return unit_rows(rows, subject=self.name)


def _features(text: str) -> Iterator[tuple[str, float]]:
    words = _WORD.findall(_CAMEL_CASE_BOUNDARY.sub(" ", text).casefold()) or text.split()
    for word in words:
        yield f"w {word}", 1.0
        padded = f"<{word}>"
        for start in range(len(padded) - _NGRAM + 1):
            yield f"g {padded[start : start + _NGRAM]}", _NGRAM_WEIGHT


_MAX_SENTENCE_CHARS = 32_768


class SentenceTransformersEncoder:
    """A sentence-transformers model in torch; needs the extra ``torch``."""

    def __init__(self, model: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtraError("sentence-transformers models", extra="torch") from error
        try:
            self._model: Any = SentenceTransformer(model)
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            problem = "this sentence-transformers model cannot be loaded"
            remedy = "Name the folder of a saved model, or a model that this machine can download"
            raise ModelError(problem, subject=model, remedy=remedy) from error
        self._model.eval()
        # A later release of the library renamed the method; both releases are in use.
        new_name = getattr(self._model, "get_embedding_dimension", None)
        width = (new_name or self._model.get_sentence_embedding_dimension)()
        self.dimensions = int(width if width is not None else np.shape(self._model.encode(["width"]))[1])
        self.name = f"sentence-transformers:{model}"

    digest = ""  # the library gives no digest of the weights

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts, equal ones once; see :class:`inference.encoder.Encoder`."""
        prepared = [sendable(text.strip()[:_MAX_SENTENCE_CHARS]) for text in texts]
        unique = list(dict.fromkeys(text for text in prepared if has_content(text)))
        vectors = np.zeros((len(prepared), self.dimensions), dtype=np.float64)
        if unique:
            # One at a time: the row of a text does not depend on the others.
            encoded = self._model.encode(unique, batch_size=1, convert_to_numpy=True, show_progress_bar=False)
            rows = dict(zip(unique, encoded, strict=True))
            for index, text in enumerate(prepared):
                if text in rows:
                    vectors[index] = rows[text]
        return unit_rows(vectors, subject=self.name)


@runtime_checkable
class Reranker(Protocol):
    """Scores how well each document answers a query; the model gets both together."""

    @property
    def name(self) -> str:
        """The versioned name that reports record."""

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        """Score documents.

        :returns: float32 [documents], in their order. Higher is better. Scores are finite, of any range, and comparable
            within one call only.
        :raises ModelError: when the model is unavailable or slow, or its answer is invalid.
        """
