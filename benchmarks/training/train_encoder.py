"""Tune all-MiniLM-L6-v2 on labelled requests, so that requests lie near all the tools that they need.

In the environment of ``export_minilm.py`` (torch), from the repository's root::

    python -m benchmarks.training.train_encoder MODEL_FOLDER --groups /tmp/train/groups.jsonl --out /tmp/train/run --steps 500

A line of the groups has ``query``, ``positives`` and ``negatives`` (texts of documents), and ``positive_ids`` and ``negative_ids``. Those of the
shipped model were made of two labelled sets, of documentation, and of requests by a generator that is gone; ``card.json`` has their digest,
and commit ``af366a6b`` has what made them. The loss is InfoNCE: over all documents of a batch, at temperature 0.05, each needed document against every document that
the request does not need; further needed ones count on neither side. Word and position embeddings stay as they are.
Written are ``step-N.safetensors`` at a third, two thirds and the end, with the published names of the tensors.
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

from benchmarks.training.export_minilm import LAYERS, build_model, load_published

TEMPERATURE = 0.05
WARM_UP = 0.1
WEIGHT_DECAY = 0.01
LARGEST_GRADIENT = 1.0
SAID_EVERY = 5
QUERY_TOKENS, DOCUMENT_TOKENS = 48, 56
MOST_POSITIVES = 2
POOL = 16
"""Batches whose groups are sorted by length together: long beside long costs least padding, and all else stays random."""


@dataclass(frozen=True, slots=True)
class Group:
    """A request in token numbers, and the documents that it needs and that it does not, by key and in token numbers."""

    query: list[int]
    positives: list[tuple[str, list[int]]]
    negatives: list[tuple[str, list[int]]]

    @property
    def length(self) -> int:
        """Tokens of the longest document."""
        return max(len(ids) for _, ids in (*self.positives, *self.negatives))


@dataclass(frozen=True, slots=True)
class Batch:
    """Requests and documents.

    :param queries: token numbers of each request.
    :param documents: token numbers of each document; of each tool one.
    :param wanted: (request, document) of each pair that belongs together.
    :param hidden: (request, document) of further right pairs: they are neither pulled nor pushed.
    """

    queries: list[list[int]]
    documents: list[list[int]]
    wanted: list[tuple[int, int]]
    hidden: set[tuple[int, int]]


def read_groups(path: Path, tokenizer: Any) -> list[Group]:
    """The groups of a file, in token numbers cut to what training reads.

    :param tokenizer: one of the library ``tokenizers``, that does not pad.
    """

    def encode(texts: Sequence[str], most: int) -> list[list[int]]:
        tokenizer.enable_truncation(most)
        return [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]

    groups = []
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        documents = encode([*row["positives"], *row["negatives"]], DOCUMENT_TOKENS)
        keyed = list(zip([*row["positive_ids"], *row["negative_ids"]], documents, strict=True))
        count = len(row["positives"])
        if count and len(keyed) > count:
            groups.append(Group(encode([row["query"]], QUERY_TOKENS)[0], keyed[:count], keyed[count:]))
    return groups


def batches(groups: Sequence[Group], size: int, negatives: int, rng: random.Random) -> Iterator[Batch]:
    """Batches without end: each group once an epoch, with some of its positives and hard negatives."""
    while True:
        mixed = rng.sample(groups, len(groups))
        for start in range(0, len(mixed), size * POOL):
            pool = sorted(mixed[start : start + size * POOL], key=lambda group: group.length)
            parts = [pool[place : place + size] for place in range(0, len(pool) - size + 1, size)]
            for part in rng.sample(parts, len(parts)):
                yield _batch(part, negatives, rng)


def _batch(groups: Sequence[Group], negatives: int, rng: random.Random) -> Batch:
    documents: dict[str, list[int]] = {}
    wanted_keys: list[list[str]] = []
    for group in groups:
        positives = rng.sample(group.positives, min(MOST_POSITIVES, len(group.positives)))
        chosen = rng.sample(group.negatives, min(negatives, len(group.negatives)))
        wanted_keys.append([key for key, _ in positives])
        for key, ids in (*positives, *chosen):
            documents.setdefault(key, ids)
    place = {key: number for number, key in enumerate(documents)}
    wanted = [(row, place[key]) for row, keys in enumerate(wanted_keys) for key in keys]
    gold = {(row, place[key]) for row, group in enumerate(groups) for key, _ in group.positives if key in place}
    return Batch([group.query for group in groups], list(documents.values()), wanted, gold - set(wanted))


def padded(rows: list[list[int]]) -> tuple[Any, Any]:
    """Token numbers and mask, int64 [texts, tokens]."""
    import torch

    ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row)
        mask[number, : len(row)] = 1
    return ids, mask


def loss_of(model: Any, batch: Batch) -> Any:
    """InfoNCE of a batch."""
    import torch

    with torch.autocast("cpu", dtype=torch.bfloat16):
        queries, documents = model(*padded(batch.queries)), model(*padded(batch.documents))
    scores = queries.float() @ documents.float().T / TEMPERATURE
    right = torch.zeros_like(scores, dtype=torch.bool)
    for row, column in (*batch.wanted, *batch.hidden):
        right[row, column] = True
    others = torch.logsumexp(scores.masked_fill(right, float("-inf")), dim=1)
    rows, columns = (torch.tensor(part) for part in zip(*batch.wanted, strict=True))
    losses = torch.logaddexp(scores[rows, columns], others[rows]) - scores[rows, columns]
    counts = torch.bincount(rows, minlength=len(batch.queries))
    return (losses / counts[rows]).sum() / len(batch.queries)


def published(model: Any, base: Mapping[str, Any]) -> dict[str, Any]:
    """The weights under the published names; what was not trained as it was."""
    state = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    weights = dict(base)
    pairs = [("norm", "embeddings.LayerNorm")]
    for number in range(LAYERS):
        here, there = f"layers.{number}", f"encoder.layer.{number}"
        pairs += [
            (f"{here}.out", f"{there}.attention.output.dense"),
            (f"{here}.norm_out", f"{there}.attention.output.LayerNorm"),
            (f"{here}.up", f"{there}.intermediate.dense"),
            (f"{here}.down", f"{there}.output.dense"),
            (f"{here}.norm_down", f"{there}.output.LayerNorm"),
        ]
        for kind in ("weight", "bias"):
            parts = state[f"{here}.qkv.{kind}"].chunk(3)
            for part, name in zip(parts, ("query", "key", "value"), strict=True):
                weights[f"{there}.attention.self.{name}.{kind}"] = part.clone().contiguous()
    for here, there in pairs:
        for kind in ("weight", "bias"):
            weights[f"{there}.{kind}"] = state[f"{here}.{kind}"].clone()
    return weights


def interpolated(base: Mapping[str, Any], tuned: Mapping[str, Any], share: float) -> dict[str, Any]:
    """(1 - share) of the base weights and share of the tuned ones (Wortsman et al., WiSE-FT, CVPR 2022).

    A model between the two keeps more of what the base knew of requests unlike the training data.
    """
    return {
        name: (1 - share) * tensor + share * tuned[name] if tensor.is_floating_point() else tensor
        for name, tensor in base.items()
    }


def schedule(step: int, steps: int) -> float:
    """Share of the highest learning rate: a linear rise, then a linear fall to a twentieth."""
    warm = max(1, int(steps * WARM_UP))
    return (step + 1) / warm if step < warm else max(0.05, (steps - step) / (steps - warm))


def main() -> None:
    """Train and save."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path, help="the folder with model.safetensors and tokenizer.json")
    parser.add_argument("--groups", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=32, help="requests of a step")
    parser.add_argument("--negatives", type=int, default=1, help="hard negatives of a request")
    parser.add_argument("--rate", type=float, default=3e-5, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    base = load_published(options.model)
    import torch
    from safetensors.torch import save_file
    from tokenizers import Tokenizer

    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    model = build_model(base).train()
    tokenizer = Tokenizer.from_file(str(options.model / "tokenizer.json"))
    tokenizer.no_padding()
    groups = read_groups(options.groups, tokenizer)
    options.out.mkdir(parents=True, exist_ok=True)
    told = {name: value if isinstance(value, (int, float)) else str(value) for name, value in vars(options).items()}
    told |= {"groups_sha256": hashlib.sha256(options.groups.read_bytes()).hexdigest(), "count": len(groups)}
    (options.out / "options.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    optimiser = torch.optim.AdamW(model.parameters(), lr=options.rate, weight_decay=WEIGHT_DECAY)
    slope = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: schedule(step, options.steps))
    saved_at = {options.steps // 3, 2 * options.steps // 3, options.steps}
    supply = batches(groups, options.batch, options.negatives, random.Random(options.seed))
    started, running = time.perf_counter(), 0.0
    for step in range(1, options.steps + 1):
        loss = loss_of(model, next(supply))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), LARGEST_GRADIENT)
        optimiser.step()
        slope.step()
        running += float(loss.detach())
        if step % SAID_EVERY == 0:
            print(f"step {step} loss {running / SAID_EVERY:.4f} {time.perf_counter() - started:.0f} s", flush=True)
            running = 0.0
        if step in saved_at:
            save_file(published(model, base), str(options.out / f"step-{step}.safetensors"))


if __name__ == "__main__":
    main()
