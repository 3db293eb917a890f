"""The embedded reranker: our own small cross-encoder, fine-tuned from MiniLM, int8, in ONNX Runtime on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from inference.arrays import Floats1d
from inference.onnx_model import clean, load_session, load_tokenizer, read_card, read_checked

__all__ = ["MiniLmReranker"]

WEIGHTS = Path(__file__).resolve().parent / "weights" / "egotools-reranker-int8"
_LIMITS = ("query_tokens", "document_tokens")
_MAX_CHARS = 4_000  # a longer text is cut before it is tokenised, which takes time


class MiniLmReranker:
    """Scores a request and the text of a tool together, on one CPU thread. Trained on requests and the tools that they
    need.

    A higher score means that the request more probably needs the tool, also across requests. But ``1 / (1 +
    exp(-score))`` is overconfident: on catalogues outside the training data, two fifths of the candidates at 0.95 and
    above were needed. Each pair is scored alone and without padding, so a score does not depend on the other documents
    of a call. The best document is the title and the description of a tool, then its parameter names: text beyond the
    limit is cut. Of a request longer than the limit, the beginning and the end are scored, and the higher score counts.

    :param folder: holds ``model.onnx``, ``tokenizer.json`` and ``card.json``; the card has the limits, in tokens.
    :raises ModelError: when the weights are missing, or are not those of the card.
    """

    def __init__(self, folder: Path = WEIGHTS) -> None:
        card = read_card(folder, {"name", *_LIMITS})
        self._name = str(card["name"])
        self._query_tokens, self._document_tokens = (int(card[limit]) for limit in _LIMITS)
        self._tokenizer = load_tokenizer(read_checked(folder, "tokenizer.json", card), None)
        self._session = load_session(read_checked(folder, "model.onnx", card))
        self._start, self._end = self._tokenizer.encode("").ids

    @property
    def name(self) -> str:
        """``egotools-reranker-int8.v1``."""
        return self._name

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        """Score documents, equal ones once; see :class:`inference.reranker.Reranker`."""
        parts = [[self._start, *part, self._end] for part in self._parts(query)]
        prepared = [(*self._tokens(document)[: self._document_tokens], self._end) for document in documents]
        known = {tokens: max(self._score_one(part, tokens) for part in parts) for tokens in dict.fromkeys(prepared)}
        return np.array([known[tokens] for tokens in prepared], dtype=np.float32)

    def _parts(self, query: str) -> list[list[int]]:
        """The tokens of the request; where there are too many, those of its beginning and of its end."""
        tokens, limit = self._tokens(query), self._query_tokens
        return [tokens] if len(tokens) <= limit else [tokens[:limit], tokens[-limit:]]

    def _tokens(self, text: str) -> list[int]:
        tokens: list[int] = self._tokenizer.encode(clean(text, _MAX_CHARS), add_special_tokens=False).ids
        return tokens

    def _score_one(self, query: list[int], document: tuple[int, ...]) -> float:
        input_ids = np.array([[*query, *document]], dtype=np.int64)
        types = np.zeros_like(input_ids)
        types[:, len(query) :] = 1
        return float(self._session.run(["score"], {"input_ids": input_ids, "token_type_ids": types})[0][0])
