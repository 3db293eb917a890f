"""The models that a plan names, loaded."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from pathlib import Path

from inference.chat import Budget, ChatModel
from inference.result_cache import ResultCache
from inference.retry import RetryPolicy
from ingest.extract.extractor import Extractor
from ontology.errors import InvalidArgumentError
from ontology.ontology import Ontology
from services.jobs.plans import ChatEndpoint

__all__ = ["answer_cache", "llm_extractor", "open_chat", "phrase_writer"]


def llm_extractor(ontology: Ontology, chat: ChatModel, *, cache: ResultCache | None) -> Extractor:
    """The extractor ``llm.v1`` with a chat model.

    :param cache: cache of answers; None for no cache.
    :raises MissingExtraError: when the extra ``llm`` is not installed.
    """
    from ingest.extract.llm_extractor import LlmExtractor

    return LlmExtractor(chat, ontology, cache=cache)


def answer_cache(file: Path) -> ResultCache:
    """The cache of a model's answers in this file."""
    with contextlib.suppress(OSError):  # the cache works without a disk, and the build reports the error
        file.parent.mkdir(parents=True, exist_ok=True)
    return ResultCache(file)


def phrase_writer(address: str, endpoint: ChatEndpoint) -> ChatModel | None:
    """The chat model that ``openai:MODEL@BASE_URL`` names, under the budget of an endpoint; None for an empty address.

    :raises InvalidArgumentError: for another address.
    :raises MissingExtraError: when the extra ``llm`` is not installed.
    """
    if not address:
        return None
    model, _, base_url = address.removeprefix("openai:").rpartition("@")
    if not address.startswith("openai:") or not model or not base_url:
        raise InvalidArgumentError(
            f"{address!r} names no chat model",
            subject="--phrases",
            remedy="Use openai:MODEL@BASE_URL, as openai:gpt-x@http://localhost:8000/v1",
        )
    return open_chat(replace(endpoint, model=model, base_url=base_url), needed_by="--phrases")


def open_chat(
    endpoint: ChatEndpoint, *, needed_by: str, budget: Budget | None = None, policy: RetryPolicy | None = None
) -> ChatModel:
    """The chat model at an OpenAI-compatible endpoint. The key comes from ``OPENAI_API_KEY``.

    :param needed_by: what needs the model, for the error.
    :param budget: shared with other models; that of the endpoint where None.
    :param policy: retries of failed attempts; the usual ones where None.
    :raises InvalidArgumentError: when the address or the model is missing.
    :raises MissingExtraError: when the extra ``llm`` is not installed.
    """
    for option, value in (("--llm-url", endpoint.base_url), ("--llm-model", endpoint.model)):
        if not value:
            remedy = "Add --llm-url http://HOST:PORT/v1 --llm-model MODEL"
            raise InvalidArgumentError(f"{needed_by} needs this option", subject=option, remedy=remedy)
    from inference.openai_client import OpenAIChat

    key = os.environ.get("OPENAI_API_KEY", "")
    return OpenAIChat(
        endpoint.model, base_url=endpoint.base_url, api_key=key, budget=budget or endpoint.budget(), policy=policy
    )
