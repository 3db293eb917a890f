"""Graph accuracy of a parser over the shipped requests, by number of edges: ``python -m scripts.parser_accuracy --split test``.

A request is right when its graph is that of the set up to names and order; one that is refused is wrong. Losses are listed first, of
``dev`` by request, of ``test`` by number alone, so that nobody writes rules in view of them.

``--endpoint URL --model NAME`` measures ``llm.v1``. A slow model may be asked for a part (``--sample``: of a fixed shuffle) and in
pieces: ``--out`` keeps each graph, and what is kept there is not asked for again.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from random import Random

from pydantic import BaseModel, ConfigDict

from ontology.errors import EgotoolsError
from planners.query import load_parser
from planners.query.domain import read_domain
from planners.query.query_graph import GoldRequest, Parser, QueryGraph, request_set
from scripts.graph_match import same_graph

__all__ = ["ParsedGold", "kept_graphs", "losses", "measure", "sampled", "table"]

_TODAY = date(2026, 2, 15)
_SEED = 7


class ParsedGold(BaseModel):
    """What became of one request.

    :param graph: None where the parser refused; ``said`` is why.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    graph: QueryGraph | None
    seconds: float
    said: str = ""

    def is_right(self, gold: GoldRequest) -> bool:
        """Whether the graph is that of the set."""
        return self.graph is not None and same_graph(self.graph, gold.graph)


def sampled(domain: str, split: str, sample: int = 0) -> list[GoldRequest]:
    """Return the requests of a half, or the first so many of a fixed shuffle."""
    requests = [each for each in request_set(domain) if each.split == split]
    if sample:
        Random(_SEED).shuffle(requests)
    return requests[: sample or None]


def measure(parser: Parser, requests: Sequence[GoldRequest], kept: Path | None = None) -> Iterator[ParsedGold]:
    """Yield what becomes of each request.

    :param kept: a file of earlier outcomes, to which new ones are added.
    """
    known = kept_graphs(kept) if kept and kept.exists() else {}
    for gold in requests:
        if gold.id not in known:
            known[gold.id] = _parsed(parser, gold)
            if kept:
                with kept.open("a", encoding="utf-8") as file:
                    file.write(known[gold.id].model_dump_json(by_alias=True) + "\n")
        yield known[gold.id]


def kept_graphs(path: Path) -> dict[str, ParsedGold]:
    """Read the outcomes that a measurement kept, by the id of the request."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {each.id: each for each in map(ParsedGold.model_validate_json, lines)}


def _parsed(parser: Parser, gold: GoldRequest) -> ParsedGold:
    start = time.perf_counter()
    graph, said = None, ""
    try:
        graph = parser.parse(gold.request, read_domain(gold.domain), _TODAY).graph
    except EgotoolsError as error:
        said = str(error)
    return ParsedGold(id=gold.id, graph=graph, seconds=time.perf_counter() - start, said=said)


def losses(requests: Sequence[GoldRequest], outcomes: Sequence[ParsedGold]) -> Iterator[str]:
    """Yield a line for each wrong request: of ``dev`` with its words and why it was refused, else its number alone."""
    for gold, each in zip(requests, outcomes, strict=True):
        if not each.is_right(gold):
            yield (
                f"wrong: {gold.id} {gold.request} {each.said}".rstrip() if gold.split == "dev" else f"wrong: {gold.id}"
            )


def table(requests: Sequence[GoldRequest], outcomes: Sequence[ParsedGold]) -> list[str]:
    """The accuracy by number of edges, as lines."""
    both = list(zip(requests, outcomes, strict=True))
    right = Counter(gold.hops for gold, each in both if each.is_right(gold))
    total = Counter(gold.hops for gold in requests)
    rows = [f"{hops} edges: {right[hops]} of {total[hops]}" for hops in sorted(total)]
    seconds = sum(each.seconds for each in outcomes) / len(outcomes)
    share = 100 * right.total() / total.total()
    refused = sum(each.graph is None for each in outcomes)
    last = f"all: {right.total()} of {total.total()} = {share:.1f} %, {refused} refused, {seconds:.3f} s a request"
    return [*rows, last]


def main() -> None:
    """Print the losses and the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--domain", choices=["personal", "enterprise"], default="personal")
    options.add_argument("--split", choices=["dev", "test"], default="dev")
    options.add_argument("--sample", type=int, default=0)
    options.add_argument("--endpoint", default="", help="base URL of a chat model for the parser llm.v1")
    options.add_argument("--model", default="")
    options.add_argument("--out", type=Path)
    chosen = options.parse_args()
    parser = load_parser("rules.v1")
    if chosen.endpoint:
        from inference import OpenAIChat

        parser = load_parser("llm.v1", OpenAIChat(chosen.model, base_url=chosen.endpoint, timeout_s=1_800.0))
    requests = sampled(chosen.domain, chosen.split, chosen.sample)
    outcomes = list(measure(parser, requests, chosen.out))
    print(f"{parser.name}, {chosen.domain}, {chosen.split}")
    print(*losses(requests, outcomes), *table(requests, outcomes), sep="\n")


if __name__ == "__main__":
    main()
