"""Train the small cross-encoder ``egotools-reranker-int8.v1`` from the MiniLM weights.

In the environment of ``research/export_minilm.py``, from the repository's root, with the groups of :mod:`research.train.training_data`::

    python -m research.train.train_reranker MODEL --groups /tmp/train/groups.jsonl --valid /tmp/train/valid.jsonl --out /tmp/train/reranker

What is trained: the first layers of all-MiniLM-L6-v2 over ``[CLS] request [SEP] tool [SEP]``; of the last one only the first
token, which saves most of that layer. The word embeddings stay as they are, and already int8: a request of a customer has words
that training never showed. The loss of a group is the cross-entropy of each needed tool against the others that look right,
and a binary one beside it, so that a score means something on its own.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from research.export_minilm import HEADS, PUBLISHED_SHA256, WIDTH, build_model, sha256

QUERY_TOKENS, DOCUMENT_TOKENS = 56, 40
LAYERS = 4
NEGATIVES = 5
MOST_POSITIVES = 2
TOKENS_A_STEP = 1_900
BINARY = 0.3
LAST_SPECIAL = 103
MATCHES, MATCH_AT_START, BIAS_AT_START = 8, 1.5, -6.2  # so that half-met pairs start at the share of needed ones
DROPOUT = 0.1
CHECKED = 80
LONGER, NAME_ONLY, SHUFFLED = 0.15, 0.05, 0.10
LEARNING_RATE, HEAD_RATE, MATCH_RATE, WARM_UP, DECAY = 8e-5, 5e-4, 5e-3, 0.04, 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One group, tokenised: the documents with the needed tools first."""

    query: list[int]
    documents: list[list[int]]
    positives: int

    @property
    def cost(self) -> int:
        """Tokens of all its pairs, padded."""
        return len(self.documents) * (len(self.query) + max(map(len, self.documents)) + 3)


def build_net(weights: dict[str, Any], layers: int = LAYERS, dropout: float = 0.0) -> Any:
    """Build the cross-encoder as a torch module: ids, token types and optionally a mask in, scores [batch] out.

    :param weights: the tensors of the published ``model.safetensors`` by name.
    """
    import torch
    from torch import nn
    from torch.nn import functional

    part = WIDTH // HEADS

    class CrossEncoder(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            base = build_model(weights)
            self.register_buffer("words", base.words)
            self.register_buffer("scale", base.scale)
            self.positions = nn.Parameter(base.positions[: QUERY_TOKENS + DOCUMENT_TOKENS + 3].clone())
            types = weights["embeddings.token_type_embeddings.weight"]
            self.second = nn.Parameter(types[1] - types[0])  # the first type's row is in the positions
            self.norm, self.layers = base.norm, base.layers[:layers]
            self.dense, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)
            self.weight = nn.Linear(WIDTH, 2)
            for linear in (self.dense, self.out, self.weight):
                nn.init.normal_(linear.weight, std=0.02)
                nn.init.zeros_(linear.bias)
            nn.init.constant_(self.out.bias, BIAS_AT_START)
            self.match = nn.Parameter(torch.full((MATCHES,), MATCH_AT_START))

        def forward(self, ids: Any, types: Any, mask: Any = None) -> Any:
            words = self.words[ids].float() * self.scale[ids]
            hidden = self.norm(words + self.positions[: ids.shape[1]] + types[:, :, None].float() * self.second)
            added = None if mask is None else (1 - mask.float())[:, None, None, :] * -1e9
            for layer in self.layers[:-1]:
                hidden = self.step(layer, hidden, hidden, added)
            first = self.step(self.layers[-1], hidden[:, :1], hidden, added)[:, 0]
            read = self.out(self.drop(torch.tanh(self.dense(first))))[:, 0]
            present = (ids > LAST_SPECIAL).float()
            with torch.autocast("cpu", enabled=False):
                sides = (present * (1 - types), present * types)
                weights = self.weight(hidden.float())
                found = [self.matches(of, sides, weights) for of in (words, hidden.float())]
                return read.float() + torch.cat(found, 1) @ self.match

        def matches(self, vectors: Any, sides: Any, weights: Any) -> Any:
            """How well each side's tokens are met by the other's nearest: weighed by what the net makes of them, and evenly."""
            vectors = vectors / vectors.norm(dim=2, keepdim=True).clamp(min=1e-6)
            cosines = vectors @ vectors.transpose(1, 2)
            made = []
            for place, (side, other) in enumerate((sides, sides[::-1])):
                best = (cosines - 4 * (1 - other)[:, None, :]).amax(2).clamp(min=0)
                weighed = torch.softmax(weights[:, :, place] - 1e4 * (1 - side), 1)
                made += [(best * weighed).sum(1), (best * side).sum(1) / side.sum(1).clamp(min=1)]
            return torch.stack(made, 1)

        def step(self, layer: Any, asking: Any, hidden: Any, added: Any) -> Any:
            """One layer, for the tokens of ``asking`` only."""
            batch, tokens, _ = hidden.shape
            count = asking.shape[1]
            if asking is hidden:
                q, k, v = layer.qkv(hidden).reshape(batch, tokens, 3, HEADS, part).permute(2, 0, 3, 1, 4)
            else:
                weight, bias = layer.qkv.weight, layer.qkv.bias
                q = functional.linear(asking, weight[:WIDTH], bias[:WIDTH])
                q = q.reshape(batch, count, HEADS, part).permute(0, 2, 1, 3)
                both = functional.linear(hidden, weight[WIDTH:], bias[WIDTH:])
                k, v = both.reshape(batch, tokens, 2, HEADS, part).permute(2, 0, 3, 1, 4)
            scores = q @ k.transpose(-1, -2) * (1 / math.sqrt(part))
            attention = torch.softmax(scores if added is None else scores + added, -1)
            context = (attention @ v).permute(0, 2, 1, 3).reshape(batch, count, WIDTH)
            asking = layer.norm_out(asking + self.drop(layer.out(context)))
            return layer.norm_down(asking + self.drop(layer.down(functional.gelu(layer.up(asking)))))

        def drop(self, values: Any) -> Any:
            return functional.dropout(values, dropout, self.training) if dropout else values

    return CrossEncoder()


