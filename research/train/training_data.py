"""Make the training data: groups of a request, the documents it needs, and hard negatives.

From the repository's root, with the extra ``aws`` and ``google``, and a folder with the two labelled files and their tools::

    python -m research.train.training_data --labelled ../shared/train --tools ../shared/bench --out /tmp/train

Written are ``groups.jsonl`` and ``valid.jsonl`` (the held-out catalogues), one group a line, ``sources.json`` and ``README``. A document is
what the product encodes: title and description, sometimes with the parameters, sometimes the name alone.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from eval.queries import gold_slots
from inference import Encoder, MiniLmEncoder
from ontology.names import words
from ontology.tool import Tool, tool_text
from research.train.data_sources import describe_sources
from research.train.documentation_requests import Wish, ask, document_without, wish
from research.train.hard_negatives import Miner
from research.train.jsonl import read_rows
from research.train.training_catalogues import GENERATED, HELD_OUT, documented, generate, read_tools
from retrieval.index.bm25 import params_text
from scripts.run_command import run_command

PER_CLASS = 150
PER_CATALOGUE = 330
PER_VALID = 120
PER_DOCUMENTED = 9
NEIGHBOURS = 40
PER_LABELLED_TOOL = 26
JOINED = 0.15
SEVERAL = 0.35
MAX_CHARS = 700

Group = dict[str, Any]


def documents(tools: Sequence[Tool], kind: str) -> list[str]:
    """What stands for each tool: ``text``, ``text and params`` or ``name``, cut to what a model reads."""
    if kind == "name":
        return [" ".join(words(tool.title)) for tool in tools]
    extra = kind == "text and params"
    return [f"{tool_text(tool)} {params_text(tool) if extra else ''}"[:MAX_CHARS].strip() for tool in tools]


def draw_kind(rng: random.Random) -> str:
    """How the documents of a group look."""
    return rng.choices(("text", "text and params", "name"), (0.58, 0.30, 0.12))[0]


def labelled(
    rows: Sequence[Group], tools: Sequence[Tool], source: str, encoder: Encoder, rng: random.Random
) -> Iterator[Group]:
    """Groups of requests that come with the ids of the tools they need; alternatives are positives too."""
    number = {tool.id: place for place, tool in enumerate(tools)}
    texts = {kind: documents(tools, kind) for kind in ("text", "text and params", "name")}
    miner = Miner(texts["text"], encoder)
    rows = [{**row, "tools": [tool for slot in gold_slots(row["tools"]) for tool in slot]} for row in rows]
    rows = [row for row in rows if row["tools"] and all(tool in number for tool in row["tools"])]
    vectors = encoder.encode([row["query"] for row in rows])
    for row, vector in zip(rows, vectors, strict=True):
        gold = [number[tool] for tool in row["tools"]]
        negatives = miner.mine(row["query"], vector, gold, rng)
        shown = texts[draw_kind(rng)]
        yield _group(row["query"], gold, negatives, shown, tools, source)


def from_documentation(
    address: str, tools: list[Tool], encoder: Encoder, rng: random.Random, wanted: int
) -> Iterator[Group]:
    """Groups whose requests say what the first sentence of a description says, and whose documents do not have that sentence."""
    tools = rng.sample(tools, min(NEIGHBOURS, len(tools)))
    wishes = [wish(tool, rng) for tool in tools]
    sentences = Counter(one.sentence for one in wishes if one is not None)
    able = [place for place, one in enumerate(wishes) if one is not None and sentences[one.sentence] == 1]
    rng.shuffle(able)
    if len(able) < 2:
        return
    shown = [
        document_without(tool, one.sentence if isinstance(one, Wish) else "")[:MAX_CHARS]
        for tool, one in zip(tools, wishes, strict=True)
    ]
    miner = Miner(documents(tools, "name"), encoder)
    while able and wanted:
        size = min(rng.choice((2, 2, 3)) if rng.random() < SEVERAL else 1, len(able))
        gold, able, wanted = able[:size], able[size:], wanted - 1
        said = [one.said for place in gold if (one := wishes[place]) is not None]
        query = ask(said, rng)
        negatives = miner.mine(query, encoder.encode([query])[0], gold, rng)
        yield _group(query, gold, negatives, shown, tools, f"documentation {address}")


def _group(
    query: str, gold: list[int], negatives: list[int], shown: list[str], tools: Sequence[Tool], source: str
) -> Group:
    catalogue = source.partition(" ")[2] or source
    return {
        "query": query,
        "positives": [shown[place] for place in gold],
        "negatives": [shown[place] for place in negatives],
        "positive_ids": [f"{catalogue} {tools[place].id}" for place in gold],
        "negative_ids": [f"{catalogue} {tools[place].id}" for place in negatives],
        "source": source,
    }


def balanced(rows: Sequence[Group], most: int, rng: random.Random) -> list[Group]:
    """At most so many requests of each tool, and some of them joined into requests for two."""
    by_tool: dict[str, list[Group]] = defaultdict(list)
    for row in rng.sample(rows, len(rows)):
        if len(by_tool[row["tools"][0]]) < most:
            by_tool[row["tools"][0]].append(row)
    kept = [row for of_tool in by_tool.values() for row in of_tool]
    rng.shuffle(kept)
    joined = int(len(kept) * JOINED)
    pairs = [_join(kept[place], kept[-1 - place], rng) for place in range(joined)]
    return kept[joined : len(kept) - joined] + pairs


def _join(first: Group, second: Group, rng: random.Random) -> Group:
    joint = rng.choice((" ", " Also, ", " And ", " Then: "))
    return {
        "query": f"{first['query'].strip()}{joint}{second['query'].strip()}",
        "tools": sorted({*first["tools"], *second["tools"]}),
    }


def generated(
    folder: Path, addresses: Iterable[str], most: int, encoder: Encoder, rng: random.Random
) -> Iterator[Group]:
    """Groups of generated requests, as many of each class as there are."""
    for address in addresses:
        made = generate(address, folder, PER_CLASS)
        by_class: dict[str, list[Group]] = defaultdict(list)
        for row in read_rows(made / "queries.jsonl"):
            by_class[row["class"]].append(row)
        share = most // max(1, len(by_class))
        rows = [row for of in by_class.values() for row in rng.sample(of, min(share, len(of)))]
        yield from labelled(rows, read_tools(made / "tools.jsonl"), f"generated {address}", encoder, rng)


def main(
    labelled_files: Annotated[Path, typer.Option("--labelled", help="folder with the two labelled files")],
    tools: Annotated[Path, typer.Option(help="folder with the tools of both, NAME/tools.jsonl")],
    out: Annotated[Path, typer.Option()],
    seed: int = 5,
) -> None:
    """Write the groups."""
    rng = random.Random(seed)
    encoder = MiniLmEncoder(max_tokens=96)
    made = out / "gen"
    valid = list(generated(made, HELD_OUT, PER_VALID, encoder, rng))
    _write(out / "valid.jsonl", valid)
    groups = list(generated(made, GENERATED, PER_CATALOGUE, encoder, rng))
    for name, most in (("metatool_single", PER_LABELLED_TOOL), ("sealtools_dev", 10**6)):
        rows = read_rows(labelled_files / f"{name}.jsonl")
        rows = balanced(rows, most, rng) if name.startswith("metatool") else rows
        known = read_tools(tools / name.partition("_")[0] / "tools.jsonl")
        groups += labelled(rows, known, name, encoder, rng)
        print(f"{len(groups):,} groups", flush=True)
    for address, documented_tools in documented():
        groups += from_documentation(address, documented_tools, encoder, rng, PER_DOCUMENTED)
    rng.shuffle(groups)
    _write(out / "groups.jsonl", groups)
    sources = describe_sources(labelled_files, tools)
    (out / "sources.json").write_text(json.dumps(sources, indent=2) + "\n", encoding="utf-8")
    (out / "README").write_text(_describe(out, groups, valid), encoding="utf-8")


def _write(path: Path, groups: Sequence[Group]) -> None:
    path.write_text("".join(json.dumps(group, ensure_ascii=False) + "\n" for group in groups), encoding="utf-8")


def _describe(folder: Path, groups: Sequence[Group], valid: Sequence[Group]) -> str:
    lines = []
    for name, rows in (("groups.jsonl", groups), ("valid.jsonl", valid)):
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        kinds = Counter(row["source"].partition(" ")[0] for row in rows)
        catalogues = len({row["source"] for row in rows})
        lines += [f"{name}: {len(rows):,} groups from {catalogues} sources, sha256 {digest}"]
        lines += [f"  {count:,} {kind}" for kind, count in kinds.most_common()]
        lines += [f"  {sum(len(row['positives']) > 1 for row in rows):,} of them with several positives"]
    lines += [
        "A line: query, positives and negatives (document texts), positive_ids and negative_ids (catalogue and tool), source.",
        f"Held out, so in valid.jsonl only: {', '.join(HELD_OUT)}.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run_command(main)
