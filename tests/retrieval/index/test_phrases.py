"""Everyday phrases in a snapshot: the best of a tool counts for ``default`` and for nothing else."""

from pathlib import Path

import numpy as np
import pytest

from eval.systems import make_ablations
from inference import HashingEncoder
from retrieval.engine import Engine
from retrieval.index.phrases import PhraseVectors, phrases_of
from retrieval.query.request import Request
from retrieval.snapshot.reader import open_snapshot
from tests.retrieval.conftest import SAID

ENCODER = HashingEncoder()


def test_the_cosine_of_a_tool_is_that_of_its_best_phrase_and_of_its_text_where_it_has_none(said: Path) -> None:
    snapshot = open_snapshot(said)
    vectors = snapshot.phrase_vectors
    assert isinstance(vectors, PhraseVectors)
    asked = ENCODER.encode(["reward a vendor for great work", "find suppliers by words"])
    tools = np.asarray([5, 2, 0, 3])
    found = vectors.similarities_of(list(asked), tools)
    for query_D, cosines in zip(asked, found, strict=True):
        texts = [phrases_of(snapshot.tool(int(tool))) or (snapshot.node_text(int(tool)),) for tool in tools]
        expected = [max(float(row @ query_D) for row in ENCODER.encode(list(each))) for each in texts]
        assert cosines == pytest.approx(expected, abs=2e-3)
    assert len(vectors.similarities(asked[0], np.empty(0, dtype=np.int64))) == 0
    award = snapshot.tool_number("hr/give_spot_award")
    assert award in vectors.nearest_tools(asked[0], 2)
    hidden = np.ones(snapshot.tool_count, dtype=bool)
    hidden[award] = False
    assert award not in vectors.nearest_tools(asked[0], 4, allowed=hidden)


@pytest.mark.parametrize("words", ["a little something for going the extra mile", "buy from a vendor"])
def test_words_of_a_phrase_find_its_tool_with_phrases_alone(said: Path, engine: Engine, words: str) -> None:
    wanted = next(tool for tool, texts in SAID.items() if words in texts)
    with_phrases = Engine(open_snapshot(said), ENCODER)
    assert with_phrases.retriever("default").retrieve(Request(query=words, k=1)).tools[0].id == wanted
    assert with_phrases.retriever("default").retrieve(Request(query="", needs=(words,), k=1)).tools[0].id == wanted
    without = make_ablations(with_phrases.snapshot, ENCODER)["default-no-phrases"]
    for found, plain in (
        (without.retrieve(Request(query=words, k=6)), engine.retriever("default").retrieve(Request(query=words, k=6))),
        *((each.retriever(preset).retrieve(Request(query=words, k=6)) for each in (with_phrases, engine)) for preset in ("rrf", "paper", "bm25", "fusion")),
    ):  # fmt: skip
        assert [(tool.id, tool.score) for tool in found.tools] == [(tool.id, tool.score) for tool in plain.tools]


def test_an_answer_says_what_people_say_where_no_word_of_the_document_matches(said: Path) -> None:
    found = Engine(open_snapshot(said), ENCODER).retriever("default")
    first = found.retrieve(Request(query="going the extra mile", k=1, explanation=True)).tools[0]
    assert first.explanation.startswith('people say "a little something for going the extra mile')


def test_a_caller_finds_no_hidden_tool_by_its_phrases(said: Path) -> None:
    visible = Engine(open_snapshot(said), ENCODER).restricted({"line_of_business": ["HR"]})
    found = visible.retriever("default").retrieve(Request(query="buy from a vendor", k=10)).tools
    assert all(tool.id.startswith("hr/") for tool in found)
