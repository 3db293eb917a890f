"""The embedded encoder: all-MiniLM-L6-v2, quantised to int8, in ONNX Runtime on the CPU."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable
from weakref import WeakValueDictionary

import numpy as np

from inference.encoder import Encoder, Floats1d, Floats2d, check_at_least_1, has_content, sendable
from ontology.errors import ModelError

Span: TypeAlias = tuple[int, int]
"""Start and end of a part of a text, in characters."""


@runtime_checkable
class SpanEncoder(Encoder, Protocol):
    """An encoder that gives the vectors of parts of a text with the vector of the text."""

    def encode_spans(self, text: str, spans: Sequence[Span]) -> Floats2d:
        """Encode a text and parts of it.

        :returns: float32 [1 + spans, dimensions]. The first row is that of the text, as ``encode`` gives it; then one for each
            part, of length 1, or all zeros for a part without content. Never NaN.
        :raises ModelError: as ``encode`` does.
        """


def encode_clauses(encoder: Encoder, text: str, clauses: Sequence[str]) -> Floats2d:
    """The vectors of a request and of its clauses, float32 [1 + clauses, dimensions].

    One pass where the encoder can and the clauses are parts of the text in its order; else each text is encoded by itself.

    :raises ModelError: as :meth:`inference.encoder.Encoder.encode` does.
    """
    spans = spans_of(text, clauses) if clauses and isinstance(encoder, SpanEncoder) else None
    if spans is None or not isinstance(encoder, SpanEncoder):
        return encoder.encode([text, *clauses])
    return encoder.encode_spans(text, spans)


def spans_of(text: str, clauses: Sequence[str]) -> list[Span] | None:
    """Where the words of each clause begin and end in a text; None where they are not the words of the text in its order."""
    spans: list[Span] = []
    end = 0
    for clause in clauses:
        start = -1
        for word in clause.split():
            at = text.find(word, end)
            if at < 0:
                return None
            start, end = (at if start < 0 else start), at + len(word)
        spans.append((max(start, 0), end if start >= 0 else 0))
    return spans


def pooled(tokens_TD: Floats2d, offsets: Sequence[Span], spans: Sequence[Span]) -> Floats2d:
    """The mean of the tokens of each span, L2-normalised, float32 [spans, D]; zeros where a span has no token.

    :param tokens_TD: vector of each token, float32 [tokens, D].
    :param offsets: where each token stands in the text; empty for a special token.
    """
    starts_T, ends_T = np.asarray(offsets, dtype=np.int64).reshape(-1, 2).T
    starts_S, ends_S = np.asarray(spans, dtype=np.int64).reshape(-1, 2).T
    inside_ST = (starts_T < ends_S[:, None]) & (ends_T > starts_S[:, None]) & (ends_T > starts_T)
    sums_SD = inside_ST.astype(np.float32) @ tokens_TD
    lengths_S = np.linalg.norm(sums_SD, axis=1, keepdims=True)
    return np.asarray(sums_SD / np.maximum(lengths_S, np.float32(1e-12)), dtype=np.float32)


MAX_CHARS_PER_TOKEN = 32
"""English has 4 to 6 characters in a token. A text far beyond that is cut before it is tokenised, which takes time."""
SESSIONS: WeakValueDictionary[str, Any] = WeakValueDictionary()
_LOADING = threading.Lock()


def read_card(folder: Path, needed: Set[str]) -> dict[str, Any]:
    """Read the card of a model.

    :param needed: keys that it must have besides ``files``.
    :raises ModelError: when it cannot be read, or a key is missing.
    """
    path = folder / "card.json"
    try:
        card: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        missing = (needed | {"files"}) - card.keys()
    except (OSError, ValueError, AttributeError) as error:
        raise _unusable(path, "the card of the model cannot be read") from error
    if missing:
        raise _unusable(path, f"the card of the model has no {', '.join(sorted(missing))}")
    return card


def read_checked(folder: Path, name: str, card: dict[str, Any]) -> bytes:
    """Read a file and compare its hash with the card, so that exactly the checked bytes are loaded.

    :raises ModelError: when it is missing, or its hash differs.
    """
    path = folder / name
    try:
        content = path.read_bytes()
        expected = card["files"][name]["sha256"]
    except (OSError, KeyError, TypeError) as error:
        raise _unusable(path, "the file of the model, or its hash in the card, cannot be read") from error
    if hashlib.sha256(content).hexdigest() != expected:
        raise _unusable(path, "the SHA-256 of the file is not the one in the card of the model")
    return content


def _unusable(path: Path, problem: str) -> ModelError:
    remedy = "Install egotools again, or restore the file from the repository"
    return ModelError(problem, subject=str(path), remedy=remedy)


def load_tokenizer(content: bytes, max_tokens: int | None) -> Any:
    """Load a tokenizer without padding. It cuts at ``max_tokens``, special tokens included; nowhere where None."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(content.decode("utf-8"))
    tokenizer.no_padding()
    if max_tokens is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(max_tokens)
    return tokenizer


