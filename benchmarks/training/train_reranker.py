"""Teach the cross-encoder ``egotools-cross-int8.v1`` to tell the tool of a need from its siblings, and export it.

In the environment of ``export_minilm.py`` (torch), from the repository's root, after ``python -m benchmarks.training.corpus OUT``::

    python -m benchmarks.training.train_reranker MODEL_FOLDER --start EXPORTED_FOLDER --lists OUT/lists.jsonl --out RUN

A list is a need or a phrase, its operation, and up to fourteen others of the same document that BM25 and the encoder rank highest. Of them six
are read beside the right one; the loss is the cross-entropy over the seven scores. First it reads needs and phrases that were written from their
operations, then mostly needs that were asked for a request, as agents write them. Documents of every fifth catalogue (by a hash of its name)
are never read: the model is judged on them. The model is the encoder with token types and one score over [CLS] and the mean of the tokens.
The embeddings and the lowest layer stay as they are. RUN gets ``model.onnx``, ``tokenizer.json`` and ``card.json``, as they ship.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.training.export_minilm import (
    PUBLISHED_SHA256,
    WIDTH,
    build_model,
    export_tokenizer,
    load_start,
    quantise,
)
from retrieval.snapshot.manifest import file_digest

NAME = "egotools-cross-int8.v1"
QUERY_TOKENS, DOCUMENT_TOKENS = 32, 40
LISTS, HARDEST, OTHERS = 8, 3, 6  # of a step; of its wrong tools so many of the six hardest; wrong tools of a list
LEAST_RATE, WEIGHT_DECAY = 0.02, 0.01
SAID_EVERY = 25
INPUTS = ("input_ids", "token_type_ids", "attention_mask")


@dataclass(frozen=True)
class Phase:
    """A part of the training; ``shares`` says how many of the lists of a kind are read in an epoch."""

    steps: int
    shares: Mapping[str, float]
    document_tokens: int
    rate: float
    rate_of_head: float
    warm_up: float


PHASES = (
    Phase(2_600, {"needs": 1.0, "phrases": 0.35, "asked": 0.0}, 60, 8e-5, 1e-3, 0.06),
    Phase(1_500, {"needs": 0.14, "phrases": 0.04, "asked": 1.0}, DOCUMENT_TOKENS, 5e-5, 3e-4, 0.03),
)
# The constants above are chosen. Of the lengths of a document 60 and 40 tokens were measured, and training with and without the second phase.

Pair = tuple[list[int], list[int]]
"""Token numbers, and of each whether it is of the tool."""


def is_judged(document: str) -> bool:
    """Whether a document, every fifth by a hash of its name, is kept for judging what learnt from the others."""
    return int(hashlib.sha256(document.encode()).hexdigest(), 16) % 5 == 0


def build_cross_encoder(weights: dict[str, Any]) -> Any:
    """The encoder with token types and a score, in torch."""
    import torch
    from torch import nn

    class CrossEncoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.enc = build_model(weights)
            types = weights["embeddings.token_type_embeddings.weight"]
            self.seg = nn.Parameter((types[1] - types[0]).clone())  # the first is part of the positions
            self.head = nn.Linear(2 * WIDTH, 1)
            nn.init.normal_(self.head.weight, std=0.02)
            nn.init.zeros_(self.head.bias)

        def forward(self, ids: torch.Tensor, second: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
            words = self.enc.words[ids].float() * self.enc.scale[ids] + self.enc.positions[: ids.shape[1]]
            hidden = self.enc.norm(words + second.float().unsqueeze(-1) * self.seg)
            here = present.float()
            for layer in self.enc.layers:
                hidden = layer(hidden, (1 - here)[:, None, None, :] * -1e9)
            mean = (hidden * here[:, :, None]).sum(1) / here.sum(1, keepdim=True)
            return self.head(torch.cat([hidden[:, 0], mean], 1)).squeeze(1)

    return CrossEncoder()


def pair(query: list[int], document: list[int], most: int) -> Pair:
    """[CLS] query [SEP] document [SEP]. ``most``: tokens of the document."""
    first, second = [101, *query[:QUERY_TOKENS], 102], [*document[:most], 102]
    return first + second, [0] * len(first) + [1] * len(second)


def padded(pairs: Sequence[Pair]) -> tuple[Any, Any, Any]:
    """Token numbers, their types and which are there, int64 [pairs, tokens]."""
    import torch

    tensors = torch.zeros(3, len(pairs), max(len(ids) for ids, _ in pairs), dtype=torch.int64)
    for row, (ids, second) in enumerate(pairs):
        tensors[0, row, : len(ids)], tensors[1, row, : len(ids)] = torch.tensor(ids), torch.tensor(second)
        tensors[2, row, : len(ids)] = 1
    return tensors[0], tensors[1], tensors[2]


def batches(
    lists: Sequence[dict[str, Any]], tokens: dict[str, list[int]], phase: Phase, rng: random.Random
) -> Iterator[Any]:
    """Batches of lists without end: of each the right pair, then the wrong ones."""
    most = phase.document_tokens
    pool: list[dict[str, Any]] = []
    while True:
        if len(pool) < LISTS:
            pool = [one for one in lists if rng.random() < phase.shares[one["kind"]]]
            rng.shuffle(pool)
        made = []
        for one in (pool.pop() for _ in range(LISTS)):
            hard = rng.sample(one["others"][:6], min(HARDEST, len(one["others"])))
            rest = [text for text in one["others"] if text not in hard]
            wrong = hard + rng.sample(rest, min(OTHERS - len(hard), len(rest)))
            made.append([pair(tokens[one["query"]], tokens[text], most) for text in (one["right"], *wrong)])
        yield made


def train(model: Any, supply: Iterator[Any], phase: Phase) -> None:
    """Train in place."""
    import torch

    steps = phase.steps
    for parameter in model.enc.layers[0].parameters():
        parameter.requires_grad_(False)
    head = list(model.head.parameters())
    body = [each for name, each in model.named_parameters() if each.requires_grad and not name.startswith("head")]
    groups = [{"params": body}, {"params": head, "lr": phase.rate_of_head}]
    optimiser = torch.optim.AdamW(groups, lr=phase.rate, weight_decay=WEIGHT_DECAY)
    warm = steps * phase.warm_up
    slope = torch.optim.lr_scheduler.LambdaLR(
        optimiser,
        lambda step: (step + 1) / warm if step < warm else max(LEAST_RATE, (steps - step) / (steps - warm)),
    )
    started, running = time.perf_counter(), 0.0
    for step in range(1, steps + 1):
        lists = next(supply)
        flat = [each for one in lists for each in one]
        order = sorted(range(len(flat)), key=lambda place: len(flat[place][0]))
        scores = torch.empty(len(flat))
        for half in (order[: len(order) // 2], order[len(order) // 2 :]):  # short and long ones apart: less padding
            with torch.autocast("cpu", dtype=torch.bfloat16):
                found = model(*padded([flat[place] for place in half]))
            scores = scores.index_put((torch.tensor(half),), found.float())
        losses = [-torch.log_softmax(part, 0)[0] for part in scores.split([len(one) for one in lists])]
        loss = torch.stack(losses).mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*body, *head], 1.0)
        optimiser.step()
        slope.step()
        running += float(loss.detach())
        if step % SAID_EVERY == 0:
            print(f"step {step} loss {running / SAID_EVERY:.4f} {time.perf_counter() - started:.0f} s", flush=True)
            running = 0.0


def export(model: Any, options: argparse.Namespace, count: int) -> None:
    """Write graph, tokenizer and card."""
    import torch

    ids, second = torch.tensor([[101, 2023, 102, 2003, 102]]), torch.tensor([[0, 0, 0, 1, 1]])
    fp32, out = options.out / "fp32.onnx", options.out
    with torch.no_grad():
        torch.onnx.export(
            model.eval(),
            (ids, second, torch.ones_like(ids)),
            str(fp32),
            dynamo=False,
            opset_version=17,
            input_names=list(INPUTS),
            output_names=["score"],
            dynamic_axes={name: {0: "pairs", 1: "tokens"} for name in INPUTS} | {"score": {0: "pairs"}},
        )
    quantise(fp32, out / "model.onnx")
    export_tokenizer(options.model / "tokenizer.json", out / "tokenizer.json")
    start = json.loads((options.start / "card.json").read_text(encoding="utf-8"))
    card = {
        "name": NAME,
        "model": "all-MiniLM-L6-v2 as a cross-encoder, trained to tell the tool of a need from its siblings",
        "licence": "Apache-2.0",
        "languages": ["English"],
        "base": {
            "model": "sentence-transformers/all-MiniLM-L6-v2",
            "licence": "Apache-2.0",
            "sha256": PUBLISHED_SHA256,
        },
        "start": {"name": start["name"], "sha256": start["files"]["model.onnx"]["sha256"]},
        "made_by": "benchmarks/training: corpus.py, train_reranker.py",
        "training": {
            "steps": [phase.steps for phase in PHASES],
            "seed": options.seed,
            "lists": count,
            "lists_sha256": file_digest(options.lists),
            "data": "benchmarks/training/written/DATASHEET.md, without every fifth document",
        },
        "query_tokens": QUERY_TOKENS,
        "document_tokens": DOCUMENT_TOKENS,
        "files": {name: {"sha256": file_digest(out / name)} for name in ("model.onnx", "tokenizer.json")},
    }
    (out / "card.json").write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    """Train and export."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path, help="the folder with model.safetensors and tokenizer.json of the base")
    parser.add_argument("--start", type=Path, required=True, help="folder of an exported model of the same base")
    parser.add_argument("--lists", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    import torch
    from tokenizers import Tokenizer

    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    lists = [json.loads(line) for line in options.lists.read_text(encoding="utf-8").splitlines()]
    lists = [one for one in lists if not is_judged(one["document"])]
    tokenizer = Tokenizer.from_file(str(options.model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    texts = sorted({text for one in lists for text in (one["query"], one["right"], *one["others"])})
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    tokens = {text: each.ids for text, each in zip(texts, encoded, strict=True)}
    model = build_cross_encoder(load_start(options.model, options.start)).train()
    for number, phase in enumerate(PHASES):
        train(model, batches(lists, tokens, phase, random.Random(options.seed + number)), phase)
    options.out.mkdir(parents=True, exist_ok=True)
    export(model, options, len(lists))


if __name__ == "__main__":
    main()
