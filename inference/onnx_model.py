"""The folder of an embedded model: a card with hashes, an ONNX graph and a tokenizer, all checked when read."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Set
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from ontology.errors import ModelError

__all__ = ["MAX_CHARS_PER_TOKEN", "clean", "load_session", "load_tokenizer", "read_card", "read_checked", "with_output"]

MAX_CHARS_PER_TOKEN = 32
"""English has 4 to 6 characters in a token. A text far beyond that is cut before it is tokenised, which takes time."""
_SESSIONS: WeakValueDictionary[str, Any] = WeakValueDictionary()
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
    except OSError as error:
        raise _unusable(path, "the file of the model cannot be read") from error
    except (KeyError, TypeError) as error:
        raise _unusable(folder / "card.json", f"the card of the model has no hash of {name}") from error
    if hashlib.sha256(content).hexdigest() != expected:
        raise _unusable(path, "the SHA-256 of the file is not the one in the card of the model")
    return content


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
    key = hashlib.sha256(content).hexdigest()
    with _LOADING:
        session = _SESSIONS.get(key)
        if session is None:
            session = _SESSIONS[key] = _new_session(content)
        return session


def _new_session(content: bytes) -> Any:
    # Read when the library is loaded; a call of its API later is too late for the first event and the device id on the disk.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One thread for each call: the workers of the caller run in parallel, and sums keep one order.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


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


def clean(text: str, max_chars: int) -> str:
    """Cut a text to ``max_chars``, and replace lone surrogates, which no tokenizer accepts, by question marks."""
    return text.lstrip()[:max_chars].encode("utf-8", "replace").decode("utf-8")


def _unusable(path: Path, problem: str) -> ModelError:
    return ModelError(
        problem, subject=str(path), remedy="Install egotools again, or restore the file from the repository"
    )