def load_session(content: bytes) -> Any:
    """Load an ONNX graph on the CPU. ONNX Runtime sends nothing to its maker, unless ``ORT_DISABLE_TELEMETRY`` is ``0``.

    All who load the same graph in one process share one session, as long as one of them holds it: it keeps nothing of a call,
    takes calls of many threads, and costs 0.15 s and 40 MB.
    """
    # Read when the library is loaded; a call of its API later is too late for the first event and the device id on the disk.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    key = hashlib.sha256(content).hexdigest()
    with _LOADING:
        session = SESSIONS.get(key)
        if session is None:
            options = onnxruntime.SessionOptions()
            # One thread for each call: the workers of the caller run in parallel, and sums keep one order.
            options.intra_op_num_threads = 1
            options.inter_op_num_threads = 1
            options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
            options.log_severity_level = 3
            session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
            SESSIONS[key] = session
        return session


def with_output(content: bytes, name: str) -> bytes:
    """An ONNX graph that also hands out the float tensor with this name; the other outputs stay the same to the last bit.

    In protobuf, messages that are written one after the other are merged. So the fields ``graph.output`` of a second message
    are appended: ``name``, and ``type.tensor_type.elem_type`` 1, float.
    """
    tensor = _field(1, bytes((1 << 3, 1)))
    return content + _field(7, _field(12, _field(1, name.encode()) + _field(2, tensor)))


def _field(number: int, content: bytes) -> bytes:
    """A protobuf field of bytes, shorter than 128."""
    return bytes((number << 3 | 2, len(content))) + content


WEIGHTS = Path(__file__).resolve().parent / "weights" / "minilm-l6-v2-int8"
SPECIAL_TOKENS = 2  # [CLS] and [SEP] enclose every text; a text without a third token has no content


class MiniLmEncoder:
    """all-MiniLM-L6-v2, 384 dimensions, one CPU thread for each worker.

    Each text is encoded alone and without padding. In a batch, the last bits of a row may depend on the other texts,
    and a snapshot must not depend on what else was encoded. Use more workers for throughput.

    :param folder: holds ``model.onnx``, ``tokenizer.json`` and ``card.json``.
    :param workers: threads that encode in one call, at least 1.
    :raises ModelError: when the weights are missing, or are not those of the card.
    """

    def __init__(self, folder: Path = WEIGHTS, *, workers: int = 1) -> None:
        card = read_card(folder, {"name", "dimensions", "max_tokens", "token_output"})
        check_at_least_1(workers=workers)
        max_tokens = int(card["max_tokens"])
        self.name = str(card["name"])
        self.dimensions = int(card["dimensions"])
        self._workers = workers
        self._max_chars = max_tokens * MAX_CHARS_PER_TOKEN
        self._tokenizer = load_tokenizer(read_checked(folder, "tokenizer.json", card), max_tokens)
        self._token_output = str(card["token_output"])
        self._session = load_session(with_output(read_checked(folder, "model.onnx", card), self._token_output))
        self.digest = str(card["files"]["model.onnx"]["sha256"])  # checked above

    def encode(self, texts: Sequence[str]) -> Floats2d:
        """Encode texts, equal ones once; see :class:`inference.encoder.Encoder`."""
        prepared = list(map(self._clean, texts))
        unique = list(dict.fromkeys(prepared))
        if self._workers == 1 or len(unique) < 2:
            vectors = list(map(self._encode_one, unique))
        else:
            with ThreadPoolExecutor(min(self._workers, len(unique)), thread_name_prefix="encode") as pool:
                vectors = list(pool.map(self._encode_one, unique))
        rows = dict(zip(unique, vectors, strict=True))
        found = [rows[text] for text in prepared]
        return np.stack(found) if found else np.zeros((0, self.dimensions), dtype=np.float32)

    def encode_spans(self, text: str, spans: Sequence[Span]) -> Floats2d:
        """Encode a text and parts of it in one pass; see :class:`inference.minilm.SpanEncoder`.

        A part beyond the last token that the model reads is encoded by itself.
        """
        prepared = self._clean(text)
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

    def _clean(self, text: str) -> str:
        return sendable(text.lstrip()[: self._max_chars])

    def _encode_one(self, text: str) -> Floats1d:
        ids = self._tokenizer.encode(text).ids if has_content(text) else ()
        if len(ids) <= SPECIAL_TOKENS:
            return np.zeros(self.dimensions, dtype=np.float32)
        row: Floats1d = self._run(ids, ["embedding"])[0][0]
        return row

    def _run(self, ids: Sequence[int], outputs: list[str]) -> list[Any]:
        input_ids = np.array([ids], dtype=np.int64)
        inputs = {"input_ids": input_ids, "attention_mask": np.ones_like(input_ids)}
        found: list[Any] = self._session.run(outputs, inputs)
        return found