class Examples:
    """Endless examples from the groups, other ones in every pass: other negatives, other forms of the texts."""

    def __init__(self, groups: Sequence[dict[str, Any]], tokenizer: Any, seed: int) -> None:
        self._groups, self._tokenizer, self._rng = groups, tokenizer, random.Random(seed)

    def __iter__(self) -> Iterator[Example]:
        while True:
            for group in self._rng.sample(self._groups, len(self._groups)):
                yield self.example(group)

    def example(self, group: dict[str, Any], *, plain: bool = False) -> Example:
        """Draw positives and negatives; ``plain`` for the texts as they are."""
        rng = self._rng
        positives = rng.sample(group["positives"], min(MOST_POSITIVES, len(group["positives"])))
        negatives = rng.sample(group["negatives"], min(NEGATIVES, len(group["negatives"])))
        query, texts = group["query"], [*positives, *negatives]
        if not plain:
            query, texts = self._longer(query), self._altered(texts)
        return Example(
            query=self._tokens(query, QUERY_TOKENS),
            documents=[self._tokens(text, DOCUMENT_TOKENS) for text in texts],
            positives=len(positives),
        )

    def _longer(self, query: str) -> str:
        """Now and then with another request around it: long requests say more than one tool can do."""
        if self._rng.random() >= LONGER:
            return query
        other = self._rng.choice(self._groups)["query"]
        return f"{query} {other}" if self._rng.random() < 0.5 else f"{other} {query}"

    def _altered(self, texts: list[str]) -> list[str]:
        draw = self._rng.random()
        if draw < NAME_ONLY:
            return [text.partition(". ")[0] for text in texts]
        if draw < NAME_ONLY + SHUFFLED:
            return [" ".join(reversed(text.split(". ", 1))) for text in texts]
        return texts

    def _tokens(self, text: str, limit: int) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text[: 16 * limit], add_special_tokens=False).ids
        return ids[:limit]


def batches(examples: Iterator[Example], pool: int = 256) -> Iterator[list[Example]]:
    """Examples of like length together, up to so many tokens a step, in a mixed order."""
    rng = random.Random(0)
    while True:
        drawn = sorted((next(examples) for _ in range(pool)), key=lambda one: one.cost / len(one.documents))
        made: list[list[Example]] = [[]]
        for one in drawn:
            if made[-1] and sum(other.cost for other in made[-1]) + one.cost > TOKENS_A_STEP:
                made.append([])
            made[-1].append(one)
        rng.shuffle(made)
        yield from made


def tensors(batch: Sequence[Example]) -> tuple[Any, Any, Any]:
    """Ids, token types and mask of all pairs of the batch, padded."""
    import torch

    pairs = [(one.query, document) for one in batch for document in one.documents]
    longest = max(len(query) + len(document) for query, document in pairs) + 3
    ids = torch.zeros((len(pairs), longest), dtype=torch.long)
    types, mask = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, (query, document) in enumerate(pairs):
        tokens = [101, *query, 102, *document, 102]
        ids[row, : len(tokens)] = torch.tensor(tokens)
        types[row, len(query) + 2 : len(tokens)] = 1
        mask[row, : len(tokens)] = 1
    return ids, types, mask


def loss_of(scores: Any, batch: Sequence[Example]) -> Any:
    """Each needed tool against the others, and each pair on its own."""
    import torch
    from torch.nn import functional

    total, start = scores.new_zeros(()), 0
    for one in batch:
        own = scores[start : start + len(one.documents)]
        start += len(own)
        right, wrong = own[: one.positives], own[one.positives :]
        lists = torch.cat([right[:, None], wrong.expand(one.positives, -1)], 1)
        wanted = torch.zeros_like(own)
        wanted[: one.positives] = 1
        total = total - torch.log_softmax(lists, 1)[:, 0].mean()
        total = total + BINARY * functional.binary_cross_entropy_with_logits(own, wanted)
    return total / len(batch)


