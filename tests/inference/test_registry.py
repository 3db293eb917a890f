"""Names to models, missing extras, and what importing the package brings along."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import inference
from inference import ENCODER_NAMES, RERANKER_NAMES, Encoder, HashingEncoder, MiniLmEncoder, load_encoder, load_reranker
from inference.encoder import SentenceTransformersEncoder
from inference.openai_client import OpenAIEncoder
from inference.reranker import CrossEncoderReranker
from ontology.errors import InvalidArgumentError, MissingExtraError

URL = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("minilm-l6-int8.v1", MiniLmEncoder),
        ("egotools-minilm-int8.v1", MiniLmEncoder),
        ("hashing.v1", HashingEncoder),
        (f"openai:a@b/c:d@{URL}", OpenAIEncoder),
    ],
)
def test_a_name_gives_the_encoder_that_bears_it(name: str, kind: type[Encoder]) -> None:
    encoder = load_encoder(name)
    assert type(encoder) is kind
    assert encoder.name == name


@pytest.mark.parametrize("name", [f"http:{URL}/rerank", f"http:BAAI/bge@{URL}/rerank"])
def test_http_reranker_by_address(name: str) -> None:
    assert load_reranker(name).name == name


ENCODERS = ("", "minilm", "minilm-l6-int8.v2", "openai:", "openai:model", f"openai:@{URL}", "sentence-transformers:")
RERANKERS = ("", "fusion.v2", "http:", "http:host", "cross-encoder:", "https:x@ftp://y")


@pytest.mark.parametrize(
    ("kind", "name"), [*(("encoder", name) for name in ENCODERS), *(("reranker", name) for name in RERANKERS)]
)
def test_an_unknown_name_lists_the_known(kind: str, name: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        (load_encoder if kind == "encoder" else load_reranker)(name)
    assert caught.value.subject == kind
    assert all(known in str(caught.value) for known in (ENCODER_NAMES if kind == "encoder" else RERANKER_NAMES))


@pytest.mark.parametrize(
    ("module", "make"), [("sentence_transformers", SentenceTransformersEncoder), ("transformers", CrossEncoderReranker)]
)
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, module: str, make: Callable[[str], object]) -> None:
    for absent in (module, "torch"):
        monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(MissingExtraError, match=r"requirements/torch\.txt") as caught:
        make("x")
    assert caught.value.extra == "torch"


def test_importing_the_package_imports_no_model_library() -> None:
    heavy = ("onnxruntime", "tokenizers", "openai", "httpx", "torch", "transformers", "sentence_transformers")
    code = f"import sys, inference; print([name for name in {heavy!r} if name in sys.modules])"
    root = Path(inference.__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert done.stdout.strip() == "[]"
