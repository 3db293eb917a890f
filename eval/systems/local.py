"""A retriever in this process as a system."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from eval.system import Ranked
from inference.encoder import Encoder
from ontology.digests import code_digest
from retrieval.query.request import Request
from retrieval.retriever import Retriever
from retrieval.snapshot.reader import Snapshot

__all__ = ["LocalSystem"]

_PACKAGES = ("inference", "ontology", "retrieval")


class LocalSystem:
    """Measures one retriever without reasons, because explaining is not part of the cost of retrieval.

    :param reranker: name of its reranker.
    :param without: the features that an ablation leaves out.
    """

    def __init__(
        self,
        retriever: Retriever,
        snapshot: Snapshot,
        encoder: Encoder,
        *,
        reranker: str,
        without: Sequence[str] = (),
    ) -> None:
        self._retriever = retriever
        self._config = {
            "kind": "local",
            "preset": retriever.name,
            "without": list(without),
            "snapshot_id": snapshot.id,
            "format_version": snapshot.manifest.format_version,
            "encoder": encoder.name,
            "encoder_sha256": encoder.digest,
            "reranker": reranker,
            "egotools": version("egotools"),
            "code_sha256": code_digest(*_PACKAGES),
        }

    @property
    def name(self) -> str:
        """The retriever's name."""
        return self._retriever.name

    @property
    def config(self) -> Mapping[str, Any]:
        """Snapshot, models, and the digest of the code, which includes all constants."""
        return self._config

    def ask(self, query: str, *, k: int, timeout_s: float, needs: Sequence[str] = ()) -> Ranked:
        """Return the best ``k`` tools, with the milliseconds of each stage.

        :raises DeadlineError: between two stages, when the deadline has passed.
        """
        deadline = time.monotonic() + timeout_s
        response = self._retriever.retrieve(
            Request(query=query, needs=tuple(needs), k=k, explain=False, deadline=deadline)
        )
        return Ranked(
            tools=tuple(tool.id for tool in response.tools),
            ms=response.timings_ms,
            fallbacks=response.fallbacks,
            abstained=response.unanswerable,
        )
