"""The report of a run as Markdown: what was made, how good it is as far as that can be counted, and what was refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from datagen.report.charts import PICTURES

__all__ = ["report_to_markdown"]

_MARKUP = re.compile(r"[\\`*|_]|~(?=~)|\](?=[(\[:])|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_LINE_START = re.compile(r"^(?:(?=[#+\-=>])|(\d+)(?=[.)]\s))")
_MOST_REASONS = 12  # of a stage
_MOST_TOOLS = 40  # that no request needs

Figures = Mapping[str, Any]


def report_to_markdown(figures: Figures, texts: Mapping[str, str], pictures: Sequence[str]) -> str:
    """The page.

    :param figures: of :func:`datagen.report.figures.made_figures`.
    :param texts: request id → what it says.
    :param pictures: names of the files of pictures that lie beside it; none where they could not be drawn.
    """
    parts = [
        *_head(figures, pictures),
        *_classes(figures, pictures),
        *_tools(figures, pictures),
        *_graph(figures, pictures),
        *_coverage(figures),
        *_wording(figures, pictures),
        *_rejected(figures, pictures),
        *_examples(figures, texts),
    ]
    return "\n\n".join(parts) + "\n"


def _head(figures: Figures, pictures: Sequence[str]) -> Iterator[str]:
    made, wanted = _total(figures, "made"), _total(figures, "wanted")
    yield "# Synthetic requests"
    if figures["stopped"]:
        yield f"> **Attention**: stopped: {_plain(figures['stopped'])} The same command again goes on where it stopped."
    elif made < wanted:
        yield f"> **Attention**: {made:,} of {wanted:,} requests could be made; the tables say of which classes, and why."
    if not pictures:
        yield "> **Attention**: there are no pictures: matplotlib is not installed (`pip install 'egotools[eval]'`)."
    by = figures["by"]
    yield _table(
        ("", ""),
        [
            ("requests", f"{made:,} of {wanted:,}"),
            ("catalogue", f"{figures['coverage']['tools']:,} tools, snapshot {figures['snapshot_id']}"),
            ("worded by", ", ".join(by["generator"])),
            ("judged by", ", ".join(by["judges"]) or "nobody"),
            ("outputs found by", ", ".join(by["outputs"])),
            ("sequences judged by", ", ".join(by["sequence"])),
            ("likeness by", ", ".join(by["encoder"])),
            ("seed", str(figures["seed"])),
        ],
    )


def _classes(figures: Figures, pictures: Sequence[str]) -> Iterator[str]:
    yield "## Classes"
    total = max(_total(figures, "made"), 1)
    rows = [
        (name, f"{row['made']:,}", f"{100 * row['made'] / total:.1f} %", f"{row['wanted']:,}", f"{row['paths']:,}")
        for name, row in figures["classes"].items()
    ]
    yield _table(("class", "made", "share", "wanted", "paths found"), rows)
    yield from _picture("classes.png", pictures)


def _tools(figures: Figures, pictures: Sequence[str]) -> Iterator[str]:
    yield "## Tool paths"
    for title, key in (("tools a request", "gold_set_sizes"), ("shape", "shapes")):
        counts = figures[key]
        parts = sorted({part for found in counts.values() for part in found})
        rows = [(name, *(f"{found.get(part, 0):,}" for part in parts)) for name, found in counts.items()]
        if rows:
            yield _table((f"class \\ {title}", *parts), rows)
    yield from _picture("gold_sets.png", pictures)
    yield from _picture("shapes.png", pictures)


def _graph(figures: Figures, pictures: Sequence[str]) -> Iterator[str]:
    graph = figures["graph"]
    yield "## Edges"
    yield (
        f"{graph['tools_with_outputs']:,} of {figures['coverage']['tools']:,} tools have outputs: "
        f"{graph['outputs_documented']:,} documented, {graph['outputs_inferred']:,} inferred. "
        f"{graph['rp_edges']:,} edges from an output to an input (R-P) join {graph['rp_pairs']:,} pairs of tools. "
        f"Of {graph['pp_compared']:,} pairs whose inputs were compared, {graph['pp_edges']:,} are alike beyond the threshold "
        f"{graph['pp_threshold']:.3f} (P-P; {_plain(graph['pp_reason'])})."
    )
    yield from _picture("likeness.png", pictures)


def _coverage(figures: Figures) -> Iterator[str]:
    coverage = figures["coverage"]
    yield "## Coverage"
    yield (
        f"{coverage['tools_used']:,} of {coverage['tools']:,} tools are needed by a request, and "
        f"{coverage['rp_pairs_walked']:,} of {coverage['rp_pairs']:,} pairs that an output joins are walked."
    )
    rows = [
        (group["name"], f"{group['tools']:,}", f"{group['used']:,}", f"{group['requests']:,}")
        for group in coverage["groups"]
    ]
    yield _table(("line of business", "tools", "used", "requests"), rows)
    never = coverage["never_used"]
    if never:
        yield f"### Tools that no request needs ({len(never):,})"
        yield _table(("tool", "reason"), list(never.items())[:_MOST_TOOLS])
        if len(never) > _MOST_TOOLS:
            yield f"… and {len(never) - _MOST_TOOLS:,} more in `report.json`."


def _wording(figures: Figures, pictures: Sequence[str]) -> Iterator[str]:
    diversity, leakage = figures["diversity"], figures["leakage"]
    yield "## Wording"
    yield _table(
        ("", ""),
        [
            ("words a request", f"{diversity['words_a_text']:.1f}"),
            *((f"distinct-{size}", f"{diversity[f'distinct_{size}']:.3f}") for size in (1, 2, 3)),
            ("different first two words, of the requests", f"{diversity['distinct_openings']:.3f}"),
            *(
                (f"cosine to the closest request, {share}", f"{cosine:.3f}")
                for share, cosine in diversity["nearest_cosine"].items()
            ),
            ("highest cosine of two requests", f"{diversity['max_cosine']:.3f}"),
            ("content words that stand in the gold tools' documents", f"{100 * leakage['content_words']:.1f} %"),
            ("pairs of content words that stand there", f"{100 * leakage['content_bigrams']:.1f} %"),
            ("requests that say a tool's id or name", f"{leakage['requests_with_names']:,}"),
        ],
    )
    yield from _picture("nearest.png", pictures)


def _rejected(figures: Figures, pictures: Sequence[str]) -> Iterator[str]:
    yield "## Rejections"
    rows = []
    for stage, reasons in figures["rejected"].items():
        shown = list(reasons.items())[:_MOST_REASONS]
        rows += [(stage, reason, f"{count:,}") for reason, count in shown]
        if len(reasons) > len(shown):
            rest = sum(reasons.values()) - sum(count for _, count in shown)
            rows.append((stage, f"{len(reasons) - len(shown):,} other reasons", f"{rest:,}"))
    if not rows:
        yield "Nothing was refused."
        return
    yield _table(("stage", "reason", "times"), rows)
    yield "Each is a row of `rejected.jsonl`."
    yield from _picture("rejected.png", pictures)


def _examples(figures: Figures, texts: Mapping[str, str]) -> Iterator[str]:
    yield "## Examples"
    yield "Drawn at random, unedited."
    for name, ids in figures["examples"].items():
        if ids:
            yield f"### {name}"
            yield "\n".join(f"- {_line(texts[one])}" for one in ids)


def _total(figures: Figures, what: str) -> int:
    return sum(row[what] for row in figures["classes"].values())


def _picture(name: str, pictures: Sequence[str]) -> Iterator[str]:
    if name in pictures:
        yield f"![{PICTURES[name][0]}]({name})"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; cells that are numbers alone line up on the right."""
    numbers = [all(row[place][:1].isdigit() for row in rows) for place in range(len(columns))]
    lines = ["| " + " | ".join(columns) + " |", "|" + "|".join("---:" if number else "---" for number in numbers) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(_plain, row)) + " |" for row in rows])


def _plain(text: str) -> str:
    """Text that shows as itself inside a line of Markdown, also in a table; line breaks become spaces."""
    return _MARKUP.sub(lambda found: "\\" + found.group(0), " ".join(text.split()))


def _line(text: str) -> str:
    """Text that shows as itself on a line of its own."""
    return _LINE_START.sub(lambda found: f"{found.group(1) or ''}\\", _plain(text))
