"""The paper's baselines: semantic, lexical (rank-bm25 in three tokenisations) and hybrid with reranking (section 5.3)."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from egotools.values import Response
from inference.encoder import Encoder, Floats1d
from ontology.errors import MissingExtraError, ModelError
from ontology.names import SPACY_MODELS
from ontology.tool import Tool
from retrieval.index.records import Records
from retrieval.query.context import QueryContext
from retrieval.query.request import Request
from retrieval.ranking.fusion import FusionRanker, rank_with_fallback
from retrieval.ranking.ranking import Ranker, Ranking
from retrieval.response import respond
from retrieval.snapshot.reader import Snapshot

_TOP = 10  # the paper joins the top-10 of both
_PART = 256  # tools whose words are read between two looks at the deadline
_TOKENS = 32  # whose scores of all tools are kept while a request runs: long requests repeat words
_WAIT_S = 0.05
_WORD = re.compile(r"\b\w+\b")
_PIPELINES: list[Any] = []
_PIPELINE_LOCK = threading.Lock()


def _spacy_tokens(texts: Sequence[str]) -> list[list[str]]:
    """Lemmas of each text by spaCy's tagger and lemmatizer, punctuation and spaces left out."""
    import spacy

    with _PIPELINE_LOCK:
        if not _PIPELINES:
            model = next(filter(spacy.util.is_package, SPACY_MODELS), None)
            if model is None:
                raise MissingExtraError("an English spaCy model", extra="default")
            _PIPELINES.append(spacy.load(model, exclude=["parser", "ner"]))
    docs = _PIPELINES[0].pipe(texts)
    return [[token.lemma_.lower() for token in doc if not (token.is_punct or token.is_space)] for doc in docs]


TOKENISERS: dict[str, Callable[[Sequence[str]], list[list[str]]]] = {
    "whitespace": lambda texts: [text.lower().split() for text in texts],
    "regex": lambda texts: [_WORD.findall(text.lower()) for text in texts],
    "spacy": _spacy_tokens,
}


class SemanticRetriever:
    """The tools whose text is nearest to the request by cosine."""

    name = "semantic"

    def __init__(self, snapshot: Snapshot, encoder: Encoder) -> None:
        self.snapshot = snapshot
        self.encoder = encoder

    def retrieve(self, request: Request) -> Response:
        """The best k tools by cosine."""
        context = QueryContext.begin(request, self.snapshot, self.encoder)
        if context.query.vector_D is None:
            raise ModelError(context.fallbacks[0], subject=self.encoder.name, remedy="Use the preset bm25-regex-title")
        with context.stage("entry"):
            ranking = self.nearest(context, request.k + len(context.done))
        return respond(context, ranking, preset=self.name)

    def nearest(self, context: QueryContext, k: int) -> Ranking:
        """The best k tools by cosine, best first; none where the query has no vector."""
        if context.query.vector_D is None:
            return _ranking(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32), "cosine_text")
        found = self.snapshot.vectors.nearest_tools(context.query.vector_D, k, allowed=context.allowed)
        return _ranking(*found, "cosine_text")


_INDEXES: WeakKeyDictionary[Records[Tool], dict[str, Any]] = WeakKeyDictionary()
_INDEX_LOCK = threading.Lock()


class LexicalRetriever:
    """Okapi BM25 of the package rank-bm25 over descriptions, or titles and descriptions. ``title``: whether the title
    is part of the text."""

    def __init__(self, snapshot: Snapshot, tokeniser: str, *, title: bool) -> None:
        self.name = f"bm25-{tokeniser}-title" if title else f"bm25-{tokeniser}"
        self._snapshot = snapshot
        self._tokenise = TOKENISERS[tokeniser]
        self._title = title

    def retrieve(self, request: Request) -> Response:
        """The best k tools by BM25; tools without any word of the request are left out."""
        context = QueryContext.begin(request, self._snapshot, None)
        with context.stage("entry"):
            ranking = self.best(context, request.k + len(context.done))
        return respond(context, ranking, preset=self.name)

    def best(self, context: QueryContext, k: int) -> Ranking:
        """The best k tools by BM25, best first."""
        check = partial(context.request.check, self.name)
        tokens = self._tokenise([context.query.text])[0]
        check()
        while not _INDEX_LOCK.acquire(timeout=_WAIT_S):  # the first request builds the index, the others wait for it
            check()
        try:
            index = self._index(check)
        finally:
            _INDEX_LOCK.release()
        if index is None:
            return _ranking(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32), "bm25")
        of_token = lru_cache(_TOKENS)(lambda token: index.get_scores([token]))
        total = np.zeros(index.corpus_size)
        for token in filter(
            index.idf.get, tokens
        ):  # in this order, as get_scores adds them up: to the last bit the same
            check()
            total += of_token(token)
        scores = total.astype(np.float32)
        allowed = self._snapshot.only_tools(context.allowed)[: len(scores)]
        tools = np.flatnonzero(allowed & (scores != 0)).astype(np.int64)
        ranking = _ranking(tools, scores[tools], "bm25")
        return ranking.take(ranking.best(k))

    def _index(self, check: Callable[[], None]) -> Any:
        """The index over all tools; one for all visible parts of a snapshot, each of which takes its own tools of it."""
        from rank_bm25 import BM25Okapi

        tools = self._snapshot.tools
        made = _INDEXES.setdefault(tools, {})
        if self.name not in made:
            words = made.setdefault(f"words of {self.name}", [])
            while len(words) < len(tools):
                check()
                part = [tools[number] for number in range(len(words), min(len(words) + _PART, len(tools)))]
                texts = (f"{tool.title} {tool.description}" if self._title else tool.description for tool in part)
                words += self._tokenise(list(texts))
            made[self.name] = index = BM25Okapi(words) if any(words) else None
            if index is not None:
                index.doc_len = np.array(index.doc_len)  # which it makes of the list for every token
            del made[f"words of {self.name}"]
        return made[self.name]


class HybridRetriever:
    """The top 10 of semantic and of lexical search, joined and reranked. ``ranker``: None for the embedded fusion,
    which is also the fallback where the ranker's model is down."""

    name = "hybrid"

    def __init__(self, semantic: SemanticRetriever, lexical: LexicalRetriever, ranker: Ranker | None = None) -> None:
        self._semantic = semantic
        self._lexical = lexical
        self._fusion = FusionRanker()
        self._ranker = ranker or self._fusion

    def retrieve(self, request: Request) -> Response:
        """The best k of the union, which has at most 20 tools."""
        context = QueryContext.begin(request, self._semantic.snapshot, self._semantic.encoder)
        with context.stage("entry"):
            found = [self._lexical.best(context, _TOP), self._semantic.nearest(context, _TOP)]
            context.candidates = np.unique(np.concatenate([one.tools for one in found]))
        with context.stage("rank"):
            ranking = rank_with_fallback(context, self._ranker, self._fusion)
        return respond(context, ranking, preset=self.name)


def _ranking(tools: NDArray[np.int64], scores: Floats1d, feature: str) -> Ranking:
    return Ranking(tools=tools, scores=scores, features={feature: scores})
