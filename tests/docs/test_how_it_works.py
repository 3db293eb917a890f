"""The page on how it works is true: the numbers and the features that it names are those of the code."""

from __future__ import annotations

import inspect
import re

from retrieval import graph_retriever
from retrieval.candidates import candidate_generation
from retrieval.completion import pulling
from retrieval.query import decompose
from retrieval.ranking.rerank import PromotingReranker
from retrieval.ranking.weights import SHIPPED
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
DEFAULT = PAGE[PAGE.index("### 3. What the preset `default` adds") :]
TEXT = " ".join(DEFAULT.split())


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"There are at most {decompose.MAX_CLAUSES} clauses" in TEXT
    assert f"a part of fewer than {decompose._MIN_TERMS} index terms" in TEXT
    assert f"the {candidate_generation.POOL} best of each text search" in TEXT
    assert f"for each clause the {candidate_generation.CLAUSE_POOL} best of each" in TEXT
    assert f"reads the best {inspect.signature(PromotingReranker).parameters['depth'].default} again" in TEXT
    assert pulling._BEST == 3, "the page says: the best three"


def test_every_feature_is_named_and_none_that_is_not() -> None:
    named = set(re.findall(r"`(\w+)`", "".join(line for line in DEFAULT.splitlines() if line.startswith("| `"))))
    assert named - {"get_order_history", "get_order"} == set(SHIPPED.features)


def test_its_request_is_cut_into_three() -> None:
    (request,) = re.findall(r"^\*\*Clauses\.\*\* \*(.+?)\* asks for three things", DEFAULT, re.MULTILINE | re.DOTALL)
    assert len(decompose.decompose(request)) == 3


def test_the_order_of_the_steps_is_that_of_the_code() -> None:
    steps = re.findall(r"^\*\*([A-Z][\w ]+)\.\*\*", DEFAULT, re.MULTILINE)
    assert steps == ["Typed values", "Clauses", "Candidates", "Features", "Clause fusion", "Reranking", "Completion"]
    source = inspect.getsource(graph_retriever.GraphRetriever.retrieve)
    assert 0 < source.index("_reranker.rerank(") < source.index("self.complete(")
