"""Run the extractors ``rules`` and ``llm`` over the same tools and print, as Markdown, what each of them reads.

    python -m research.compare_extractors TOOLS --base-url http://127.0.0.1:8000/v1 --model NAME --n 30

The model is any OpenAI-compatible chat endpoint; its key is read from OPENAI_API_KEY. Answers are cached in --cache.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from inference.chat import Budget
from inference.openai_client import OpenAIChat
from inference.result_cache import ResultCache
from ingest.canonical.canonicalize import canonicalize
from ingest.extract.extractor import Extractor
from ingest.extract.llm_extractor import LlmExtractor
from ingest.extract.rules_extractor import RulesExtractor
from ingest.extract.structure import structural_triples
from ingest.extract.triple_validation import apply_triple_rules, validate
from ingest.sources.catalog import read_catalog
from ontology import Ontology, Tool, Triple, load_ontology
from scripts.run_command import run_command

Key = tuple[str, str, str, str, str]
Said = dict[str, set[Key]]
"""Tool id → assertions."""
_NO_ENTITY = ("tool", "parameter", "value")


@dataclass(kw_only=True)
class Reading:
    """What one extractor read from all tools."""

    name: str
    seconds: float = 0.0
    kept: list[Triple] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    errors: dict[str, str] = field(default_factory=dict)


def read(extractor: Extractor, tools: Sequence[Tool], ontology: Ontology) -> Reading:
    """Extract and validate."""
    reading = Reading(name=extractor.name)
    started = time.perf_counter()
    for tool, extraction in zip(tools, extractor.extract(tools), strict=True):
        kept, rejected = validate(tool, extraction.triples, ontology)
        reading.kept.extend(kept)
        reading.rejected.update(one.reason for one in (*extraction.rejected, *rejected))
        if extraction.error:
            reading.errors[tool.id] = extraction.error
        print(f"{extractor.name} {tool.id}: {len(kept)} kept", file=sys.stderr, flush=True)
    reading.seconds = time.perf_counter() - started
    return reading


def said(triples: Iterable[Triple], extractor: str) -> Said:
    """The canonical assertions of one extractor."""
    found: Said = {}
    for triple in triples:
        if triple.provenance.extractor == extractor:
            found.setdefault(triple.provenance.tool_id, set()).add(triple.key)
    return found


def entities(keys: Iterable[Key]) -> set[str]:
    """Names of entities, whatever their type."""
    ends = ((kind, name) for key in keys for kind, name in (key[0:2], key[3:5]))
    return {name for kind, name in ends if kind not in _NO_ENTITY}


def jaccard(one: set[str], other: set[str]) -> float:
    """Shared part of the union; 1 for two empty sets."""
    return len(one & other) / len(one | other) if one | other else 1.0


def row(*cells: object) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def examples(only: list[tuple[str, Key]], count: int) -> list[str]:
    """Every n-th, so that they are spread over the tools."""
    step = max(1, len(only) // count)
    return [f"- `{tool}`: {key[1]} ({key[0]}) **{key[2]}** {key[4]} ({key[3]})" for tool, key in only[::step][:count]]


def report(
    tools: Sequence[Tool], readings: Sequence[Reading], ontology: Ontology, chat: OpenAIChat, shown: int
) -> list[str]:
    """The comparison as lines of Markdown."""
    canonical = canonicalize([t for r in readings for t in r.kept], tools, ontology)
    stated = [
        apply_triple_rules(tool, structural_triples(tool, ontology, "structure"), ontology).triples for tool in tools
    ]
    declared = canonicalize([triple for triples in stated for triple in triples], tools, ontology)
    structure = {triple.key for triple in declared.triples}
    sets = [said(canonical.triples, reading.name) for reading in readings]
    spent = chat.budget.spent
    names = [{tool.id: entities(one.get(tool.id, set())) for tool in tools} for one in sets]
    pooled = [set().union(*one.values()) for one in names]
    language = [{(tool, key) for tool, keys in one.items() for key in keys if key not in structure} for one in sets]
    mean = sum(jaccard(names[0][tool.id], names[1][tool.id]) for tool in tools) / len(tools)
    reasons = sorted({reason for reading in readings for reason in reading.rejected})
    lines = [row("", *(reading.name for reading in readings)), row("---", *("---:" for _ in readings))]
    lines += [
        row("triples kept", *(len(reading.kept) for reading in readings)),
        row("distinct canonical assertions", *(sum(map(len, one.values())) for one in sets)),
        row("of them from language, not declared", *map(len, language)),
        row("entities, distinct", *map(len, pooled)),
        row("predicates used", *(len({key[2] for keys in one.values() for key in keys}) for one in sets)),
        row("triples rejected", *(reading.rejected.total() for reading in readings)),
        *(row(f"… {reason}", *(reading.rejected[reason] for reading in readings)) for reason in reasons),
        row("tools without a usable answer", *(len(reading.errors) for reading in readings)),
        row("seconds a tool", *(f"{reading.seconds / len(tools):.2f}" for reading in readings)),
        row("calls", 0, spent.calls),
        row("tokens read, written", 0, f"{spent.prompt_tokens}, {spent.completion_tokens}"),
        "",
        f"Entities in common: Jaccard {jaccard(*pooled):.2f} pooled, {mean:.2f} mean over tools; "
        f"{len(pooled[0] & pooled[1])} in both, {len(pooled[0] - pooled[1])} only in {readings[0].name}, "
        f"{len(pooled[1] - pooled[0])} only in {readings[1].name}.",
        f"Assertions from language in common: {len(language[0] & language[1])}.",
        "",
        "Merges: " + ", ".join(f"{kind} {n}" for kind, n in sorted(Counter(m.kind for m in canonical.merges).items())),
    ]
    for number, reading in enumerate(readings):
        only = sorted(language[number] - language[1 - number])
        lines += ["", f"Only in {reading.name}, {len(only)}, for example:", "", *examples(only, shown)]
    for reading in readings:
        lines += [f"- {tool}: {why}" for tool, why in reading.errors.items()]
    return lines


def main(
    tools: Annotated[list[str], typer.Argument(help="files or folders of tool documents")],
    base_url: Annotated[str, typer.Option(help="up to and including /v1")],
    model: Annotated[str, typer.Option()],
    n: Annotated[int, typer.Option(help="tools to read, spread over the catalogue")] = 30,
    concurrency: int = 1,
    timeout_s: float = 600.0,
    max_tokens: Annotated[int, typer.Option(help="cap over all calls")] = 2_000_000,
    shown: Annotated[int, typer.Option("--examples", help="how many triples of one side alone are shown")] = 12,
    cache: Annotated[Path | None, typer.Option(help="SQLite file; without one, answers are not kept")] = None,
) -> None:
    """Run both, print."""
    catalog = read_catalog(tools).tools
    chosen = [catalog[number * len(catalog) // n] for number in range(min(n, len(catalog)))]
    ontology = load_ontology()
    chat = OpenAIChat(model, base_url=base_url, timeout_s=timeout_s, budget=Budget(max_tokens=max_tokens))
    with ResultCache(cache) as kept:
        llm = LlmExtractor(chat, ontology, cache=kept, concurrency=concurrency)
        readings = [read(extractor, chosen, ontology) for extractor in (RulesExtractor(ontology), llm)]
    print("\n".join(report(chosen, readings, ontology, chat, shown)))


if __name__ == "__main__":
    run_command(main)
