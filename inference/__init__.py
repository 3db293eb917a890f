"""Models behind small seams: sentence encoders, rerankers, chat models.

Three seams (:class:`Encoder`, :class:`Reranker`, :class:`ChatModel`), their implementations, and the names they are
loaded by. Importing this package imports no model library; each is imported when a model of its kind is loaded.
"""

from __future__ import annotations

from inference.arrays import Floats1d, Floats2d
from inference.encoder import Encoder
from inference.hashing import HashingEncoder
from inference.minilm import MiniLmEncoder
from inference.registry import ENCODER_NAMES, load_encoder

__all__ = [
    "ENCODER_NAMES",
    "Encoder",
    "Floats1d",
    "Floats2d",
    "HashingEncoder",
    "MiniLmEncoder",
    "load_encoder",
]
