"""Encoders and rerankers by their versioned names, and which of them a snapshot may name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from inference.encoder import Encoder, HashingEncoder, Reranker, SentenceTransformersEncoder
from inference.minilm import WEIGHTS, MiniLmEncoder
from inference.retry import RetryPolicy
from ontology.errors import InvalidArgumentError, ModelNotAllowedError

EMBEDDED_MODELS = frozenset(
    ("egotools-minilm-int8.v1", "minilm-l6-int8.v1", "hashing.v1", "fusion.v2", "egotools-cross-int8.v1")
)
"""The models that ship with egotools: they import nothing else and contact nothing."""

DEFAULT_ENCODER = "egotools-minilm-int8.v1"
"""The encoder of a build where none is chosen."""

ENCODER_NAMES = (
    "egotools-minilm-int8.v1",
    "minilm-l6-int8.v1",
    "hashing.v1",
    "sentence-transformers:PATH_OR_NAME",
    "openai:MODEL@BASE_URL",
)
"""The names that :func:`load_encoder` knows; replace the words in capitals."""

EMBEDDED_CROSS_ENCODER = "egotools-cross-int8.v1"
"""The reranker that ships; it is used where it is named."""

RERANKER_NAMES = (EMBEDDED_CROSS_ENCODER, "cross-encoder:PATH", "http:URL", "http:MODEL@URL")
"""The names that :func:`load_reranker` knows."""

ALLOWED_MODELS_VARIABLE = "EGOTOOLS_ALLOWED_MODELS"
"""Environment variable of the operator: further names, separated by commas."""

_WEIGHTS = {"minilm-l6-int8.v1": "minilm-l6-v2-int8", "egotools-minilm-int8.v1": "egotools-minilm-int8"}
_AT_URL = re.compile(r"(?:(?!https?://)(?P<model>.+?)@)?(?P<url>https?://.+)", re.DOTALL)


def allowed_by_environment() -> tuple[str, ...]:
    """Return the names that the operator allows by :data:`ALLOWED_MODELS_VARIABLE`."""
    text = os.environ.get(ALLOWED_MODELS_VARIABLE, "")
    return tuple(name.strip() for name in text.split(",") if name.strip())


def require_allowed_model(name: str, allowed: Iterable[str], *, subject: str) -> None:
    """Check the name of a model in a snapshot. Call it before the model is loaded.

    :param allowed: the names that the operator allows beside :data:`EMBEDDED_MODELS`; each must be equal to ``name``.
    :param subject: the snapshot, for the error.
    :raises ModelNotAllowedError: when the name is neither embedded nor allowed.
    """
    if name not in EMBEDDED_MODELS and name not in set(allowed):
        raise ModelNotAllowedError(
            f"the snapshot names the model {name!r}, which is neither embedded nor allowed",
            subject=subject,
            remedy="If you trust this snapshot, allow that name with --allow-model or "
            f"{ALLOWED_MODELS_VARIABLE}; else build it again with an embedded encoder",
        )


def load_encoder(name: str, *, workers: int = 1, wait_s: float | None = None) -> Encoder:
    """Load an encoder by name.

    :param name: one of the forms in :data:`ENCODER_NAMES`.
    :param workers: threads of the embedded model; other models ignore it.
    :param wait_s: seconds that one behind an address has for a call; None: its own timeouts, with retries.
    :raises InvalidArgumentError: when no encoder has this name; the remedy lists the known names.
    :raises MissingExtraError: when the encoder needs an extra that is not installed.
    :raises ModelError: when the model cannot be loaded.
    """
    kind, _, rest = name.partition(":")
    at = _AT_URL.fullmatch(rest)
    if name in _WEIGHTS:
        return MiniLmEncoder(WEIGHTS.parent / _WEIGHTS[name], workers=workers)
    if name == "hashing.v1":
        return HashingEncoder()
    if kind == "sentence-transformers" and rest:
        return SentenceTransformersEncoder(rest)
    if kind == "openai" and at and at["model"]:
        from inference.openai_client import OpenAIEncoder

        return OpenAIEncoder(at["model"], base_url=at["url"], **_bounds(wait_s))
    raise _unknown("encoder", name, ENCODER_NAMES)


def load_reranker(name: str, *, wait_s: float | None = None) -> Reranker:
    """Load a reranker by name.

    :param name: one of the forms in :data:`RERANKER_NAMES`.
    :param wait_s: as for :func:`load_encoder`.
    :raises InvalidArgumentError: when no reranker has this name; the remedy lists the known names.
    :raises MissingExtraError: when the reranker needs an extra that is not installed.
    :raises ModelError: when the model cannot be loaded.
    """
    from inference.cross_encoder import EmbeddedCrossEncoder
    from inference.reranker import CrossEncoderReranker, HttpReranker

    kind, _, rest = name.partition(":")
    at = _AT_URL.fullmatch(rest)
    if name == EMBEDDED_CROSS_ENCODER:
        return EmbeddedCrossEncoder()
    if kind == "cross-encoder" and rest:
        return CrossEncoderReranker(rest)
    if kind == "http" and at:
        return HttpReranker(at["url"], model=at["model"], **_bounds(wait_s))
    raise _unknown("reranker", name, RERANKER_NAMES)


def _bounds(wait_s: float | None) -> dict[str, Any]:
    return {} if wait_s is None else {"timeout_s": wait_s, "policy": RetryPolicy.once(wait_s)}


def _unknown(kind: str, name: str, known: tuple[str, ...]) -> InvalidArgumentError:
    # An address in the name may contain a password.
    shown = re.sub(r"//[^/@]*@", "//", name)
    return InvalidArgumentError(f"there is no {kind} {shown!r}", subject=kind, remedy=f"Use one of: {', '.join(known)}")
