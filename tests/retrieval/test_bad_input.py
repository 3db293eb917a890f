"""Requests that no one should send: each gets an answer, with what it lacks, or a typed error; and nothing of it stays behind."""

import functools
import gc
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from inference import Floats2d, HashingEncoder
from ontology.errors import DeadlineError, InvalidArgumentError, ModelError
from retrieval.engine import Engine
from retrieval.presets import make_presets
from retrieval.query.request import MAX_QUERY_CHARS, Request
from retrieval.snapshot.reader import Snapshot

PRESETS = ("default", "fast", "paper", "rrf", "fusion")
SAID = "please give Jan Ohnesorg of building nine a spot award"

STRANGE = {
    "one word": "supplier",
    "values alone": "4500118277, PO-10482; AW-10482 jan@example.org https://example.org/x?id=7 2025-06-03",
    "Chinese": "显示所有采购订单",
    "combining marks": "o" + "\u0301" * 5_000 + "rder",
    "control characters": "purchase\x00order\x1b[31m\x07",
    "beyond the basic plane": "𝓹𝓾𝓻𝓬𝓱𝓪𝓼𝓮 𝓸𝓻𝓭𝓮𝓻 🏳️‍🌈",
    "letters that grow when folded": "ŉǰΐßﬃ" * 400 + " order",
    "one long word": "x" * MAX_QUERY_CHARS,
    "many words": ("create a purchase order and " * 800)[:MAX_QUERY_CHARS],
    "many values": " ".join(f"PO-{n}" for n in range(3_000))[:MAX_QUERY_CHARS],
    "separators": ("and, " * 4_000)[:MAX_QUERY_CHARS],
    "spaces": "order" + " " * (MAX_QUERY_CHARS - 10) + "item",
    "digits": "1" * MAX_QUERY_CHARS,
}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_strange_request_is_answered_and_twice_the_same(
    engine: Engine, preset: str, subtests: pytest.Subtests
) -> None:
    for kind, query in STRANGE.items():
        with subtests.test(ascii(kind)):
            request = Request(query=query, k=5, auto_k=False)
            answer = engine.retriever(preset).retrieve(request)
            assert all(np.isfinite(tool.score) for tool in answer.tools)
            assert engine.retriever(preset).retrieve(request).tools == answer.tools


@pytest.mark.parametrize(
    "query",
    ["", " \n\t", "?!", "\u200b\u200d", "\u0301", "\ud83d", "🙈", "x" * (MAX_QUERY_CHARS + 1)],
    ids=["empty", "white", "marks", "zero width", "accent", "half a pair", "emoji", "too long"],
)
def test_a_request_without_words_or_too_long_is_refused_by_name(query: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        Request(query=query)
    assert caught.value.subject == "query" and len(str(caught.value)) < 500


@pytest.mark.parametrize("preset", PRESETS)
def test_filters_that_contradict_each_other_give_an_empty_answer_and_not_another_tool(
    engine: Engine, preset: str
) -> None:
    contradictions: list[dict[str, Sequence[str]]] = [
        {"line_of_business": ("HR",), "namespace": ("procurement",)},
        {"line_of_business": ("HR", "!HR")},
        {"id": ("hr/get_employee", "!hr/*")},
        {"id": ("!hr/*", "!procurement/*")},
    ]
    for filters in contradictions:
        answer = engine.retriever(preset).retrieve(Request(query=SAID, filters=filters))
        assert answer.tools == ()
        assert answer.fallbacks == ("no tool passes all filters",)


class _Failing(HashingEncoder):
    """An encoder that is down for everything, or gives no vector for anything."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self._error = error

    def encode(self, texts: Sequence[str]) -> Floats2d:
        if self._error is not None:
            raise self._error
        return np.zeros((len(texts), self.dimensions), dtype=np.float32)


@pytest.mark.parametrize(
    ("preset", "query"),
    [
        *(("default", query) for query in ("find the supplier", "4500118277", "x" * MAX_QUERY_CHARS)),
        *((preset, "find the supplier") for preset in ("hybrid", "rrf", "fusion")),
        ("fusion", "显示所有采购订单"),
    ],
)
def test_with_the_encoder_down_the_words_still_answer_and_the_answer_says_so(
    snapshot: Snapshot, preset: str, query: str
) -> None:
    down = _Failing(ModelError("the endpoint does not answer", subject="http://127.0.0.1:9"))
    answer = make_presets(snapshot, down)[preset].retrieve(
        Request(query=query, filters={"namespace": ("procurement",)})
    )
    assert answer.fallbacks == ("no semantic matching: the endpoint does not answer",)
    assert bool(answer.tools) == ("supplier" in query)
    assert all(tool.id.startswith("procurement/") for tool in answer.tools)


@pytest.mark.parametrize("preset", PRESETS)
def test_no_stage_starts_after_the_deadline(snapshot: Snapshot, preset: str) -> None:
    class Slow(HashingEncoder):
        def encode(self, texts: Sequence[str]) -> Floats2d:
            time.sleep(0.2)
            return super().encode(texts)

    retriever = make_presets(snapshot, Slow())[preset]
    with pytest.raises(DeadlineError) as caught:
        retriever.retrieve(Request(query=STRANGE["many words"], deadline=time.monotonic() + 0.1))
    assert caught.value.subject == "entry"


def test_no_request_is_kept_in_memory(engine: Engine) -> None:
    before = max(map(len, _kept_texts()), default=0)
    for query in (SAID, "x" * MAX_QUERY_CHARS, STRANGE["many values"]):
        for preset in PRESETS:
            engine.retriever(preset).retrieve(Request(query=query, k=3))
    kept = list(_kept_texts())
    assert not [text for text in kept if text in SAID and text.count(" ") >= 5]
    assert max(map(len, kept), default=0) <= max(before, 100)


_CACHED = type(functools.cache(len))


def _kept_texts() -> Iterator[str]:
    """The texts in the caches of functions that answer requests."""
    caches = [
        value
        for name, module in list(sys.modules.items())
        if name.startswith(("retrieval.", "ontology.", "inference.", "egotools."))
        for value in vars(module).values()
        if isinstance(value, _CACHED)
    ]
    seen: set[int] = set()
    left: list[Any] = [each for cache in caches for each in gc.get_referents(cache)]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, type) or callable(one) or type(one).__name__ == "module":
            continue
        seen.add(id(one))
        if isinstance(one, str):
            yield one
        else:
            left.extend(gc.get_referents(one))
