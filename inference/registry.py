"""From a versioned name to the encoder or reranker it stands for."""

from __future__ import annotations

from inference.encoder import Encoder
from inference.hashing import HashingEncoder
from ontology.errors import InvalidArgumentError

__all__ = ["ENCODER_NAMES", "load_encoder"]

ENCODER_NAMES = (
    "minilm-l6-int8.v1",
    "hashing.v1",
    "sentence-transformers:PATH_OR_NAME",
    "openai:MODEL@BASE_URL",
)
"""What :func:`load_encoder` knows; capitals stand for what the caller puts in."""


def load_encoder(name: str, *, workers: int = 1) -> Encoder:
    """Load an encoder by name.

    :param name: one of the forms in :data:`ENCODER_NAMES`.
    :param workers: threads of the embedded model; the others take no notice.
    :raises InvalidArgumentError: when no encoder has this name; the remedy lists the known ones.
    :raises MissingExtraError: when the encoder needs an extra that is not installed.
    :raises ModelError: when the model cannot be loaded.
    """
    if name == "minilm-l6-int8.v1":
        from inference.minilm import MiniLmEncoder

        return MiniLmEncoder(workers=workers)
    if name == "hashing.v1":
        return HashingEncoder()
    raise InvalidArgumentError(
        f"there is no encoder {name!r}", subject="encoder", remedy=f"Use one of: {', '.join(ENCODER_NAMES)}"
    )
