"""Models behind three interfaces: :class:`Encoder`, :class:`Reranker` and :class:`ChatModel`.

The folder holds their implementations, the versioned names that they are loaded by, the embedding cache, the result
cache and the structured LLM call. Importing this package imports no model library: each is imported when a model needs
it.
"""

from inference.cached_encoder import CachedEncoder
from inference.chat import Budget, ChatModel, Completion, Message, Sample, ScriptedChat, Spend
from inference.encoder import Encoder, Floats1d, Floats2d, HashingEncoder, Reranker
from inference.minilm import MiniLmEncoder
from inference.openai_client import OpenAIChat, OpenAIEncoder
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
from inference.reranker import CrossEncoderReranker, HttpReranker
from inference.result_cache import ResultCache
from inference.retry import RetryPolicy, concurrent_map
from inference.sentence_transformers import SentenceTransformersEncoder
from inference.structured_chat import (
    FailureBudget,
    SchemaParser,
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
    "ResultCache",
    "RetryPolicy",
    "Sample",
    "SchemaParser",
    "ScriptedChat",
    "SentenceTransformersEncoder",
    "Spend",
    "StructuredChat",
    "StructuredRequest",
    "UnusableAnswerError",
    "allowed_by_environment",
    "concurrent_map",
    "load_encoder",
    "load_reranker",
    "require_allowed_model",
]
