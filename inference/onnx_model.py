"""The folder of an embedded model: a card with hashes, an ONNX graph, a tokenizer; each read and checked alike."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Set
from pathlib import Path
from typing import Any

from ontology.errors import ModelError

__all__ = ["MAX_CHARS_PER_TOKEN", "clean", "load_session", "load_tokenizer", "read_card", "read_checked"]

MAX_CHARS_PER_TOKEN = 32
"""English runs at 4 to 6 characters a token; far beyond that a text is cut before it costs time to tokenise."""


def read_card(folder: Path, needed: Set[str]) -> dict[str, Any]:
    """Read the model's card.

    :param needed: what it must say besides ``files``.
    :raises ModelError: when it cannot be read or says too little.
    """
    path = folder / "card.json"
    try:
        card: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        missing = (needed | {"files"}) - card.keys()
    except (OSError, ValueError, AttributeError) as error:
        raise _unusable(path, "the model's card cannot be read") from error
    if missing:
        raise _unusable(path, f"the model's card does not say {', '.join(sorted(missing))}")
    return card


def read_checked(folder: Path, name: str, card: dict[str, Any]) -> bytes:
    """Read a file and check it against the card, so that what is loaded is exactly what was checked.

    :raises ModelError: when it is absent or another than the card's.
    """
    path = folder / name
    try:
        content = path.read_bytes()
        expected = card["files"][name]["sha256"]
    except OSError as error:
        raise _unusable(path, "the model's file cannot be read") from error
    except (KeyError, TypeError) as error:
        raise _unusable(folder / "card.json", f"the model's card has no hash of {name}") from error
    if hashlib.sha256(content).hexdigest() != expected:
        raise _unusable(path, "the file is not the one the model's card names: its sha256 differs")
    return content


def load_tokenizer(content: bytes, max_tokens: int | None) -> Any:
    """Load a tokenizer that never pads, and cuts at ``max_tokens`` with the special tokens, or nowhere."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(content.decode("utf-8"))
    tokenizer.no_padding()
    if max_tokens is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(max_tokens)
    return tokenizer


def load_session(content: bytes) -> Any:
    """Load an ONNX graph on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One thread a run: the caller's workers are the parallelism, and sums keep one order.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def clean(text: str, max_chars: int) -> str:
    """Cut to what can matter, and put a question mark for a lone surrogate, which no tokenizer takes."""
    return text.lstrip()[:max_chars].encode("utf-8", "replace").decode("utf-8")


def _unusable(path: Path, problem: str) -> ModelError:
    return ModelError(problem, subject=str(path), remedy="Install egotools again or restore the file from a checkout")
