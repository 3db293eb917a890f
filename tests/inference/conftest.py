"""Servers and tiny models for the tests of the model seams."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inference import RetryPolicy
from tests.harness.http_server import Arrived, Loopback, Reply
from tests.harness.servers import free_port

Serve = Callable[[Callable[[Arrived], Reply]], Loopback]

NO_TORCH = "the extra 'torch' is not installed: models that need it are not tested here"
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz!?."]
VOCABULARY += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start servers; they stop with the test."""
    servers: list[Loopback] = []

    def start(answer: Callable[[Arrived], Reply]) -> Loopback:
        servers.append(Loopback(answer))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def swift() -> RetryPolicy:
    """Two retries that hardly wait."""
    return RetryPolicy(max_retries=2, base_delay_s=0.001, max_delay_s=0.002)


@pytest.fixture
def dead_url() -> str:
    """An address of this machine on which nobody listens."""
    return f"http://127.0.0.1:{free_port()}"


def tiny_bert(folder: Path, *, classifier: bool) -> Path:
    """Save a BERT of random weights, two layers and sixteen dimensions, that reads letter by letter."""
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    transformers: Any = pytest.importorskip("transformers", reason=NO_TORCH)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    # Saved as tokenizer.json, the one form that every release of the library reads alike.
    from tokenizers import BertWordPieceTokenizer, Tokenizer

    backend = BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=True)
    specials = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(backend.to_str()), model_max_length=64, **specials
    ).save_pretrained(str(folder))
    config = transformers.BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        num_labels=1,
    )
    torch.manual_seed(7)
    kind = transformers.BertForSequenceClassification if classifier else transformers.BertModel
    kind(config).save_pretrained(str(folder))
    return folder


@pytest.fixture(scope="session")
def tiny_cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("cross-encoder"), classifier=True)


@pytest.fixture(scope="session")
def tiny_sentence_transformer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library: Any = pytest.importorskip("sentence_transformers", reason=NO_TORCH)
    folder = tiny_bert(tmp_path_factory.mktemp("bert"), classifier=False)
    target = tmp_path_factory.mktemp("sentence-transformer")
    # Of a plain transformer the library makes one with mean pooling.
    library.SentenceTransformer(str(folder), device="cpu").save(str(target))
    return target
