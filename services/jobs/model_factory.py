"""From the command's options to the models behind their seams."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from inference.chat import ChatModel
from ingest.extract.extractor import Extractor
from ontology.errors import InvalidArgumentError
from ontology.ontology import Ontology

__all__ = ["ChatEndpoint", "llm_extractor", "open_chat"]


def llm_extractor(
    ontology: Ontology,
    *,
    base_url: str,
    model: str,
    max_tokens: int,
    max_usd: float,
    usd_per_1k: float,
    cache_file: Path | None,
) -> Extractor:
    """The extractor ``llm.v1`` over an OpenAI-compatible endpoint; the key comes from ``OPENAI_API_KEY``.

    :param cache_file: where answers are kept; None keeps none.
    :raises InvalidArgumentError: when the endpoint or the model is not named.
    :raises MissingExtraError: when the extra ``llm`` is not installed.
    """
    endpoint = ChatEndpoint(
        base_url=base_url, model=model, max_tokens=max_tokens, max_usd=max_usd, usd_per_1k=usd_per_1k
    )
    chat = open_chat(endpoint, needed_by="the extractor llm")
    from inference.result_cache import ResultCache
    from ingest.extract.llm_extractor import LlmExtractor

    if cache_file is None:
        return LlmExtractor(chat, ontology)
    with contextlib.suppress(OSError):  # the cache does without a disk, and the build says what is wrong with it
        cache_file.parent.mkdir(parents=True, exist_ok=True)
    return LlmExtractor(chat, ontology, cache=ResultCache(cache_file))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatEndpoint:
    """What the options ``--llm-…`` say.

    :param max_tokens: stop after so many; 0 for no cap.
    :param max_usd: stop after so much money; 0 for no cap.
    :param usd_per_1k: price of 1,000 tokens.
    """

    base_url: str = ""
    model: str = ""
    max_tokens: int = 0
    max_usd: float = 0.0
    usd_per_1k: float = 0.0


def open_chat(endpoint: ChatEndpoint, *, needed_by: str) -> ChatModel:
    """The chat model at an OpenAI-compatible endpoint; the key comes from ``OPENAI_API_KEY``.

    :param needed_by: who asks it, for the error.
    :raises InvalidArgumentError: when the endpoint or the model is not named.
    :raises MissingExtraError: when the extra ``llm`` is not installed.
    """
    for option, value in (("--llm-url", endpoint.base_url), ("--llm-model", endpoint.model)):
        if not value:
            raise InvalidArgumentError(f"{needed_by} needs this option", subject=option)
    from inference.budget import Budget
    from inference.openai_chat import OpenAIChat

    budget = Budget(
        max_tokens=endpoint.max_tokens or None,
        max_usd=endpoint.max_usd or None,
        usd_per_1k_prompt=endpoint.usd_per_1k,
        usd_per_1k_completion=endpoint.usd_per_1k,
    )
    key = os.environ.get("OPENAI_API_KEY", "")
    return OpenAIChat(endpoint.model, base_url=endpoint.base_url, api_key=key, budget=budget)
