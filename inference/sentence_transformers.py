"""A sentence-transformers model, by name or folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from inference.encoder import Floats2d, check_at_least_1, has_content, sendable, unit_rows
from ontology.errors import MissingExtraError, ModelError

MAX_CHARS = 32_768


class SentenceTransformersEncoder:
    """A sentence-transformers model in torch; needs the extra ``torch``.

    :param model: a folder, or a name that the library resolves.
    :param device: device name of torch; the library chooses where None.
    :param batch_size: texts in one forward pass. With 1, the row of a text does not depend on the other texts. More is
        faster on an accelerator and may change the last bits.
    :raises MissingExtraError: without the extra ``torch``.
    :raises ModelError: when the model cannot be loaded.
    """

    def __init__(self, model: str, *, device: str | None = None, batch_size: int = 1) -> None:
        check_at_least_1(batch_size=batch_size)
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtraError("sentence-transformers models", extra="torch") from error
        try:
            self._model: Any = SentenceTransformer(model, device=device)
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise ModelError(
                "this sentence-transformers model cannot be loaded",
                subject=model,
                remedy="Name the folder of a saved model, or a model that this machine can download",
            ) from error
        self._model.eval()
        self._batch_size = batch_size
        # A later release of the library renamed the method; both releases are in use.
        new_name = getattr(self._model, "get_embedding_dimension", None)
        width = (new_name or self._model.get_sentence_embedding_dimension)()
        self.dimensions = int(width if width is not None else np.shape(self._model.encode(["width"]))[1])
        self.name = f"sentence-transformers:{model}"

    digest = ""
    """The library gives no digest of the weights."""

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts, equal ones once; see :class:`inference.encoder.Encoder`."""
        prepared = [sendable(text.strip()[:MAX_CHARS]) for text in texts]
        unique = list(dict.fromkeys(text for text in prepared if has_content(text)))
        vectors = np.zeros((len(prepared), self.dimensions), dtype=np.float64)
        if unique:
            encoded = self._model.encode(
                unique, batch_size=self._batch_size, convert_to_numpy=True, show_progress_bar=False
            )
            rows = dict(zip(unique, encoded, strict=True))
            for index, text in enumerate(prepared):
                if text in rows:
                    vectors[index] = rows[text]
        return unit_rows(vectors, subject=self.name)
