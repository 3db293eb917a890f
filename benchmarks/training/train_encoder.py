"""Teach the encoder needs, everyday phrases and requests for tools: they come to lie near the tools that they need.

In the environment of ``export_minilm.py`` (torch), from the repository's root, after ``python -m benchmarks.training.corpus OUT``::

    python -m benchmarks.training.train_encoder MODEL_FOLDER --start EXPORTED_FOLDER --groups OUT/groups.jsonl --out RUN --steps 900

The start is an exported model, whose int8 matrices are read back; without one, the published model. The loss is InfoNCE over the documents of
a batch, at temperature 0.05. A batch is filled with texts of a few catalogues, eight of each, so that most of what a text is told from are
siblings of its tool. Further needed documents, and documents that say the same as a needed one, are neither pulled nor pushed. Word and position
embeddings and the two lowest layers stay as they are. Written are ``step-N.safetensors`` with the published names of the tensors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.training.export_minilm import as_published, build_model, load_start

TEMPERATURE = 0.05
WARM_UP = 0.08
WEIGHT_DECAY = 0.01
LARGEST_GRADIENT = 1.0
SAID_EVERY = 10
QUERY_TOKENS, DOCUMENT_TOKENS = 40, 44
MOST_POSITIVES = 2
OF_A_CATALOGUE = 8
SHARE_OF_PHRASES = 0.5
"""Of the phrases so many are read in an epoch: there are as many as needs, and an agent writes needs."""
SAME = 0.93
"""Cosine from which two documents say the same: twins (PUT and PATCH, v1 and v2) are no wrong answers."""
FROZEN = ("norm.", "layers.0.", "layers.1.")
# The constants above are chosen, not tuned: one run was made.


@dataclass(frozen=True, slots=True)
class Group:
    """A text in token numbers, and the ids of the operations that it needs."""

    kind: str
    query: list[int]
    ids: list[str]


def read_groups(path: Path, tokenizer: Any) -> tuple[list[Group], dict[str, list[int]]]:
    """The groups of a file, and the documents by id, in token numbers cut to what training reads.

    :param tokenizer: one of the library ``tokenizers``, that does not pad.
    """

    def encode(texts: Sequence[str], most: int) -> list[list[int]]:
        tokenizer.enable_truncation(most)
        return [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]

    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    texts = {tool: text for row in rows for tool, text in zip(row["ids"], row["texts"], strict=True)}
    queries = encode([row["query"] for row in rows], QUERY_TOKENS)
    groups = [Group(row["kind"], query, row["ids"]) for row, query in zip(rows, queries, strict=True)]
    return groups, dict(zip(texts, encode(list(texts.values()), DOCUMENT_TOKENS), strict=True))


def batches(groups: Sequence[Group], size: int, rng: random.Random) -> Iterator[list[Group]]:
    """Batches without end, each of a few catalogues."""
    while True:
        by_catalogue: dict[str, list[Group]] = defaultdict(list)
        for group in groups:
            if group.kind != "phrases" or rng.random() < SHARE_OF_PHRASES:
                by_catalogue[group.ids[0].partition("/")[0]].append(group)
        parts = []
        for members in by_catalogue.values():
            rng.shuffle(members)
            parts += [members[at : at + OF_A_CATALOGUE] for at in range(0, len(members), OF_A_CATALOGUE)]
        rng.shuffle(parts)
        row = [group for part in parts for group in part]
        yield from (row[at : at + size] for at in range(0, len(row) - size + 1, size))


def padded(rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Token numbers and mask, int64 [texts, tokens]."""
    import torch

    ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row)
        mask[number, : len(row)] = 1
    return ids, mask


def embedded(model: Any, rows: Sequence[Sequence[int]]) -> Any:
    """The vectors of texts, [texts, dimensions]; short and long ones pass apart, which saves padding."""
    import torch

    order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
    halves = [part for part in (order[: len(order) // 2], order[len(order) // 2 :]) if part]
    vectors = torch.cat([model(*padded([rows[number] for number in part])) for part in halves])
    back = torch.empty(len(rows), dtype=torch.int64)
    back[torch.tensor(order)] = torch.arange(len(rows))
    return vectors[back]


def loss_of(model: Any, batch: Sequence[Group], documents: Mapping[str, list[int]], rng: random.Random) -> Any:
    """InfoNCE of a batch."""
    import torch

    place: dict[str, int] = {}
    pairs = [
        (row, place.setdefault(tool, len(place)))
        for row, group in enumerate(batch)
        for tool in rng.sample(group.ids, min(MOST_POSITIVES, len(group.ids)))
    ]
    vectors = embedded(model, [documents[tool] for tool in place])
    scores = embedded(model, [group.query for group in batch]) @ vectors.T / TEMPERATURE
    rows, columns = (torch.tensor(part) for part in zip(*pairs, strict=True))
    hidden = torch.zeros_like(scores, dtype=torch.bool)
    for row, group in enumerate(batch):
        hidden[row, [place[tool] for tool in group.ids if tool in place]] = True
    same = (vectors.detach() @ vectors.detach().T) > SAME
    for row, column in pairs:
        hidden[row] |= same[column]
    others = torch.logsumexp(scores.masked_fill(hidden, float("-inf")), dim=1)
    losses = torch.logaddexp(scores[rows, columns], others[rows]) - scores[rows, columns]
    counts = torch.bincount(rows, minlength=len(batch))
    return (losses / counts[rows]).sum() / len(batch)


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
    parser.add_argument("model", type=Path, help="the folder with model.safetensors and tokenizer.json of the base")
    parser.add_argument("--start", type=Path, help="folder of an exported model of the same base")
    parser.add_argument("--groups", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--batch", type=int, default=48, help="texts of a step")
    parser.add_argument("--rate", type=float, default=4e-5, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    import torch
    from safetensors.torch import save_file
    from tokenizers import Tokenizer

    base = load_start(options.model, options.start)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    model = build_model(base).train()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not name.startswith(FROZEN))
    tokenizer = Tokenizer.from_file(str(options.model / "tokenizer.json"))
    tokenizer.no_padding()
    groups, documents = read_groups(options.groups, tokenizer)
    options.out.mkdir(parents=True, exist_ok=True)
    told = {name: value if isinstance(value, (int, float)) else str(value) for name, value in vars(options).items()}
    told |= {"groups_sha256": hashlib.sha256(options.groups.read_bytes()).hexdigest(), "count": len(groups)}
    (options.out / "options.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    learnt = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(learnt, lr=options.rate, weight_decay=WEIGHT_DECAY)
    slope = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: schedule(step, options.steps))
    rng = random.Random(options.seed)
    supply = batches(groups, options.batch, rng)
    started, running = time.perf_counter(), 0.0
    for step in range(1, options.steps + 1):
        loss = loss_of(model, next(supply), documents, rng)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learnt, LARGEST_GRADIENT)
        optimiser.step()
        slope.step()
        running += float(loss.detach())
        if step % SAID_EVERY == 0:
            print(f"step {step} loss {running / SAID_EVERY:.4f} {time.perf_counter() - started:.0f} s", flush=True)
            running = 0.0
        if step in {options.steps // 3, 2 * options.steps // 3, options.steps}:
            save_file(
                as_published({name: tensor.detach() for name, tensor in model.state_dict().items()}, base),
                str(options.out / f"step-{step}.safetensors"),
            )


if __name__ == "__main__":
    main()
