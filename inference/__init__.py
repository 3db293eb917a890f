"""Models behind three interfaces: :class:`Encoder`, :class:`Reranker` and :class:`ChatModel`.

The folder holds their implementations, the versioned names that they are loaded by, the embedding cache, the result
cache and the structured LLM call. Importing this package imports no model library: each is imported when a model needs
it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from inference.chat import ChatModel, Completion, Message, Sample
from inference.encoder import Encoder, Floats1d, Floats2d, Reranker
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
from inference.retry import concurrent_map

if TYPE_CHECKING:
    from inference.cached_encoder import CachedEncoder
    from inference.chat import Budget, Reservation, ScriptedChat, Spend
    from inference.encoder import HashingEncoder
    from inference.minilm import MiniLmEncoder
    from inference.openai_client import OpenAIChat, OpenAIEncoder
    from inference.reranker import CrossEncoderReranker, HttpReranker
    from inference.result_cache import ResultCache
    from inference.retry import RetryPolicy
    from inference.sentence_transformers import SentenceTransformersEncoder
    from inference.structured_chat import (
        FailureBudget,
        SchemaParser,
        StructuredAnswer,
        StructuredChat,
        StructuredRequest,
        UnusableAnswerError,
    )

__all__ = [
    "ALLOWED_MODELS_VARIABLE",
    "DEFAULT_ENCODER",
    "EMBEDDED_MODELS",
    "ENCODER_NAMES",
    "RERANKER_NAMES",
    "Budget",
    "CachedEncoder",
    "ChatModel",
    "Completion",
    "CrossEncoderReranker",
    "Encoder",
    "FailureBudget",
    "Floats1d",
    "Floats2d",
    "HashingEncoder",
    "HttpReranker",
    "Message",
    "MiniLmEncoder",
    "OpenAIChat",
    "OpenAIEncoder",
    "Reranker",
    "Reservation",
    "ResultCache",
    "RetryPolicy",
    "Sample",
    "SchemaParser",
    "ScriptedChat",
    "SentenceTransformersEncoder",
    "Spend",
    "StructuredAnswer",
    "StructuredChat",
    "StructuredRequest",
    "UnusableAnswerError",
    "allowed_by_environment",
    "concurrent_map",
    "load_encoder",
    "load_reranker",
    "require_allowed_model",
]

_LAZY = {
    "Budget": "chat",
    "CachedEncoder": "cached_encoder",
    "CrossEncoderReranker": "reranker",
    "FailureBudget": "structured_chat",
    "HashingEncoder": "encoder",
    "HttpReranker": "reranker",
    "MiniLmEncoder": "minilm",
    "OpenAIChat": "openai_client",
    "OpenAIEncoder": "openai_client",
    "Reservation": "chat",
    "ResultCache": "result_cache",
    "RetryPolicy": "retry",
    "SchemaParser": "structured_chat",
    "ScriptedChat": "chat",
    "SentenceTransformersEncoder": "sentence_transformers",
    "Spend": "chat",
    "StructuredAnswer": "structured_chat",
    "StructuredChat": "structured_chat",
    "StructuredRequest": "structured_chat",
    "UnusableAnswerError": "structured_chat",
}


def __getattr__(name: str) -> object:
    """The implementations, each imported when it is first used: a server needs few of them."""
    if name in _LAZY:
        return getattr(import_module(f"inference.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
