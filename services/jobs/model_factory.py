"""The models that a plan names, loaded."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from inference.chat import ChatModel
from inference.result_cache import ResultCache
from ingest.extract.extractor import Extractor
from ontology.errors import InvalidArgumentError
from ontology.ontology import Ontology
from services.jobs.plans import ChatEndpoint

__all__ = ["llm_extractor", "open_chat"]


def llm_extractor(ontology: Ontology, endpoint: ChatEndpoint, *, cache_file: Path | None) -> Extractor:
    """The extractor ``llm.v1`` with the chat model at an endpoint.

    :param cache_file: file of the cache of answers; None for no cache.
    :raises InvalidArgumentError: when the address or the model is missing.
    :raises MissingExtraError: when the extra ``llm`` is not installed.
    """
    chat = open_chat(endpoint, needed_by="the extractor llm")
    from ingest.extract.llm_extractor import LlmExtractor

    if cache_file is None:
        return LlmExtractor(chat, ontology)
    with contextlib.suppress(OSError):  # the cache works without a disk, and the build reports the error
        cache_file.parent.mkdir(parents=True, exist_ok=True)
    return LlmExtractor(chat, ontology, cache=ResultCache(cache_file))


def open_chat(endpoint: ChatEndpoint, *, needed_by: str) -> ChatModel:
    """The chat model at an OpenAI-compatible endpoint. The key comes from ``OPENAI_API_KEY``.

    :param needed_by: what needs the model, for the error.
    :raises InvalidArgumentError: when the address or the model is missing.
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
