"""From the command's options to the models behind their seams."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from inference.reranker import Reranker
from ingest.extract.extractor import Extractor
from ontology.errors import InvalidArgumentError
from ontology.ontology import Ontology
from retrieval.ranking import FusionRanker

__all__ = ["llm_extractor", "open_reranker"]


def open_reranker(name: str) -> Reranker | None:
    """The reranker of this name; None for the embedded fusion, which ranks with the snapshot's own indexes."""
    if name == FusionRanker.name:
        return None
    from inference import load_reranker

    return load_reranker(name)


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
    for option, value in (("--llm-url", base_url), ("--llm-model", model)):
        if not value:
            raise InvalidArgumentError("the extractor llm needs this option", subject=option)
    from inference.budget import Budget
    from inference.openai_chat import OpenAIChat
    from ingest.cache import Cache
    from ingest.extract.llm import LlmExtractor

    budget = Budget(
        max_tokens=max_tokens or None,
        max_usd=max_usd or None,
        usd_per_1k_prompt=usd_per_1k,
        usd_per_1k_completion=usd_per_1k,
    )
    chat = OpenAIChat(model, base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", ""), budget=budget)
    if cache_file is None:
        return LlmExtractor(chat, ontology)
    with contextlib.suppress(OSError):  # the cache does without a disk, and the build says what is wrong with it
        cache_file.parent.mkdir(parents=True, exist_ok=True)
    return LlmExtractor(chat, ontology, cache=Cache(cache_file))
