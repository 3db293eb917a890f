"""Row ``models`` of docs/reliability.md, with few trials."""

from __future__ import annotations

from pathlib import Path

import pytest

from inference import HashingEncoder
from scripts.reliability.chaos_models import DOCUMENT, answers_without
from services.jobs.build import build_snapshot


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "store"
    build_snapshot([str(DOCUMENT)], folder, encoder=HashingEncoder())
    return folder


@pytest.mark.parametrize(("model", "part"), [("encoder", "no semantic matching"), ("reranker", "reranked by")])
@pytest.mark.parametrize("kind", ["down", "late"])
def test_an_answer_without_a_model_says_so(store: Path, model: str, part: str, kind: str) -> None:
    answers, _ = answers_without(store, model, kind, 3)
    assert [bool(answer.tools) for answer in answers] == [True] * 3
    assert all(any(said.startswith(part) for said in answer.fallbacks) for answer in answers)