def validate(net: Any, examples: Sequence[Example]) -> tuple[float, float]:
    """Mean loss, and the share of groups whose needed tools are all above the others."""
    import torch

    net.eval()
    losses, right = 0.0, 0
    with torch.inference_mode():
        for one in examples:
            scores = net(*tensors([one]))
            losses += float(loss_of(scores, [one]))
            right += bool(scores[: one.positives].min() > scores[one.positives :].max())
    net.train()
    return losses / len(examples), right / len(examples)


def train(options: argparse.Namespace) -> None:
    """Train for so many steps, and write the net now and then."""
    import torch
    from safetensors.torch import load_file, save_file
    from tokenizers import Tokenizer

    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    tokenizer = Tokenizer.from_file(str(options.model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    groups, held = read(options.groups), read(options.valid)
    examples = Examples(groups, tokenizer, options.seed)
    checks = [
        Examples(held, tokenizer, 1).example(one, plain=True)
        for one in random.Random(1).sample(held, min(CHECKED, len(held)))
    ]
    net = build_net(load_file(str(options.model / "model.safetensors")), options.layers, DROPOUT).train()
    if options.start:
        net.load_state_dict(load_file(str(options.start)))
    optimizer = _optimizer(net)
    rates = [group["lr"] for group in optimizer.param_groups]
    options.out.mkdir(parents=True, exist_ok=True)
    started, seen, mean = time.monotonic(), 0, 0.0
    for step, batch in enumerate(batches(iter(examples))):
        done = max(step / options.steps, (time.monotonic() - started) / 60 / options.minutes)
        share = min(1.0, done / WARM_UP, max(0.0, 1 - done) / (1 - WARM_UP))
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * max(share, 1e-3)
        now = _step(net, optimizer, batch, bf16=options.bf16)
        seen += len(batch)
        mean = now if not step else 0.98 * mean + 0.02 * now
        if step % options.every == 0 or done >= 1:
            save_file(net.state_dict(), str(options.out / "net.safetensors"))
            valid = "loss {:.3f} right {:.3f}".format(*validate(net, checks))
            spent = time.monotonic() - started
            print(f"step {step:,} groups {seen:,} {spent:.0f} s: loss {mean:.3f}, valid {valid}", flush=True)
        if done >= 1:
            break
    run = {
        "seed": options.seed,
        "layers": options.layers,
        "steps": step + 1,
        "groups_seen": seen,
        "groups": {"count": len(groups), "sha256": sha256(options.groups)},
        "minutes": round((time.monotonic() - started) / 60, 1),
    }
    (options.out / "run.json").write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")


def _optimizer(net: Any) -> Any:
    """One learning rate for the layers, one for the head, and one for the weights of matching tokens."""
    import torch

    head = [*net.dense.parameters(), *net.out.parameters(), *net.weight.parameters()]
    apart = {id(parameter) for parameter in (*head, net.match)}
    body = [parameter for parameter in net.parameters() if id(parameter) not in apart]
    return torch.optim.AdamW(
        [
            {"params": body, "lr": LEARNING_RATE},
            {"params": head, "lr": HEAD_RATE},
            {"params": [net.match], "lr": MATCH_RATE, "weight_decay": 0.0},
        ],
        weight_decay=DECAY,
    )


def _step(net: Any, optimizer: Any, batch: Sequence[Example], *, bf16: bool) -> float:
    """One step of training; returns the loss of the batch."""
    import torch

    ids, types, mask = tensors(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
        scores = net(ids, types, mask).float()
    loss = loss_of(scores, batch)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


def read(path: Path) -> list[dict[str, Any]]:
    """The groups that have both kinds of documents."""
    with path.open(encoding="utf-8") as lines:
        groups = [json.loads(line) for line in lines]
    return [group for group in groups if group["positives"] and group["negatives"]]


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path, help="the folder with model.safetensors and tokenizer.json")
    parser.add_argument("--groups", type=Path, required=True)
    parser.add_argument("--valid", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="where net.safetensors and run.json are written")
    parser.add_argument("--start", type=Path, help="go on from this net.safetensors")
    parser.add_argument("--layers", type=int, default=LAYERS)
    parser.add_argument("--steps", type=int, default=4_000)
    parser.add_argument("--minutes", type=float, default=1e9, help="end earlier, with the rate brought down by then")
    parser.add_argument("--every", type=int, default=250, help="steps between two checks")
    parser.add_argument("--bf16", action="store_true", help="matrices in bfloat16")
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    if sha256(options.model / "model.safetensors") != PUBLISHED_SHA256:
        raise SystemExit(f"{options.model} is not the published model.")
    train(options)


if __name__ == "__main__":
    main()
