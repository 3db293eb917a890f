"""Diversity and leakage of sets of requests side by side: ``python -m research.compare_requests A/queries.jsonl B/queries.jsonl``.

Each file's tools are read from ``tools.jsonl`` beside it, or from ``--tools`` for all. Figures that fall as a set grows
(distinct n-grams, the nearest cosine) compare only at one size, so that every set is cut to the size of the smallest, class by
class where ``--by-class`` is given; the requests are drawn by the hash of their ids.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from datagen.measures import measure_diversity, measure_leakage
from eval.queries import LabelledQuery, missing_gold, read_queries, require_gold
from inference import load_encoder
from inference.encoder import Encoder
from ontology.errors import DocumentError
from ontology.tool import Tool
from scripts.run_command import run_command

_ENCODER = "minilm-l6-int8.v1"
_ROWS = {
    "requests": "requests",
    "words_a_text": "words a request",
    "distinct_1": "distinct-1",
    "distinct_2": "distinct-2",
    "distinct_3": "distinct-3",
    "distinct_openings": "different first two words",
    "p50": "cosine to the closest request, median",
    "p90": "cosine to the closest request, p90",
    "max_cosine": "highest cosine of two requests",
    "content_words": "content words that stand in the gold tools' documents",
    "content_bigrams": "pairs of content words that stand there",
    "requests_with_names": "requests that say a tool's id or name",
}


@dataclass(frozen=True, kw_only=True)
class RequestSet:
    """Requests with the tools they need."""

    name: str
    queries: tuple[LabelledQuery, ...]
    tools: Mapping[str, Tool]


def main(
    queries: Annotated[list[Path], typer.Argument(help="files of labelled requests")],
    tools: Annotated[Path | None, typer.Option(help="the tools of all; by default beside each file")] = None,
    names: Annotated[list[str] | None, typer.Option("--name", help="of each set, in their order")] = None,
    by_class: Annotated[bool, typer.Option("--by-class", help="also a table for each class")] = False,
    full: Annotated[bool, typer.Option("--full", help="compare the sets whole, whatever their sizes")] = False,
    encoder: str = _ENCODER,
) -> None:
    """Print one table, or one for each class."""
    sets = [_set(path, tools, name) for path, name in _named(queries, names or ())]
    model = load_encoder(encoder)
    print(compared(sets, model, full=full))
    for name in _classes(sets) if by_class else ():
        print(f"\n### {name}\n\n{compared([_only(each, name) for each in sets], model, full=full)}")


def compared(sets: Sequence[RequestSet], encoder: Encoder, *, full: bool) -> str:
    """A table of Markdown: figures × sets."""
    size = max(len(each.queries) for each in sets) if full else min(len(each.queries) for each in sets)
    measured = [measures(each, _drawn(each.queries, size), encoder) for each in sets]
    lines = ["| | " + " | ".join(each.name for each in sets) + " |", "|---|" + "---:|" * len(sets)]
    lines += [f"| {said} | " + " | ".join(_cell(row[key]) for row in measured) + " |" for key, said in _ROWS.items()]
    return "\n".join(lines)


def measures(of: RequestSet, queries: Sequence[LabelledQuery], encoder: Encoder) -> dict[str, Any]:
    """Diversity and leakage of some of a set's requests, by name."""
    diversity = measure_diversity([query.text for query in queries], encoder)
    leakage = measure_leakage((query.id, query.text, [of.tools[tool] for tool in query.tools]) for query in queries)
    quantiles = {"p50": 0.0, "p90": 0.0, **diversity.nearest_cosine}
    return {**asdict(diversity), **quantiles, **asdict(leakage)}


def _drawn(queries: Sequence[LabelledQuery], size: int) -> list[LabelledQuery]:
    by_hash = sorted(queries, key=lambda query: hashlib.sha256(query.id.encode()).hexdigest())
    return by_hash[:size]


def _cell(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _named(paths: Sequence[Path], names: Sequence[str]) -> Iterable[tuple[Path, str]]:
    return ((path, names[place] if place < len(names) else "") for place, path in enumerate(paths))


def _set(path: Path, tools: Path | None, name: str) -> RequestSet:
    queries = read_queries([path], name=name)
    known = _tools(tools or path.with_name("tools.jsonl"))
    require_gold(queries, missing_gold(queries, known))
    return RequestSet(name=queries.name, queries=queries.queries, tools=known)


def _tools(path: Path) -> dict[str, Tool]:
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise DocumentError(f"the tools cannot be read ({error})", subject=str(path), remedy="Name --tools") from error
    return {tool.id: tool for tool in map(Tool.from_json, rows)}


def _classes(sets: Sequence[RequestSet]) -> list[str]:
    """The classes that all sets have."""
    there = [{query.request_class for query in each.queries} - {""} for each in sets]
    return sorted(set.intersection(*there))


def _only(of: RequestSet, name: str) -> RequestSet:
    chosen = tuple(query for query in of.queries if query.request_class == name)
    return RequestSet(name=of.name, queries=chosen, tools=of.tools)


if __name__ == "__main__":
    run_command(main)
