"""The embedded cross-encoder: a small BERT that reads a need together with the text of one tool, and says how well they fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from inference.encoder import Floats1d, sendable
from inference.minilm import MAX_CHARS_PER_TOKEN, load_session, load_tokenizer, read_card, read_checked

CROSS_ENCODER_WEIGHTS = Path(__file__).resolve().parent / "weights" / "egotools-cross-int8"


class EmbeddedCrossEncoder:
    """Six layers of MiniLM with one score, int8, one CPU thread. Thread-safe.

    A pair is read alone and without padding: its score does not depend on the other documents of a call.

    :param folder: holds ``model.onnx``, ``tokenizer.json`` and ``card.json``, whose ``query_tokens`` and ``document_tokens`` say where
        the texts are cut.
    :raises ModelError: when the weights are missing, or are not those of the card.
    """

    def __init__(self, folder: Path = CROSS_ENCODER_WEIGHTS) -> None:
        card = read_card(folder, {"name", "query_tokens", "document_tokens"})
        self.name = str(card["name"])
        self._query_tokens, self._document_tokens = int(card["query_tokens"]), int(card["document_tokens"])
        self._tokenizer = load_tokenizer(read_checked(folder, "tokenizer.json", card), None)
        self._start, self._end = (self._tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
        self._session = load_session(read_checked(folder, "model.onnx", card))

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        """Score documents; see :class:`inference.encoder.Reranker`."""
        asked = [self._start, *self._tokens(query, self._query_tokens), self._end]
        scores = np.zeros(len(documents), dtype=np.float32)
        for place, document in enumerate(documents):
            read = [*self._tokens(document, self._document_tokens), self._end]
            ids = np.array([asked + read], dtype=np.int64)
            given = {
                "input_ids": ids,
                "token_type_ids": np.array([[0] * len(asked) + [1] * len(read)], dtype=np.int64),
                "attention_mask": np.ones_like(ids),
            }
            scores[place] = self._session.run(["score"], given)[0][0]
        return scores

    def _tokens(self, text: str, most: int) -> list[int]:
        cut = sendable(text.strip()[: most * MAX_CHARS_PER_TOKEN])
        ids: list[int] = self._tokenizer.encode(cut, add_special_tokens=False).ids
        return ids[:most]
