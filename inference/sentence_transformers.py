"""A sentence-transformers model, by name or folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from inference.encoder import Floats2d, has_content, sendable, unit_rows
from ontology.errors import MissingExtraError, ModelError

MAX_CHARS = 32_768


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
        prepared = [sendable(text.strip()[:MAX_CHARS]) for text in texts]
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
