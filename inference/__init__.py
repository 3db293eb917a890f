"""Models behind three interfaces: :class:`Encoder`, :class:`Reranker` and :class:`ChatModel`.

The folder holds their implementations, the versioned names that they are loaded by, the embedding cache, the result
cache and the structured LLM call. Importing this package imports no model library, and no module that a server may not need:
those are imported by their own names, such as :mod:`inference.openai_client`.
"""

from inference.chat import Budget, ChatModel, Completion, Message, Sample, Spend
from inference.encoder import Encoder, Floats1d, Floats2d, HashingEncoder, Reranker
from inference.minilm import MiniLmEncoder
from inference.registry import (
    ALLOWED_MODELS_VARIABLE,
    DEFAULT_ENCODER,
    EMBEDDED_MODELS,
    ENCODER_NAMES,
    RERANKER_NAMES,
    allowed_by_environment,
    load_encoder,
    load_reranker,
    require_allowed_model,
)
from inference.retry import RetryPolicy, concurrent_map

__all__ = [
    "ALLOWED_MODELS_VARIABLE",
    "DEFAULT_ENCODER",
    "EMBEDDED_MODELS",
    "ENCODER_NAMES",
    "RERANKER_NAMES",
    "Budget",
    "ChatModel",
    "Completion",
    "Encoder",
    "Floats1d",
    "Floats2d",
    "HashingEncoder",
    "Message",
    "MiniLmEncoder",
    "Reranker",
    "RetryPolicy",
    "Sample",
    "Spend",
    "allowed_by_environment",
    "concurrent_map",
    "load_encoder",
    "load_reranker",
    "require_allowed_model",
]
